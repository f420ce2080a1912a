/** A device that goes away: who is told, who is let go, and what still works. Each case has devices of its own. */
import { BufferUsage, MapMode } from '../gpu/constants.ts';
import { WORD_BYTES } from '../units.ts';
import { failed, firstProblem, passed, verdict, type CaseContext, type ConformanceCase } from './case.ts';
import { webgpu } from './spec.ts';
import { asRejection, difference, expectException, pattern, thrownBy, Workbench } from './workbench.ts';

const LOST = webgpu('GPUDevice.lost', 'dom-gpudevice-lost');
const DESTROY = webgpu('GPUDevice.destroy', 'dom-gpudevice-destroy');
const LOSING = webgpu('Losing the device', 'lose-the-device');
const MAP = webgpu('GPUBuffer.mapAsync', 'dom-gpubuffer-mapasync');

const NOBODY_WAITS = 'Transfers in flight settle as failed when the device goes away; nothing hangs.';

/** Slow enough to be under way when the device is destroyed, fast enough to end by itself. */
const SPIN = `
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) at: vec3u) {
  var value = words[at.x];
  for (var i = 0u; i < 4000u; i += 1u) { value = value * 1664525u + 1013904223u; }
  words[at.x] = value;
}`;

async function ownBench(context: CaseContext): Promise<Workbench> {
  return new Workbench(context, await context.requestDevice());
}

/** Submits work that takes a moment. */
async function busy(bench: Workbench): Promise<void> {
  const pipeline = await bench.pipeline(SPIN);
  const words = bench.storage(pattern(64 * 64));
  const dispatch = { pipeline, bindings: [words], workgroups: [64] as const };
  bench.submit((encoder) => bench.dispatch(encoder, dispatch, dispatch, dispatch, dispatch));
}

/** How a promise ended, which it must within the time of a wait. */
function ending(bench: Workbench, promise: Promise<unknown>, what: string) {
  return bench.rejection(promise, what);
}

async function lostReason(context: CaseContext, device: GPUDevice): Promise<string | null> {
  const { reason } = await context.wait(device.lost, 'device.lost');
  return reason === 'destroyed' ? null : `the reason is ${reason}, not destroyed`;
}

export const LOSS_CASES: readonly ConformanceCase[] = [
  {
    id: 'loss/reason',
    title: 'destroy resolves device.lost with the reason destroyed; a second time does nothing',
    spec: LOST,
    promise: 'An intended end is told apart from a loss.',
    run: async (context) => {
      const device = await context.requestDevice();
      device.destroy();
      const reason = await lostReason(context, device);
      const twice = thrownBy(() => device.destroy());
      return firstProblem(reason, twice === null ? null : `destroy again: ${twice.message}`);
    },
  },
  {
    id: 'loss/with-work-in-flight',
    title: 'destroy with work in flight: the loss is told, and waits for the work end',
    spec: LOSING,
    promise: NOBODY_WAITS,
    run: async (context) => {
      const bench = await ownBench(context);
      await busy(bench);
      const before = ending(
        bench,
        bench.device.queue.onSubmittedWorkDone(),
        'onSubmittedWorkDone before destroy',
      );
      bench.device.destroy();
      const after = ending(
        bench,
        bench.device.queue.onSubmittedWorkDone(),
        'onSubmittedWorkDone after destroy',
      );
      const reason = await lostReason(context, bench.device);
      const ends = [await before, await after].map((rejection) => rejection?.name ?? 'resolved');
      return reason === null ? passed(`onSubmittedWorkDone: ${ends.join(', then ')}`) : failed(reason);
    },
  },
  {
    id: 'loss/pending-map',
    title: 'maps that are pending when the device is destroyed reject with AbortError',
    spec: MAP,
    promise: NOBODY_WAITS,
    run: async (context) => {
      const bench = await ownBench(context);
      const source = bench.plain(pattern(1024));
      const buffers = [1, 2, 3].map(() => bench.readable(4096));
      await busy(bench);
      bench.submit((encoder) => {
        for (const buffer of buffers) encoder.copyBufferToBuffer(source, 0, buffer, 0, 4096);
      });
      const maps = buffers.map((buffer) => ending(bench, buffer.mapAsync(MapMode.READ), 'mapAsync'));
      bench.device.destroy();
      const problems = (await Promise.all(maps)).map((end, i) =>
        expectException(`map ${i}`, end, 'AbortError'),
      );
      return firstProblem(...problems, await lostReason(context, bench.device));
    },
  },
  {
    id: 'loss/map-afterwards',
    title: 'mapAsync on a lost device rejects',
    spec: MAP,
    promise: 'A store that is asked for after the loss is counted as failed.',
    run: async (context) => {
      const bench = await ownBench(context);
      const buffer = bench.readable(64);
      bench.device.destroy();
      await lostReason(context, bench.device);
      const end = await ending(
        bench,
        Promise.resolve().then(() => buffer.mapAsync(MapMode.READ)),
        'mapAsync',
      );
      return verdict(expectException('mapAsync', end, 'AbortError', 'OperationError'), end?.name);
    },
  },
  {
    id: 'loss/mapped-ranges',
    title: 'destroying the device unmaps its buffers, those mapped at creation as well',
    spec: DESTROY,
    promise: 'A store that is being read out when the device goes away ends in an error, not in wrong bytes.',
    run: async (context) => {
      const bench = await ownBench(context);
      const mapped = bench.readable(64);
      const created = bench.device.createBuffer({
        size: 64,
        usage: BufferUsage.COPY_SRC,
        mappedAtCreation: true,
      });
      await context.wait(mapped.mapAsync(MapMode.READ), 'mapAsync');
      const ranges = [mapped.getMappedRange(), created.getMappedRange()];
      bench.device.destroy();
      await lostReason(context, bench.device);
      const lengths = ranges.map((range) => range.byteLength);
      return lengths.every((length) => length === 0)
        ? passed()
        : failed(`ranges of ${lengths.join(' and ')} bytes are still there`);
    },
  },
  {
    id: 'loss/calls-afterwards',
    title: 'calls on a lost device seem to succeed: no exception and no event',
    spec: LOSING,
    promise: 'A step that is under way when the device goes away runs to its end and then fails.',
    run: async (context) => {
      const bench = await ownBench(context);
      const { device } = bench;
      const errors: string[] = [];
      device.addEventListener('uncapturederror', (event) => {
        event.preventDefault();
        errors.push(event.error.message);
      });
      const [a, b] = [bench.plain(64), bench.plain(64)];
      device.destroy();
      await lostReason(context, device);
      const calls: readonly [string, () => unknown][] = [
        ['createBuffer', () => bench.plain(64)],
        ['writeBuffer', () => device.queue.writeBuffer(a, 0, pattern(4))],
        ['submit', () => bench.submit((encoder) => encoder.copyBufferToBuffer(a, 0, b, 0, 64))],
        ['createShaderModule', () => device.createShaderModule({ code: SPIN })],
        ['pushErrorScope', () => device.pushErrorScope('validation')],
        ['buffer.destroy', () => a.destroy()],
      ];
      const problems = calls.map(([name, call]) => {
        const thrown = thrownBy(call);
        return thrown === null ? null : `${name}: ${thrown.name}: ${thrown.message}`;
      });
      await new Promise((resolve) => setTimeout(resolve, 50));
      return firstProblem(...problems, errors.length === 0 ? null : `event: ${errors[0]}`);
    },
  },
  {
    id: 'loss/unmap-afterwards',
    title: 'unmap on a lost device does nothing',
    spec: webgpu('GPUBuffer.unmap', 'dom-gpubuffer-unmap'),
    promise: 'Closing after a loss throws nothing.',
    run: async (context) => {
      const bench = await ownBench(context);
      const buffer = bench.readable(64);
      bench.device.destroy();
      await lostReason(context, bench.device);
      const thrown = thrownBy(() => buffer.unmap());
      return verdict(thrown === null ? null : `${thrown.name}: ${thrown.message}`);
    },
  },
  {
    id: 'loss/error-scopes',
    title: 'error scopes of a lost device settle, without an error',
    spec: webgpu('GPUDevice.popErrorScope', 'dom-gpudevice-poperrorscope'),
    promise: NOBODY_WAITS,
    run: async (context) => {
      const { device } = await ownBench(context);
      device.pushErrorScope('validation');
      device.pushErrorScope('validation');
      const before = device.popErrorScope();
      device.destroy();
      const after = device.popErrorScope();
      const ends = await context.wait(Promise.allSettled([before, after]), 'popErrorScope');
      const told = ends.map((end) =>
        end.status === 'rejected'
          ? `rejected: ${asRejection(end.reason).message}`
          : end.value === null
            ? null
            : `error: ${end.value.message}`,
      );
      return firstProblem(...told);
    },
  },
  {
    id: 'loss/pipeline-under-way',
    title: 'a pipeline that is being made when the device is destroyed settles',
    spec: webgpu('GPUDevice.createComputePipelineAsync', 'dom-gpudevice-createcomputepipelineasync'),
    promise: 'A start that is cut short by a loss ends in an error.',
    run: async (context) => {
      const bench = await ownBench(context);
      const module = bench.device.createShaderModule({ code: SPIN });
      const made = bench.device.createComputePipelineAsync({ layout: 'auto', compute: { module } });
      const end = ending(bench, made, 'createComputePipelineAsync');
      bench.device.destroy();
      const rejection = await end;
      return passed(rejection === null ? 'It resolved.' : `It rejected with ${rejection.name}.`);
    },
  },
  {
    id: 'loss/other-devices',
    title: 'another device and its buffers stay',
    spec: DESTROY,
    promise: 'One engine on a page may be closed without the others.',
    run: async (context) => {
      const first = await ownBench(context);
      const second = await ownBench(context);
      const kept = second.plain(pattern(1024, 1));
      await busy(first);
      first.device.destroy();
      const target = second.plain(4096);
      second.submit((encoder) => encoder.copyBufferToBuffer(kept, 0, target, 0, 1024 * WORD_BYTES));
      return firstProblem(
        difference(await second.read(target), pattern(1024, 1)),
        await lostReason(context, first.device),
      );
    },
  },
  {
    id: 'loss/again-and-again',
    title: 'a new adapter and device work after each loss, five times',
    spec: webgpu('GPUAdapter.requestDevice', 'dom-gpuadapter-requestdevice'),
    promise: 'An engine recovers with a new device, as often as it has to.',
    run: async (context) => {
      for (let round = 1; round <= 5; round += 1) {
        const bench = await ownBench(context);
        const problem = difference(await bench.read(bench.plain(pattern(64, round))), pattern(64, round));
        bench.device.destroy();
        const reason = problem ?? (await lostReason(context, bench.device));
        if (reason !== null) return failed(`round ${round}: ${reason}`);
      }
      return passed();
    },
  },
];
