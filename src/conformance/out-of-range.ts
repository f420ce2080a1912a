/** Kernels that reach past their binding: whatever they do, the rest of the buffer and other buffers stay. */
import { WORD_BYTES } from '../units.ts';
import { failed, firstProblem, passed, verdict, type ConformanceCase } from './case.ts';
import { webgpu, wgsl } from './spec.ts';
import { difference, pattern, Workbench } from './workbench.ts';

const WORDS = 256;
const BYTES = WORDS * WORD_BYTES;
/** The part that is bound: words 64 to 127 of 256. */
const FIRST = 64;
const BOUND = 64;
const PART = { offset: FIRST * WORD_BYTES, size: BOUND * WORD_BYTES };

const ACCESS = webgpu('Out-of-bounds access in shaders', 'security-shader');
const LENGTH = wgsl('arrayLength', 'arrayLength-builtin');
const NEIGHBOURS = 'A page id that is wrong damages no page of another segment and no list.';

/** Indices from just behind the binding to where byte offsets wrap around 32 bits. */
const INDICES = Uint32Array.of(
  BOUND,
  BOUND + 1,
  2 * BOUND,
  WORDS - FIRST - 1,
  WORDS,
  2 ** 20,
  2 ** 30 - 1,
  2 ** 30,
  2 ** 30 + 65,
  2 ** 31,
  2 ** 32 - FIRST,
  2 ** 32 - 1,
);
const VALUE = 0xbadc0de;

const STORE = `
@group(0) @binding(0) var<storage, read_write> part: array<u32>;
@group(0) @binding(1) var<storage, read> indices: array<u32>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) at: vec3u) {
  part[indices[at.x]] = ${VALUE}u;
}`;

const STORE_VEC4 = `
@group(0) @binding(0) var<storage, read_write> part: array<vec4u>;
@group(0) @binding(1) var<storage, read> indices: array<u32>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) at: vec3u) {
  part[indices[at.x]] = vec4u(${VALUE}u);
}`;

const STORE_ATOMIC = `
@group(0) @binding(0) var<storage, read_write> part: array<atomic<u32>>;
@group(0) @binding(1) var<storage, read> indices: array<u32>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) at: vec3u) {
  atomicAdd(&part[indices[at.x]], ${VALUE}u);
}`;

const LOAD = `
@group(0) @binding(0) var<storage, read> part: array<u32>;
@group(0) @binding(1) var<storage, read> indices: array<u32>;
@group(0) @binding(2) var<storage, read_write> loaded: array<u32>;
@compute @workgroup_size(1) fn main(@builtin(global_invocation_id) at: vec3u) {
  loaded[at.x] = part[indices[at.x]];
}`;

const MEASURE = `
@group(0) @binding(0) var<storage, read> part: array<u32>;
@group(0) @binding(1) var<storage, read> pairs: array<vec2u>;
@group(0) @binding(2) var<storage, read_write> lengths: array<u32>;
@compute @workgroup_size(1) fn main() {
  lengths[0] = arrayLength(&part);
  lengths[1] = arrayLength(&pairs);
}`;

function stores(name: string, what: string, code: string): ConformanceCase {
  return {
    id: `out-of-range/${name}`,
    title: `${what} past the end of a binding leave everything outside it as it was`,
    spec: ACCESS,
    promise: NEIGHBOURS,
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.storage(pattern(WORDS, 1));
      const neighbour = bench.storage(pattern(WORDS, 2));
      const indices = bench.storage(INDICES);
      const pipeline = await bench.pipeline(code);
      bench.submit((encoder) =>
        bench.dispatch(encoder, {
          pipeline,
          bindings: [{ buffer, ...PART }, indices],
          workgroups: [INDICES.length],
        }),
      );
      const words = await bench.read(buffer);
      const expected = pattern(WORDS, 1);
      // Inside the binding anything may have happened.
      expected.set(words.subarray(FIRST, FIRST + BOUND), FIRST);
      const changed = difference(
        words.subarray(FIRST, FIRST + BOUND),
        pattern(WORDS, 1).subarray(FIRST, FIRST + BOUND),
      );
      const outcome = firstProblem(
        difference(words, expected, 'outside the binding'),
        difference(await bench.read(neighbour), pattern(WORDS, 2), 'another buffer'),
        difference(await bench.read(indices), INDICES, 'the list'),
      );
      if (outcome.status === 'failed') return outcome;
      return passed(
        changed === null
          ? 'The stores were dropped. The specification allows that, and words inside the binding to change.'
          : 'Words inside the binding changed. The specification allows that, and the stores to be dropped.',
      );
    },
  };
}

export const OUT_OF_RANGE_CASES: readonly ConformanceCase[] = [
  stores('stores', 'stores', STORE),
  stores('vec4-stores', 'stores of 16 bytes', STORE_VEC4),
  stores('atomics', 'atomic additions', STORE_ATOMIC),
  {
    id: 'out-of-range/loads',
    title: 'loads past the end of a binding give zero or a word of the binding',
    spec: ACCESS,
    promise: 'A page id that is wrong shows no request the pages of another buffer.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.storage(pattern(WORDS, 1));
      const loaded = bench.storage(INDICES.byteLength);
      const pipeline = await bench.pipeline(LOAD);
      bench.submit((encoder) =>
        bench.dispatch(encoder, {
          pipeline,
          bindings: [{ buffer, ...PART }, bench.storage(INDICES), loaded],
          workgroups: [INDICES.length],
        }),
      );
      const allowed = new Set([0, ...pattern(WORDS, 1).subarray(FIRST, FIRST + BOUND)]);
      const words = await bench.read(loaded);
      const at = words.findIndex((word) => !allowed.has(word));
      if (at >= 0)
        return failed(`the load at index ${INDICES[at]} gave 0x${words[at].toString(16)} from outside`);
      const zeros = words.filter((word) => word === 0).length;
      return passed(
        `${zeros} of ${words.length} loads gave zero, the others a word of the binding; the specification allows both.`,
      );
    },
  },
  {
    id: 'out-of-range/array-length',
    title: 'arrayLength counts what is bound, and rounds down',
    spec: LENGTH,
    promise: 'The list of findings of the witness ends where its buffer does.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.storage(BYTES);
      const lengths = bench.storage(2 * WORD_BYTES);
      const pipeline = await bench.pipeline(MEASURE);
      bench.submit((encoder) =>
        bench.dispatch(encoder, {
          pipeline,
          bindings: [{ buffer, ...PART }, { buffer, offset: 256, size: 60 }, lengths],
          workgroups: [1],
        }),
      );
      return verdict(difference(await bench.read(lengths), Uint32Array.of(BOUND, 7), 'lengths'));
    },
  },
];
