/** Limits and alignments, each from both sides. */
import { BufferUsage, ShaderStage } from '../gpu/constants.ts';
import { WORD_BYTES } from '../units.ts';
import {
  failed,
  firstProblem,
  passed,
  verdict,
  type CaseContext,
  type ConformanceCase,
  type Outcome,
} from './case.ts';
import { webgpu } from './spec.ts';
import { difference, expectException, pattern, thrownBy, Workbench } from './workbench.ts';

const LIMITS = webgpu('Limits', 'limits');
const REQUEST = webgpu('GPUAdapter.requestDevice', 'dom-gpuadapter-requestdevice');
const BIND_GROUP = webgpu('GPUDevice.createBindGroup', 'dom-gpudevice-createbindgroup');
const CLEAR = webgpu('GPUCommandEncoder.clearBuffer', 'dom-gpucommandencoder-clearbuffer');
const COPY = webgpu('GPUCommandEncoder.copyBufferToBuffer', 'dom-gpucommandencoder-copybuffertobuffer');
const WRITE = webgpu('GPUQueue.writeBuffer', 'dom-gpuqueue-writebuffer');

const SEGMENTS = 'Pools are split into segments that fit a buffer and a binding of this device.';
const FOURS = 'Page sizes in multiples of 4 bytes are enough, and anything else is refused and not rounded.';

/** Defaults of the specification that the cache builds on. */
const DEFAULTS = {
  maxBufferSize: 2 ** 28,
  maxStorageBufferBindingSize: 2 ** 27,
  maxStorageBuffersPerShaderStage: 8,
  minStorageBufferOffsetAlignment: 256,
  maxComputeWorkgroupsPerDimension: 65_535,
  maxComputeInvocationsPerWorkgroup: 256,
  maxComputeWorkgroupSizeX: 256,
} as const;

type LimitName = keyof typeof DEFAULTS;

const DEVICE_CASES: readonly ConformanceCase[] = [
  {
    id: 'limits/defaults',
    title: 'a device that asks for nothing has the default limits',
    spec: LIMITS,
    promise: 'What works on one machine works on the others.',
    run: (context) => {
      const wrong = (Object.keys(DEFAULTS) as LimitName[]).filter(
        (name) => context.device.limits[name] !== DEFAULTS[name],
      );
      const told = wrong.map((name) => `${name} is ${context.device.limits[name]}, not ${DEFAULTS[name]}`);
      return Promise.resolve(told.length === 0 ? passed() : failed(told.join('; ')));
    },
  },
  {
    id: 'limits/adapter-offers-defaults',
    title: 'every adapter offers at least the defaults',
    spec: LIMITS,
    promise: 'The smallest device that there may be is the one that the tests know.',
    run: async (context) => {
      const { limits } = await context.requestAdapter();
      const wrong = (Object.keys(DEFAULTS) as LimitName[]).filter((name) =>
        name.startsWith('min') ? limits[name] > DEFAULTS[name] : limits[name] < DEFAULTS[name],
      );
      return wrong.length === 0
        ? passed()
        : failed(wrong.map((name) => `${name} is ${limits[name]}`).join('; '));
    },
  },
  {
    id: 'limits/raised',
    title: 'a limit that the adapter offers is granted when it is asked for',
    spec: REQUEST,
    promise: 'Large pools lie in few segments where the machine allows it.',
    run: async (context) => {
      const { limits } = await context.requestAdapter();
      const wanted = {
        maxBufferSize: limits.maxBufferSize,
        maxStorageBufferBindingSize: limits.maxStorageBufferBindingSize,
      };
      const device = await context.requestDevice({ requiredLimits: wanted });
      const got = (Object.keys(wanted) as (keyof typeof wanted)[]).filter(
        (name) => device.limits[name] !== wanted[name],
      );
      return got.length === 0
        ? passed(`maxBufferSize ${limits.maxBufferSize}`)
        : failed(got.map((name) => `${name} is ${device.limits[name]}, not ${wanted[name]}`).join('; '));
    },
  },
  {
    id: 'limits/beyond-the-adapter',
    title: 'a limit beyond the adapter rejects with OperationError',
    spec: REQUEST,
    promise: 'A device with less than was asked for is never taken for one with all of it.',
    run: async (context) => {
      const adapter = await context.requestAdapter();
      const bench = new Workbench(context);
      const requiredLimits = {
        maxComputeWorkgroupsPerDimension: adapter.limits.maxComputeWorkgroupsPerDimension + 1,
      };
      const request = Promise.resolve().then(() => adapter.requestDevice({ requiredLimits }));
      request.then(
        (device) => device.destroy(),
        () => undefined,
      );
      return verdict(
        expectException('requestDevice', await bench.rejection(request, 'requestDevice'), 'OperationError'),
      );
    },
  },
  {
    id: 'limits/below-the-default',
    title: 'less than a default means the default',
    spec: REQUEST,
    promise: 'A small pool asks for its own size and gets a device that works.',
    run: async (context) => {
      const device = await context.requestDevice({ requiredLimits: { maxBufferSize: 4096 } });
      const { maxBufferSize } = device.limits;
      return maxBufferSize === DEFAULTS.maxBufferSize
        ? passed()
        : failed(`maxBufferSize is ${maxBufferSize}`);
    },
  },
  {
    id: 'limits/one-device-an-adapter',
    title: 'an adapter gives one device',
    spec: REQUEST,
    promise: 'Each start asks for a new adapter.',
    run: async (context) => {
      const adapter = await context.requestAdapter();
      const bench = new Workbench(context);
      const first = await context.wait(adapter.requestDevice(), 'requestDevice');
      const second = Promise.resolve().then(() => adapter.requestDevice());
      second.then(
        (device) => device.destroy(),
        () => undefined,
      );
      const rejection = await bench.rejection(second, 'second requestDevice');
      first.destroy();
      return verdict(expectException('second requestDevice', rejection, 'OperationError'));
    },
  },
];

/** A bind group of one storage buffer. */
function bind(bench: Workbench, buffer: GPUBuffer, offset: number, size: number): void {
  const layout = bench.device.createBindGroupLayout({
    entries: [{ binding: 0, visibility: ShaderStage.COMPUTE, buffer: { type: 'storage' } }],
  });
  bench.device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer, offset, size } }] });
}

const SIZE_CASES: readonly ConformanceCase[] = [
  {
    id: 'limits/buffer-size',
    title: 'a buffer of maxBufferSize is made, one of 4 bytes more is refused',
    spec: webgpu('GPUDevice.createBuffer', 'dom-gpudevice-createbuffer'),
    promise: SEGMENTS,
    run: async (context) => {
      const bench = new Workbench(context);
      const { maxBufferSize } = bench.device.limits;
      const make = (bytes: number) => () => bench.buffer(bytes, BufferUsage.COPY_DST).destroy();
      const larger = await bench.refused('4 bytes more', make(maxBufferSize + WORD_BYTES));
      const memory = await bench.error(() => {
        bench.device.pushErrorScope('validation');
        make(maxBufferSize)();
        void bench.device.popErrorScope();
      }, 'out-of-memory');
      const exact = memory === null ? await bench.accepted('maxBufferSize', make(maxBufferSize)) : null;
      const outcome = firstProblem(larger, exact);
      return memory === null || outcome.status === 'failed'
        ? outcome
        : passed(`There is not as much memory: ${memory}`);
    },
  },
  {
    id: 'limits/binding-size',
    title: 'a binding of maxStorageBufferBindingSize is made, one of 4 bytes more is refused',
    spec: BIND_GROUP,
    promise: SEGMENTS,
    run: async (context) => {
      const bench = new Workbench(context);
      const { maxStorageBufferBindingSize: most } = bench.device.limits;
      const buffer = bench.buffer(most + WORD_BYTES, BufferUsage.STORAGE);
      const exact = await bench.accepted('the limit', () => bind(bench, buffer, 0, most));
      const larger = await bench.refused('4 bytes more', () => bind(bench, buffer, 0, most + WORD_BYTES));
      buffer.destroy();
      return firstProblem(exact, larger);
    },
  },
  {
    id: 'limits/binding-offset',
    title: 'binding offsets are multiples of minStorageBufferOffsetAlignment',
    spec: BIND_GROUP,
    promise: 'Segments and kernel lists begin at aligned offsets.',
    run: async (context) => {
      const bench = new Workbench(context);
      const { minStorageBufferOffsetAlignment: step } = bench.device.limits;
      const buffer = bench.buffer(4 * step, BufferUsage.STORAGE);
      return firstProblem(
        await bench.accepted('one alignment', () => bind(bench, buffer, step, step)),
        await bench.refused('half an alignment', () => bind(bench, buffer, step / 2, step)),
        await bench.refused('4 bytes more', () => bind(bench, buffer, step + WORD_BYTES, step)),
        await bench.refused('past the end', () => bind(bench, buffer, 3 * step, 2 * step)),
      );
    },
  },
  {
    id: 'limits/binding-length',
    title: 'bindings are multiples of 4 bytes and not empty',
    spec: BIND_GROUP,
    promise: 'A list of any number of words can be bound.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.buffer(512, BufferUsage.STORAGE);
      return firstProblem(
        await bench.accepted('4 bytes', () => bind(bench, buffer, 0, 4)),
        await bench.refused('6 bytes', () => bind(bench, buffer, 0, 6)),
        await bench.refused('no bytes', () => bind(bench, buffer, 0, 0)),
      );
    },
  },
  {
    id: 'limits/storage-buffers-per-stage',
    title: 'maxStorageBuffersPerShaderStage bindings are allowed, one more is not',
    spec: webgpu('GPUDevice.createPipelineLayout', 'dom-gpudevice-createpipelinelayout'),
    promise: 'No kernel binds more than 8 storage buffers.',
    run: async (context) => {
      const { device } = context;
      const bench = new Workbench(context);
      const most = device.limits.maxStorageBuffersPerShaderStage;
      const layout = (count: number) => () => {
        const bindGroupLayout = device.createBindGroupLayout({
          entries: Array.from({ length: count }, (_, binding) => ({
            binding,
            visibility: ShaderStage.COMPUTE,
            buffer: { type: 'storage' as const },
          })),
        });
        device.createPipelineLayout({ bindGroupLayouts: [bindGroupLayout] });
      };
      return firstProblem(
        await bench.accepted(`${most} buffers`, layout(most)),
        await bench.refused(`${most + 1} buffers`, layout(most + 1)),
      );
    },
  },
  {
    id: 'limits/workgroup-size',
    title: 'maxComputeInvocationsPerWorkgroup invocations are allowed, one more is not',
    spec: webgpu('GPUDevice.createComputePipeline', 'dom-gpudevice-createcomputepipeline'),
    promise: 'Workgroups of 64 invocations run on every device.',
    run: async (context) => {
      const bench = new Workbench(context);
      const most = bench.device.limits.maxComputeInvocationsPerWorkgroup;
      const module = bench.device.createShaderModule({
        code: 'override size: u32 = 1u; @compute @workgroup_size(size) fn main() {}',
      });
      const make = (size: number) => () =>
        bench.device.createComputePipeline({
          layout: 'auto',
          compute: { module, entryPoint: 'main', constants: { size } },
        });
      return firstProblem(
        await bench.accepted(`${most} invocations`, make(most)),
        await bench.refused(`${most + 1} invocations`, make(most + 1)),
      );
    },
  },
];

type Alignment = readonly [what: string, calls: (buffers: Buffers) => void];
interface Buffers {
  readonly bench: Workbench;
  readonly a: GPUBuffer;
  readonly b: GPUBuffer;
}

/** Each of these must be refused, and change nothing. */
async function allRefused(context: CaseContext, calls: readonly Alignment[]): Promise<Outcome> {
  const bench = new Workbench(context);
  const buffers = { bench, a: bench.plain(pattern(16, 1)), b: bench.plain(pattern(16, 2)) };
  const problems: (string | null)[] = [];
  for (const [what, call] of calls) problems.push(await bench.refused(what, () => call(buffers)));
  return firstProblem(...problems, difference(await bench.read(buffers.b), pattern(16, 2)));
}

const copy =
  (from: number, to: number, bytes: number) =>
  ({ bench, a, b }: Buffers) =>
    bench.submit((encoder) => encoder.copyBufferToBuffer(a, from, b, to, bytes));
const clear =
  (offset: number, bytes: number) =>
  ({ bench, b }: Buffers) =>
    bench.submit((encoder) => encoder.clearBuffer(b, offset, bytes));

const ALIGNMENT_CASES: readonly ConformanceCase[] = [
  {
    id: 'limits/copy-alignment',
    title: 'copies take offsets and sizes in multiples of 4, within both buffers',
    spec: COPY,
    promise: FOURS,
    run: (context) =>
      allRefused(context, [
        ['source offset 2', copy(2, 0, 4)],
        ['destination offset 2', copy(0, 2, 4)],
        ['size 2', copy(0, 0, 2)],
        ['size 6', copy(0, 0, 6)],
        ['past the end of the source', copy(32, 0, 36)],
        ['past the end of the destination', copy(0, 60, 8)],
        ['an offset beyond 32 bits', copy(0, 2 ** 32, 4)],
      ]),
  },
  {
    id: 'limits/clear-alignment',
    title: 'clears take offsets and sizes in multiples of 4',
    spec: CLEAR,
    promise: FOURS,
    run: (context) =>
      allRefused(context, [
        ['offset 2', clear(2, 4)],
        ['size 2', clear(0, 2)],
        ['size 6', clear(4, 6)],
        ['an offset beyond 32 bits', clear(2 ** 32, 4)],
      ]),
  },
  {
    id: 'limits/write-alignment',
    title: 'writes take offsets in multiples of 4, within the buffer',
    spec: WRITE,
    promise: FOURS,
    run: (context) =>
      allRefused(context, [
        ['offset 2', ({ bench, b }) => bench.device.queue.writeBuffer(b, 2, pattern(1))],
        ['past the end', ({ bench, b }) => bench.device.queue.writeBuffer(b, 60, pattern(2))],
        [
          'an offset beyond 32 bits',
          ({ bench, b }) => bench.device.queue.writeBuffer(b, 2 ** 32, pattern(1)),
        ],
      ]),
  },
  ...(
    [
      ['write-size', '6 bytes', 0, 6],
      ['write-past-the-array', 'more bytes than the array has', 60, 8],
    ] as const
  ).map(([name, what, offset, size]): ConformanceCase => ({
    id: `limits/${name}`,
    title: `a write of ${what} throws OperationError`,
    spec: WRITE,
    promise: FOURS,
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.plain(pattern(16));
      const thrown = thrownBy(() =>
        bench.device.queue.writeBuffer(buffer, 0, new Uint8Array(64), offset, size),
      );
      return firstProblem(
        expectException(what, thrown, 'OperationError'),
        difference(await bench.read(buffer), pattern(16)),
      );
    },
  })),
  {
    id: 'limits/usages',
    title: 'mappable usages go with copies in one direction only; commands want the usage they need',
    spec: webgpu('GPUDevice.createBuffer', 'dom-gpudevice-createbuffer'),
    promise: 'Staging buffers are apart from pages.',
    run: async (context) => {
      const bench = new Workbench(context);
      const make = (usage: number) => () => bench.buffer(16, usage);
      const { MAP_READ, MAP_WRITE, COPY_SRC, COPY_DST, STORAGE } = BufferUsage;
      const storage = bench.buffer(16, STORAGE);
      const target = bench.plain(16);
      return firstProblem(
        await bench.accepted('MAP_READ and COPY_DST', make(MAP_READ | COPY_DST)),
        await bench.accepted('MAP_WRITE and COPY_SRC', make(MAP_WRITE | COPY_SRC)),
        await bench.refused('MAP_READ and COPY_SRC', make(MAP_READ | COPY_SRC)),
        await bench.refused('MAP_WRITE and COPY_DST', make(MAP_WRITE | COPY_DST)),
        await bench.refused('MAP_READ and STORAGE', make(MAP_READ | STORAGE)),
        await bench.refused('MAP_READ and MAP_WRITE', make(MAP_READ | MAP_WRITE)),
        await bench.refused('no usage', make(0)),
        await bench.refused('a copy without COPY_SRC', () => {
          bench.submit((encoder) => encoder.copyBufferToBuffer(storage, 0, target, 0, 16));
        }),
        await bench.refused('a clear without COPY_DST', () => {
          bench.submit((encoder) => encoder.clearBuffer(storage));
        }),
      );
    },
  },
];

export const LIMIT_CASES: readonly ConformanceCase[] = [...DEVICE_CASES, ...SIZE_CASES, ...ALIGNMENT_CASES];
