/** One buffer in two places: what is refused, and what is not. */
import { BufferUsage } from '../gpu/constants.ts';
import { WORD_BYTES } from '../units.ts';
import { firstProblem, type ConformanceCase } from './case.ts';
import { webgpu } from './spec.ts';
import { difference, pattern, Workbench } from './workbench.ts';

const WORDS = 256;
const BYTES = WORDS * WORD_BYTES;
const HALF = BYTES / 2;

const COPY = webgpu('GPUCommandEncoder.copyBufferToBuffer', 'dom-gpucommandencoder-copybuffertobuffer');
const ALIASING = webgpu(
  'Encoder bind groups alias a writable resource',
  'abstract-opdef-encoder-bind-groups-alias-a-writable-resource',
);
const SCOPE = webgpu('Usage Scope Validation', 'programming-model-resource-usages');

const DETOUR = 'Page copies inside a segment go through a kernel or a bounce buffer.';
const ONCE = 'A segment that a kernel writes is bound once.';

const ADD_INTO = `
@group(0) @binding(0) var<storage, read_write> sum: array<u32>;
@group(0) @binding(1) var<storage, ACCESS> part: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) at: vec3u) {
  if (at.x < arrayLength(&part)) { sum[at.x] += part[at.x]; }
}`;

const READ_BOTH = `
@group(0) @binding(0) var<storage, read> one: array<u32>;
@group(0) @binding(1) var<storage, read> two: array<u32>;
@group(0) @binding(2) var<storage, read_write> sum: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) at: vec3u) {
  if (at.x < arrayLength(&sum)) { sum[at.x] = one[at.x] + two[at.x]; }
}`;

function copyWithin(
  name: string,
  title: string,
  range: { readonly from: number; readonly to: number; readonly bytes: number },
): ConformanceCase {
  return {
    id: `aliasing/copy-within-${name}`,
    title: `a copy from a buffer to itself is refused: ${title}`,
    spec: COPY,
    promise: DETOUR,
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.plain(pattern(WORDS));
      const refused = await bench.refused('the copy', () => {
        bench.submit((encoder) =>
          encoder.copyBufferToBuffer(buffer, range.from, buffer, range.to, range.bytes),
        );
      });
      return firstProblem(refused, difference(await bench.read(buffer), pattern(WORDS)));
    },
  };
}

function binding(
  name: string,
  title: string,
  what: {
    readonly access: 'read' | 'read_write';
    readonly second: { readonly offset: number; readonly size: number };
    readonly allowed: boolean;
    readonly spec: string;
  },
): ConformanceCase {
  return {
    id: `aliasing/${name}`,
    title,
    spec: what.spec,
    promise: ONCE,
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.storage(pattern(WORDS));
      const pipeline = await bench.pipeline(ADD_INTO.replace('ACCESS', what.access));
      const calls = () => {
        bench.submit((encoder) =>
          bench.dispatch(encoder, {
            pipeline,
            bindings: [
              { buffer, offset: 0, size: HALF },
              { buffer, ...what.second },
            ],
            workgroups: [HALF / WORD_BYTES / 64],
          }),
        );
      };
      const problem = await (what.allowed
        ? bench.accepted('the dispatch', calls)
        : bench.refused('the dispatch', calls));
      const expected = pattern(WORDS);
      const shift = what.second.offset / WORD_BYTES;
      if (what.allowed) {
        for (let i = 0; i < what.second.size / WORD_BYTES; i += 1) expected[i] += expected[i + shift];
      }
      return firstProblem(problem, difference(await bench.read(buffer), expected));
    },
  };
}

export const ALIASING_CASES: readonly ConformanceCase[] = [
  copyWithin('apart', 'ranges apart', { from: 0, to: HALF, bytes: 64 }),
  copyWithin('overlapping', 'ranges overlapping', { from: 0, to: 32, bytes: 64 }),
  copyWithin('same', 'the same range', { from: 64, to: 64, bytes: 64 }),
  copyWithin('nothing', 'no bytes at all', { from: 0, to: HALF, bytes: 0 }),
  binding('two-writable-overlapping', 'two writable bindings of overlapping ranges are refused', {
    access: 'read_write',
    second: { offset: 256, size: HALF },
    allowed: false,
    spec: ALIASING,
  }),
  binding('two-writable-same', 'two writable bindings of the same range are refused', {
    access: 'read_write',
    second: { offset: 0, size: HALF },
    allowed: false,
    spec: ALIASING,
  }),
  binding('two-writable-apart', 'two writable bindings of ranges apart are allowed', {
    access: 'read_write',
    second: { offset: HALF, size: HALF },
    allowed: true,
    spec: ALIASING,
  }),
  binding(
    'read-and-write-overlapping',
    'a buffer that is bound for writing is not bound for reading as well',
    {
      access: 'read',
      second: { offset: 256, size: HALF },
      allowed: false,
      spec: SCOPE,
    },
  ),
  binding('read-and-write-apart', 'not even where the ranges are apart', {
    access: 'read',
    second: { offset: HALF, size: HALF },
    allowed: false,
    spec: SCOPE,
  }),
  {
    id: 'aliasing/two-read-only',
    title: 'a buffer may be bound for reading as often as one likes',
    spec: SCOPE,
    promise: 'Lists of one buffer feed several bindings.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.buffer(pattern(WORDS), BufferUsage.STORAGE);
      const sum = bench.storage(HALF);
      const pipeline = await bench.pipeline(READ_BOTH);
      const accepted = await bench.accepted('the dispatch', () => {
        bench.submit((encoder) =>
          bench.dispatch(encoder, {
            pipeline,
            bindings: [buffer, { buffer, offset: 256, size: HALF }, sum],
            workgroups: [2],
          }),
        );
      });
      const all = pattern(WORDS);
      const expected = all.slice(0, WORDS / 2).map((word, i) => word + all[i + 64]);
      return firstProblem(accepted, difference(await bench.read(sum), expected));
    },
  },
];
