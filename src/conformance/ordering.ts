/** The order of writes, recorded commands and submits on the one queue. */
import { BufferUsage, ShaderStage } from '../gpu/constants.ts';
import { WORD_BYTES } from '../units.ts';
import {
  firstProblem,
  passed,
  verdict,
  type CaseContext,
  type ConformanceCase,
  type Outcome,
} from './case.ts';
import { webgpu } from './spec.ts';
import { difference, pattern, Workbench } from './workbench.ts';

const WORDS = 64;
const BYTES = WORDS * WORD_BYTES;
const ZEROS = new Uint32Array(WORDS);

const QUEUE = webgpu('Queues', 'queues');
const SUBMIT = webgpu('GPUQueue.submit', 'dom-gpuqueue-submit');
const WRITE = webgpu('GPUQueue.writeBuffer', 'dom-gpuqueue-writebuffer');
const USAGE_SCOPES = webgpu('Resource usage synchronization', 'programming-model-synchronization');

/** Two patterns, and a buffer with each. */
function pair(bench: Workbench) {
  const [one, two] = [pattern(WORDS, 1), pattern(WORDS, 2)];
  return { one, two, a: bench.storage(one), b: bench.storage(two) };
}

/** Reads buffers and compares each with what it must hold. */
async function holds(
  bench: Workbench,
  ...expected: readonly (readonly [name: string, buffer: GPUBuffer, words: Uint32Array])[]
): Promise<Outcome> {
  const problems: (string | null)[] = [];
  for (const [name, buffer, words] of expected) {
    problems.push(difference(await bench.read(buffer), words, name));
  }
  return firstProblem(...problems);
}

/** `entry[i] += parameters.add` for the words from `parameters.first` on. */
const ADD = `
struct Parameters { first: u32, add: u32 }
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@group(0) @binding(1) var<storage, read> parameters: Parameters;
@compute @workgroup_size(8) fn main(@builtin(global_invocation_id) at: vec3u) {
  words[parameters.first + at.x] += parameters.add;
}`;

/** Each invocation moves its word one place on and adds one: wrong unless the dispatch before it is visible. */
const SHIFT = `
@group(0) @binding(0) var<storage, read> source: array<u32>;
@group(0) @binding(1) var<storage, read_write> target: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) at: vec3u) {
  target[(at.x + 1u) % 64u] = source[at.x] + 1u;
}`.replaceAll('target', 'moved');

const ZERO = `
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) at: vec3u) { words[at.x] = 0u; }`;

async function sharedParameters(context: CaseContext, own: boolean): Promise<Outcome> {
  const bench = new Workbench(context);
  const stride = bench.device.limits.minStorageBufferOffsetAlignment;
  const words = bench.storage(BYTES);
  const parameters = bench.storage(3 * stride);
  const pipeline = await bench.pipeline(ADD);
  const expected = new Uint32Array(WORDS);
  const encoder = bench.device.createCommandEncoder();
  for (const [i, first] of [8, 24, 40].entries()) {
    const offset = own ? i * stride : 0;
    bench.device.queue.writeBuffer(parameters, offset, Uint32Array.of(first, i + 1));
    bench.dispatch(encoder, {
      pipeline,
      bindings: [words, { buffer: parameters, offset, size: 2 * WORD_BYTES }],
      workgroups: [1],
    });
    if (own) expected.fill(i + 1, first, first + 8);
  }
  // The last one written, three times.
  if (!own) expected.fill(9, 40, 48);
  bench.device.queue.submit([encoder.finish()]);
  return verdict(difference(await bench.read(words), expected));
}

const WRITES: readonly ConformanceCase[] = [
  {
    id: 'ordering/write-before-recorded-copy',
    title: 'a write takes effect before a copy that is recorded but not submitted',
    spec: WRITE,
    promise: 'Lists written before a submit are what all of its kernels read.',
    run: async (context) => {
      const bench = new Workbench(context);
      const { a, b } = pair(bench);
      const three = pattern(WORDS, 3);
      const commands = bench.record((encoder) => encoder.copyBufferToBuffer(a, 0, b, 0, BYTES));
      bench.device.queue.writeBuffer(a, 0, three);
      // Nothing is submitted between, which would give a write that is late its chance.
      bench.device.queue.submit([commands]);
      return holds(bench, ['copy', b, three]);
    },
  },
  {
    id: 'ordering/recorded-is-not-submitted',
    title: 'what is recorded and not submitted does nothing',
    spec: SUBMIT,
    promise: 'A step that is given up before its submit has touched no page.',
    run: async (context) => {
      const bench = new Workbench(context);
      const { one, two, a, b } = pair(bench);
      bench.record((encoder) => {
        encoder.copyBufferToBuffer(a, 0, b, 0, BYTES);
        encoder.clearBuffer(a);
      });
      return holds(bench, ['source', a, one], ['destination', b, two]);
    },
  },
  {
    id: 'ordering/write-after-submitted-copy',
    title: 'a write after a submit does not reach its copies',
    spec: WRITE,
    promise: 'A list buffer and a page may be overwritten as soon as the work that reads them is submitted.',
    run: async (context) => {
      const bench = new Workbench(context);
      const { one, a, b } = pair(bench);
      const three = pattern(WORDS, 3);
      bench.submit((encoder) => encoder.copyBufferToBuffer(a, 0, b, 0, BYTES));
      bench.device.queue.writeBuffer(a, 0, three);
      return holds(bench, ['copy', b, one], ['source', a, three]);
    },
  },
  {
    id: 'ordering/writes-between-submits',
    title: 'writes and submits in turn, eight times',
    spec: WRITE,
    promise: 'One parameter buffer serves submit after submit without a wait.',
    run: async (context) => {
      const bench = new Workbench(context);
      const a = bench.plain(WORD_BYTES);
      const b = bench.plain(8 * WORD_BYTES);
      for (let i = 0; i < 8; i += 1) {
        bench.device.queue.writeBuffer(a, 0, Uint32Array.of(i + 100));
        bench.submit((encoder) => encoder.copyBufferToBuffer(a, 0, b, i * WORD_BYTES, WORD_BYTES));
      }
      return holds(bench, ['copies', b, Uint32Array.from({ length: 8 }, (_, i) => i + 100)]);
    },
  },
  {
    id: 'ordering/write-takes-its-bytes-at-once',
    title: 'the array of a write may be changed as soon as the call returns',
    spec: WRITE,
    promise: 'The lists of one step reuse the array of the step before.',
    run: async (context) => {
      const bench = new Workbench(context);
      const large = pattern(256 * 1024, 4);
      const expected = large.slice();
      const buffer = bench.plain(large.byteLength);
      bench.device.queue.writeBuffer(buffer, 0, large);
      large.fill(0xdeadbeef);
      return holds(bench, ['buffer', buffer, expected]);
    },
  },
  {
    id: 'ordering/last-write-wins',
    title: 'of overlapping writes the later one stays',
    spec: WRITE,
    promise: 'A load that is followed by another one to the same page leaves the bytes of the second.',
    run: async (context) => {
      const bench = new Workbench(context);
      const { one, two } = pair(bench);
      const buffer = bench.plain(BYTES);
      bench.device.queue.writeBuffer(buffer, 0, one);
      bench.device.queue.writeBuffer(buffer, 64, two, 16, 8);
      const expected = one.slice();
      expected.set(two.subarray(16, 24), 16);
      return holds(bench, ['buffer', buffer, expected]);
    },
  },
  {
    id: 'ordering/write-units',
    title: 'offsets and sizes count elements of typed arrays and bytes of anything else',
    spec: WRITE,
    promise: 'A load takes the right bytes out of a view into a larger host segment.',
    run: async (context) => {
      const bench = new Workbench(context);
      const source = pattern(WORDS, 5);
      const bytes = new Uint8Array(source.buffer, 16, 64);
      const { queue } = bench.device;
      const buffer = bench.plain(BYTES);
      queue.writeBuffer(buffer, 0, source, 2, 3); // words 2 to 4
      queue.writeBuffer(buffer, 16, bytes, 8, 12); // bytes 24 to 35: words 6 to 8
      queue.writeBuffer(buffer, 32, source.buffer, 40, 8); // words 10 and 11
      queue.writeBuffer(buffer, 64, new Float64Array(source.buffer, 8), 1, 2); // words 4 to 7
      const expected = new Uint32Array(WORDS);
      expected.set(source.subarray(2, 5), 0);
      expected.set(source.subarray(6, 9), 4);
      expected.set(source.subarray(10, 12), 8);
      expected.set(source.subarray(4, 8), 16);
      return holds(bench, ['buffer', buffer, expected]);
    },
  },
  {
    id: 'ordering/write-from-data-view',
    title: 'a write takes a DataView, offset and size in bytes',
    spec: WRITE,
    promise: 'None: the cache writes from typed arrays.',
    run: async (context) => {
      const bench = new Workbench(context);
      const source = pattern(WORDS, 5);
      const buffer = bench.plain(BYTES);
      bench.device.queue.writeBuffer(buffer, 16, new DataView(source.buffer, 4), 4, 8); // words 2 and 3
      const expected = new Uint32Array(WORDS);
      expected.set(source.subarray(2, 4), 4);
      return holds(bench, ['buffer', buffer, expected]);
    },
  },
];

const COMMANDS: readonly ConformanceCase[] = [
  {
    id: 'ordering/two-ways-in-one-encoder',
    title: 'two buffers change places over a third one, in one encoder',
    spec: QUEUE,
    promise: 'Copies between pages of one segment may take the detour over a bounce buffer.',
    run: async (context) => {
      const bench = new Workbench(context);
      const { one, two, a, b } = pair(bench);
      const between = bench.plain(BYTES);
      bench.submit((encoder) => {
        encoder.copyBufferToBuffer(a, 0, between, 0, BYTES);
        encoder.copyBufferToBuffer(b, 0, a, 0, BYTES);
        encoder.copyBufferToBuffer(between, 0, b, 0, BYTES);
      });
      return holds(bench, ['first', a, two], ['second', b, one]);
    },
  },
  {
    id: 'ordering/chain-in-one-encoder',
    title: 'a chain of copies hands the same bytes on, in one encoder',
    spec: QUEUE,
    promise: 'A page that is copied and then stored in the same step is stored with its new bytes.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffers = Array.from({ length: 8 }, (_, i) => bench.plain(pattern(WORDS, i)));
      bench.submit((encoder) => {
        for (let i = 1; i < buffers.length; i += 1) {
          encoder.copyBufferToBuffer(buffers[i - 1], 0, buffers[i], 0, BYTES);
        }
      });
      return holds(bench, ...buffers.map((buffer, i) => [`buffer ${i}`, buffer, pattern(WORDS, 0)] as const));
    },
  },
  {
    id: 'ordering/overlapping-destinations',
    title: 'of overlapping copies in one encoder the later one stays',
    spec: QUEUE,
    promise: 'A staging place that is filled twice holds the second page.',
    run: async (context) => {
      const bench = new Workbench(context);
      const { one, two, a, b } = pair(bench);
      const target = bench.plain(BYTES);
      bench.submit((encoder) => {
        encoder.copyBufferToBuffer(a, 0, target, 0, BYTES);
        encoder.copyBufferToBuffer(b, 0, target, 64, 128);
        encoder.copyBufferToBuffer(a, 0, target, 96, 16);
      });
      const expected = one.slice();
      expected.set(two.subarray(0, 32), 16);
      expected.set(one.subarray(0, 4), 24);
      return holds(bench, ['target', target, expected]);
    },
  },
  ...(['clear', 'kernel'] as const).flatMap((zeroBy) =>
    (['one encoder', 'one submit', 'two submits'] as const).map((where): ConformanceCase => ({
      id: `ordering/zero-by-${zeroBy}-after-copy-in-${where.replace(' ', '-')}`,
      title: `a copy reads the bytes from before a zeroing that follows it in ${where}`,
      spec: where === 'one encoder' ? QUEUE : SUBMIT,
      promise: 'A store that is submitted before its page is zeroed reads the old bytes: the whole fence.',
      run: async (context) => {
        const bench = new Workbench(context);
        const { one, a, b } = pair(bench);
        const zero = await zeroing(bench, zeroBy, a);
        const copy = (encoder: GPUCommandEncoder) => encoder.copyBufferToBuffer(a, 0, b, 0, BYTES);
        submitAs(bench, where, copy, zero);
        return holds(bench, ['copy', b, one], ['zeroed', a, ZEROS]);
      },
    })),
  ),
  ...(['clear', 'kernel'] as const).map((zeroBy): ConformanceCase => ({
    id: `ordering/copy-after-zero-by-${zeroBy}`,
    title: 'a copy reads zeros after a zeroing that precedes it',
    spec: QUEUE,
    promise: 'A page that is zeroed and then copied shows no byte of its former owner.',
    run: async (context) => {
      const bench = new Workbench(context);
      const { a, b } = pair(bench);
      const zero = await zeroing(bench, zeroBy, a);
      submitAs(bench, 'one encoder', zero, (encoder) => encoder.copyBufferToBuffer(a, 0, b, 0, BYTES));
      return holds(bench, ['copy', b, ZEROS]);
    },
  })),
  {
    id: 'ordering/submitted-not-recorded-order',
    title: 'command buffers run in the order in which they are submitted, not recorded',
    spec: SUBMIT,
    promise: 'What the plan of a step submits first has happened first.',
    run: async (context) => {
      const bench = new Workbench(context);
      const { one, two, a, b } = pair(bench);
      const target = bench.plain(BYTES);
      const first = bench.record((encoder) => encoder.copyBufferToBuffer(a, 0, target, 0, BYTES));
      const second = bench.record((encoder) => encoder.copyBufferToBuffer(b, 0, target, 0, BYTES));
      bench.device.queue.submit([second]);
      bench.device.queue.submit([first]);
      const apart = difference(await bench.read(target), one, 'two submits');
      const again = [a, b].map((from) =>
        bench.record((encoder) => encoder.copyBufferToBuffer(from, 0, target, 0, BYTES)),
      );
      bench.device.queue.submit(again);
      return firstProblem(apart, difference(await bench.read(target), two, 'one submit of two'));
    },
  },
];

const DISPATCHES: readonly ConformanceCase[] = [
  {
    id: 'ordering/one-parameter-buffer',
    title: 'dispatches of one submit that share a parameter buffer all see the last write',
    spec: WRITE,
    promise: 'The rule that gives each dispatch of a submit a list region of its own.',
    run: (context) => sharedParameters(context, false),
  },
  {
    id: 'ordering/parameters-of-their-own',
    title: 'dispatches of one submit with a region each see their own parameters',
    spec: WRITE,
    promise: 'A step zeroes and copies with one upload of all its lists.',
    run: (context) => sharedParameters(context, true),
  },
  {
    id: 'ordering/dispatches-of-one-pass',
    title: 'a dispatch sees the stores of the one before it in the same pass',
    spec: USAGE_SCOPES,
    promise: 'Zeroing, copying and the witness share one compute pass.',
    run: async (context) => {
      const bench = new Workbench(context);
      const { one, a, b } = pair(bench);
      const pipeline = await bench.pipeline(SHIFT);
      const rounds = 20;
      const dispatches = Array.from({ length: rounds }, (_, i) => ({
        pipeline,
        bindings: i % 2 === 0 ? [a, b] : [b, a],
        workgroups: [1] as const,
      }));
      bench.submit((encoder) => bench.dispatch(encoder, ...dispatches));
      const expected = Uint32Array.from(
        { length: WORDS },
        (_, i) => one[(i + WORDS - rounds) % WORDS] + rounds,
      );
      return holds(bench, ['words', a, expected]);
    },
  },
  {
    id: 'ordering/dispatch-between-copies',
    title: 'a dispatch sees the copy before it, and the copy after it its stores',
    spec: QUEUE,
    promise: 'Load, forward pass and store of one page can lie in one submit.',
    run: async (context) => {
      const bench = new Workbench(context);
      const { one, a, b } = pair(bench);
      const page = bench.storage(BYTES);
      const parameters = bench.storage(Uint32Array.of(0, 5));
      const pipeline = await bench.pipeline(ADD);
      bench.submit((encoder) => {
        encoder.copyBufferToBuffer(a, 0, page, 0, BYTES);
        bench.dispatch(encoder, { pipeline, bindings: [page, parameters], workgroups: [WORDS / 8] });
        encoder.copyBufferToBuffer(page, 0, b, 0, BYTES);
        encoder.clearBuffer(page);
      });
      return holds(bench, ['copy', b, one.map((word) => word + 5)], ['page', page, ZEROS]);
    },
  },
  {
    id: 'ordering/dynamic-offsets',
    title: 'dynamic offsets give each dispatch its own part of a buffer',
    spec: webgpu('GPUBindingCommandsMixin.setBindGroup', 'dom-gpubindingcommandsmixin-setbindgroup'),
    promise: 'Kernel lists could share one bind group; nothing depends on it yet.',
    run: async (context) => {
      const bench = new Workbench(context);
      const stride = bench.device.limits.minStorageBufferOffsetAlignment;
      const visibility = ShaderStage.COMPUTE;
      const layout = bench.device.createBindGroupLayout({
        entries: [
          { binding: 0, visibility, buffer: { type: 'storage' } },
          { binding: 1, visibility, buffer: { type: 'read-only-storage', hasDynamicOffset: true } },
        ],
      });
      const pipeline = await bench.pipeline(ADD, { layout });
      const words = bench.storage(BYTES);
      const list = new Uint32Array((2 * stride) / WORD_BYTES);
      list.set([0, 7]);
      list.set([16, 9], stride / WORD_BYTES);
      const parameters = bench.buffer(list, BufferUsage.STORAGE);
      const group = bench.device.createBindGroup({
        layout,
        entries: [
          { binding: 0, resource: { buffer: words } },
          { binding: 1, resource: { buffer: parameters, size: 2 * WORD_BYTES } },
        ],
      });
      bench.submit((encoder) => {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        for (const offset of [stride, 0]) {
          pass.setBindGroup(0, group, [offset]);
          pass.dispatchWorkgroups(1);
        }
        pass.end();
      });
      const expected = new Uint32Array(WORDS);
      expected.fill(7, 0, 8).fill(9, 16, 24);
      return holds(bench, ['words', words, expected]);
    },
  },
  {
    id: 'ordering/submit-of-nothing',
    title: 'submits without commands are harmless, and the queue becomes idle',
    spec: SUBMIT,
    promise: 'An empty step costs nothing and blocks nothing.',
    run: async (context) => {
      const bench = new Workbench(context);
      bench.device.queue.submit([]);
      bench.submit(() => undefined);
      await context.wait(bench.device.queue.onSubmittedWorkDone(), 'onSubmittedWorkDone');
      return passed();
    },
  },
];

export const ORDERING_CASES: readonly ConformanceCase[] = [...WRITES, ...COMMANDS, ...DISPATCHES];

type Recording = (encoder: GPUCommandEncoder) => void;

async function zeroing(bench: Workbench, by: 'clear' | 'kernel', buffer: GPUBuffer): Promise<Recording> {
  if (by === 'clear') return (encoder) => encoder.clearBuffer(buffer);
  const pipeline = await bench.pipeline(ZERO);
  return (encoder) => bench.dispatch(encoder, { pipeline, bindings: [buffer], workgroups: [WORDS / 64] });
}

function submitAs(
  bench: Workbench,
  where: 'one encoder' | 'one submit' | 'two submits',
  ...recordings: readonly Recording[]
): void {
  if (where === 'one encoder') {
    bench.submit((encoder) => {
      for (const recording of recordings) recording(encoder);
    });
    return;
  }
  const commands = recordings.map((recording) => bench.record(recording));
  if (where === 'one submit') bench.device.queue.submit(commands);
  else for (const one of commands) bench.device.queue.submit([one]);
}
