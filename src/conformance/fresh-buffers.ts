/** New buffers read zero, also where others have just left their bytes. */
import { BufferUsage, MapMode } from '../gpu/constants.ts';
import { WORD_BYTES } from '../units.ts';
import { firstProblem, verdict, type CaseContext, type ConformanceCase } from './case.ts';
import { webgpu } from './spec.ts';
import { difference, pattern, Workbench } from './workbench.ts';

const ZEROED = webgpu('Accessing uninitialized data', 'security-uninitialized');
const FIRST_USE = 'Pages of a new pool need no zeroing before their first use.';

const SUM = `
@group(0) @binding(0) var<storage, read> words: array<u32>;
@group(0) @binding(1) var<storage, read_write> found: array<atomic<u32>>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) at: vec3u) {
  if (at.x < arrayLength(&words)) { atomicOr(&found[0], words[at.x]); }
}`;

/** Leaves memory behind that is not zero: buffers of the same size and usage, filled by the device, and destroyed. */
async function leaveDirt(context: CaseContext, bytes: number, usage: GPUBufferUsageFlags): Promise<void> {
  const bench = new Workbench(context);
  const dirt = bench.plain(pattern(bytes / WORD_BYTES));
  const buffers = Array.from({ length: 3 }, () => bench.buffer(bytes, usage | BufferUsage.COPY_DST));
  bench.submit((encoder) => {
    for (const buffer of buffers) encoder.copyBufferToBuffer(dirt, 0, buffer, 0, bytes);
  });
  await context.wait(bench.device.queue.onSubmittedWorkDone(), 'onSubmittedWorkDone');
  for (const buffer of [dirt, ...buffers]) buffer.destroy();
}

const SIZES = [4, 252, 4096, 65_540, 1 << 20, 16 << 20] as const;

export const FRESH_BUFFER_CASES: readonly ConformanceCase[] = [
  ...SIZES.map((bytes): ConformanceCase => ({
    id: `fresh-buffers/copy-of-${bytes}`,
    title: `a new buffer of ${bytes.toLocaleString('en-US')} bytes is copied as zeros`,
    spec: ZEROED,
    promise: FIRST_USE,
    run: async (context) => {
      const usage = BufferUsage.STORAGE | BufferUsage.COPY_SRC | BufferUsage.COPY_DST;
      await leaveDirt(context, bytes, usage);
      const bench = new Workbench(context);
      const buffers = [bench.storage(bytes), bench.storage(bytes)];
      const problems: (string | null)[] = [];
      for (const buffer of buffers) {
        problems.push(difference(await bench.read(buffer), new Uint32Array(bytes / WORD_BYTES)));
        buffer.destroy();
      }
      return firstProblem(...problems);
    },
  })),
  {
    id: 'fresh-buffers/kernel',
    title: 'a kernel reads zeros from a new buffer',
    spec: ZEROED,
    promise: FIRST_USE,
    run: async (context) => {
      const bytes = 1 << 20;
      await leaveDirt(context, bytes, BufferUsage.STORAGE);
      const bench = new Workbench(context);
      const words = bench.buffer(bytes, BufferUsage.STORAGE);
      const found = bench.storage(WORD_BYTES);
      const pipeline = await bench.pipeline(SUM);
      bench.submit((encoder) =>
        bench.dispatch(encoder, {
          pipeline,
          bindings: [words, found],
          workgroups: [bytes / WORD_BYTES / 64],
        }),
      );
      return verdict(difference(await bench.read(found), Uint32Array.of(0), 'all bits found'));
    },
  },
  {
    id: 'fresh-buffers/map',
    title: 'a new buffer is mapped for reading as zeros',
    spec: ZEROED,
    promise: 'A staging buffer that was never filled shows no bytes of others.',
    run: async (context) => {
      const bytes = 65_536;
      await leaveDirt(context, bytes, BufferUsage.MAP_READ);
      const bench = new Workbench(context);
      const buffer = bench.readable(bytes);
      return verdict(difference(await bench.mapped(buffer), new Uint32Array(bytes / WORD_BYTES)));
    },
  },
  {
    id: 'fresh-buffers/map-to-write',
    title: 'a new buffer is mapped for writing, and at creation, as zeros',
    spec: ZEROED,
    promise: 'The unused end of an upload is zero.',
    run: async (context) => {
      const size = 65_536;
      const usage = BufferUsage.MAP_WRITE | BufferUsage.COPY_SRC;
      const bench = new Workbench(context);
      const zeros = new Uint32Array(size / WORD_BYTES);
      const created = bench.device.createBuffer({ size, usage, mappedAtCreation: true });
      const atCreation = difference(new Uint32Array(created.getMappedRange().slice(0)), zeros, 'at creation');
      created.unmap();
      const buffer = bench.buffer(size, usage);
      await context.wait(buffer.mapAsync(MapMode.WRITE), 'mapAsync');
      const mapped = difference(new Uint32Array(buffer.getMappedRange().slice(0)), zeros, 'mapped');
      buffer.unmap();
      return firstProblem(atCreation, mapped, difference(await bench.read(buffer), zeros, 'on the device'));
    },
  },
  ...(['write', 'copy', 'clear', 'kernel'] as const).map((by): ConformanceCase => ({
    id: `fresh-buffers/partly-filled-by-${by}`,
    title: `what a first ${by === 'kernel' ? 'dispatch' : by} leaves of a new buffer is zero`,
    spec: ZEROED,
    promise: 'A first load of half a page leaves the other half zero.',
    run: async (context) => {
      const bytes = 65_536;
      await leaveDirt(context, bytes, BufferUsage.STORAGE | BufferUsage.COPY_SRC);
      const bench = new Workbench(context);
      const buffer = bench.storage(bytes);
      const expected = new Uint32Array(bytes / WORD_BYTES);
      const part = pattern(64, 9);
      if (by === 'write') bench.device.queue.writeBuffer(buffer, 1024, part);
      if (by === 'copy') {
        const source = bench.plain(part);
        bench.submit((encoder) => encoder.copyBufferToBuffer(source, 0, buffer, 1024, part.byteLength));
      }
      if (by === 'clear') bench.submit((encoder) => encoder.clearBuffer(buffer, 1024, 256));
      if (by === 'kernel') {
        const pipeline = await bench.pipeline(SUM);
        const words = bench.storage(part);
        bench.submit((encoder) =>
          bench.dispatch(encoder, {
            pipeline,
            bindings: [words, { buffer, offset: 1024, size: 256 }],
            workgroups: [1],
          }),
        );
        expected[256] = part.reduce((bits, word) => (bits | word) >>> 0, 0);
      }
      if (by === 'write' || by === 'copy') expected.set(part, 256);
      return verdict(difference(await bench.read(buffer), expected));
    },
  })),
];
