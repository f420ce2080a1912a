/** Buffers in the hands of the host: who may map them, when, and what becomes of the ranges. */
import { BufferUsage, MapMode } from '../gpu/constants.ts';
import { WORD_BYTES } from '../units.ts';
import { failed, firstProblem, passed, verdict, type ConformanceCase } from './case.ts';
import { webgpu } from './spec.ts';
import { difference, expectException, pattern, thrownBy, Workbench } from './workbench.ts';

const WORDS = 64;
const BYTES = WORDS * WORD_BYTES;

const MAP = webgpu('GPUBuffer.mapAsync', 'dom-gpubuffer-mapasync');
const RANGE = webgpu('GPUBuffer.getMappedRange', 'dom-gpubuffer-getmappedrange');
const UNMAP = webgpu('GPUBuffer.unmap', 'dom-gpubuffer-unmap');
const DESTROY = webgpu('GPUBuffer.destroy', 'dom-gpubuffer-destroy');
const SUBMIT = webgpu('GPUQueue.submit', 'dom-gpuqueue-submit');
const CREATE = webgpu('GPUDevice.createBuffer', 'dom-gpudevice-createbuffer');
const PROMISES = webgpu('Promise Ordering', 'promise-ordering');

const STAGING = 'A staging buffer is never recorded, mapped or read at the wrong time.';

/** A mapAsync whose outcome is looked at later. */
function mapping(bench: Workbench, buffer: GPUBuffer, ...range: [offset?: number, size?: number]) {
  return bench.rejection(buffer.mapAsync(MapMode.READ, ...range), 'mapAsync');
}

/** Maps again before the first map has settled; the buffer is unmapped at the end. */
async function mapTwice(bench: Workbench, buffer: GPUBuffer) {
  const pending = mapping(bench, buffer);
  let again!: typeof pending;
  const error = await bench.error(() => {
    again = mapping(bench, buffer);
  });
  const second = await again;
  const rejection = await pending;
  const words = rejection === null ? new Uint32Array(buffer.getMappedRange().slice(0)) : new Uint32Array();
  buffer.unmap();
  return { first: { rejection, words }, second, error };
}

const STATES: readonly ConformanceCase[] = [
  {
    id: 'mapping/state-attribute',
    title: 'mapState goes from unmapped over pending to mapped and back',
    spec: MAP,
    promise: STAGING,
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.readable(BYTES);
      const states: string[] = [buffer.mapState];
      const mapped = buffer.mapAsync(MapMode.READ);
      states.push(buffer.mapState);
      await context.wait(mapped, 'mapAsync');
      states.push(buffer.mapState);
      buffer.unmap();
      states.push(buffer.mapState);
      const seen = states.join(', ');
      return seen === 'unmapped, pending, mapped, unmapped' ? passed() : failed(`mapState: ${seen}`);
    },
  },
  {
    id: 'mapping/map-while-pending',
    title: 'a second mapAsync rejects while the first is pending, which then succeeds',
    spec: MAP,
    promise: 'A staging buffer that is being mapped is not handed out a second time.',
    run: async (context) => {
      const bench = new Workbench(context);
      const { first, second } = await mapTwice(bench, bench.readable(pattern(WORDS)));
      return firstProblem(
        expectException('second mapAsync', second, 'OperationError'),
        first.rejection === null ? null : `first mapAsync: ${first.rejection.message}`,
        difference(first.words, pattern(WORDS)),
      );
    },
  },
  {
    id: 'mapping/error-of-map-while-pending',
    title: 'a second mapAsync while the first is pending raises a validation error as well',
    spec: MAP,
    promise: 'None: such an error is a fault of the cache, and the rejection tells of it.',
    run: async (context) => {
      const bench = new Workbench(context);
      const { error } = await mapTwice(bench, bench.readable(BYTES));
      return verdict(error === null ? 'no validation error' : null);
    },
  },
  {
    id: 'mapping/map-while-mapped',
    title: 'mapAsync of a mapped buffer is refused, and the buffer stays mapped',
    spec: MAP,
    promise: STAGING,
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.readable(pattern(WORDS));
      await context.wait(buffer.mapAsync(MapMode.READ), 'mapAsync');
      let second!: ReturnType<typeof mapping>;
      const scope = await bench.refused('second mapAsync', () => {
        second = mapping(bench, buffer);
      });
      const refused = expectException('second mapAsync', await second, 'OperationError');
      const words = new Uint32Array(buffer.getMappedRange().slice(0));
      buffer.unmap();
      return firstProblem(refused, scope, difference(words, pattern(WORDS)));
    },
  },
  {
    id: 'mapping/submit-while-mapped',
    title: 'a submit that uses a mapped buffer is refused and copies nothing',
    spec: SUBMIT,
    promise: 'A store never lands in a staging buffer that the host still reads.',
    run: async (context) => {
      const bench = new Workbench(context);
      const source = bench.plain(pattern(WORDS, 1));
      const buffer = bench.readable(pattern(WORDS, 2));
      await context.wait(buffer.mapAsync(MapMode.READ), 'mapAsync');
      const refused = await bench.refused('submit', () => {
        bench.submit((encoder) => encoder.copyBufferToBuffer(source, 0, buffer, 0, BYTES));
      });
      buffer.unmap();
      return firstProblem(refused, difference(await bench.mapped(buffer), pattern(WORDS, 2)));
    },
  },
  {
    id: 'mapping/submit-while-pending',
    title: 'a submit that uses a buffer with a pending map is refused',
    spec: SUBMIT,
    promise: 'A store never lands in a staging buffer that the host is about to read.',
    run: async (context) => {
      const bench = new Workbench(context);
      const source = bench.plain(pattern(WORDS, 1));
      const buffer = bench.readable(pattern(WORDS, 2));
      const commands = bench.record((encoder) => encoder.copyBufferToBuffer(source, 0, buffer, 0, BYTES));
      const pending = mapping(bench, buffer);
      const refused = await bench.refused('submit', () => bench.device.queue.submit([commands]));
      const rejection = await pending;
      if (rejection !== null) return failed(`mapAsync: ${rejection.name}: ${rejection.message}`);
      const words = new Uint32Array(buffer.getMappedRange().slice(0));
      buffer.unmap();
      return firstProblem(refused, difference(words, pattern(WORDS, 2)));
    },
  },
  {
    id: 'mapping/write-while-mapped',
    title: 'writeBuffer to a mapped buffer is refused and changes nothing',
    spec: webgpu('GPUQueue.writeBuffer', 'dom-gpuqueue-writebuffer'),
    promise: STAGING,
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.readable(pattern(WORDS, 2));
      await context.wait(buffer.mapAsync(MapMode.READ), 'mapAsync');
      const refused = await bench.refused('writeBuffer', () => {
        bench.device.queue.writeBuffer(buffer, 0, pattern(WORDS, 3));
      });
      buffer.unmap();
      return firstProblem(refused, difference(await bench.mapped(buffer), pattern(WORDS, 2)));
    },
  },
  {
    id: 'mapping/use-after-unmap',
    title: 'a buffer that was mapped and unmapped is an ordinary one again',
    spec: UNMAP,
    promise: 'The staging ring goes round.',
    run: async (context) => {
      const bench = new Workbench(context);
      const source = bench.plain(BYTES);
      const buffer = bench.readable(BYTES);
      for (let round = 1; round <= 4; round += 1) {
        bench.device.queue.writeBuffer(source, 0, pattern(WORDS, round));
        bench.submit((encoder) => encoder.copyBufferToBuffer(source, 0, buffer, 0, BYTES));
        const problem = difference(await bench.mapped(buffer), pattern(WORDS, round), `round ${round}`);
        if (problem !== null) return failed(problem);
      }
      return passed();
    },
  },
];

const ENDS: readonly ConformanceCase[] = [
  {
    id: 'mapping/unmap-while-pending',
    title: 'unmap rejects a pending mapAsync with AbortError',
    spec: UNMAP,
    promise: 'Closing while a store is on its way to the host leaves nobody waiting.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.readable(BYTES);
      const pending = mapping(bench, buffer);
      buffer.unmap();
      const aborted = expectException('mapAsync', await pending, 'AbortError');
      return firstProblem(aborted, buffer.mapState === 'unmapped' ? null : `mapState is ${buffer.mapState}`);
    },
  },
  {
    id: 'mapping/unmap-detaches',
    title: 'unmap detaches every mapped range',
    spec: UNMAP,
    promise: 'Bytes of a store are copied out before unmap, or they are gone.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.readable(BYTES);
      await context.wait(buffer.mapAsync(MapMode.READ), 'mapAsync');
      const [first, second] = [buffer.getMappedRange(0, 64), buffer.getMappedRange(64, 64)];
      buffer.unmap();
      const lengths = [first.byteLength, second.byteLength];
      return lengths.every((length) => length === 0)
        ? passed()
        : failed(`ranges of ${lengths.join(' and ')} bytes are still there`);
    },
  },
  {
    id: 'mapping/unmap-twice',
    title: 'unmap of a buffer that is not mapped does nothing',
    spec: UNMAP,
    promise: 'Closing twice is harmless.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.readable(pattern(WORDS));
      const accepted = await bench.accepted('unmap', () => {
        buffer.unmap();
        buffer.unmap();
      });
      return firstProblem(accepted, difference(await bench.mapped(buffer), pattern(WORDS)));
    },
  },
  {
    id: 'mapping/destroy-while-pending',
    title: 'destroy rejects a pending mapAsync with AbortError',
    spec: DESTROY,
    promise: 'Closing while a store is on its way to the host leaves nobody waiting.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.readable(BYTES);
      const pending = mapping(bench, buffer);
      buffer.destroy();
      return verdict(expectException('mapAsync', await pending, 'AbortError'));
    },
  },
  {
    id: 'mapping/destroy-while-mapped',
    title: 'destroy of a mapped buffer detaches its ranges and is no error',
    spec: DESTROY,
    promise: 'Closing while a store is being read out ends in an error of ours and not in wrong bytes.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.readable(BYTES);
      await context.wait(buffer.mapAsync(MapMode.READ), 'mapAsync');
      const range = buffer.getMappedRange();
      const accepted = await bench.accepted('destroy', () => {
        buffer.destroy();
        buffer.destroy();
      });
      const detached = range.byteLength === 0 ? null : `a range of ${range.byteLength} bytes is still there`;
      return firstProblem(accepted, detached);
    },
  },
  {
    id: 'mapping/map-of-destroyed',
    title: 'mapAsync of a destroyed buffer is refused',
    spec: MAP,
    promise: 'A store into a buffer that was closed is counted as failed.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.readable(BYTES);
      buffer.destroy();
      let map!: ReturnType<typeof mapping>;
      const scope = await bench.refused('mapAsync', () => {
        map = mapping(bench, buffer);
      });
      return firstProblem(expectException('mapAsync', await map, 'OperationError'), scope);
    },
  },
];

const RANGES: readonly ConformanceCase[] = [
  {
    id: 'mapping/part-of-a-buffer',
    title: 'a part is mapped, and only that part gives ranges',
    spec: RANGE,
    promise: 'A store reads out the pages that were copied and nothing behind them.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.readable(pattern(WORDS));
      await context.wait(buffer.mapAsync(MapMode.READ, 64, 96), 'mapAsync');
      const words = new Uint32Array(buffer.getMappedRange(72, 64).slice(0));
      const before = thrownBy(() => buffer.getMappedRange(56, 8));
      const behind = thrownBy(() => buffer.getMappedRange(152, 16));
      buffer.unmap();
      return firstProblem(
        difference(words, pattern(WORDS).subarray(18, 34), 'range'),
        expectException('a range before the mapped part', before, 'OperationError'),
        expectException('a range past the mapped part', behind, 'OperationError'),
      );
    },
  },
  {
    id: 'mapping/overlapping-ranges',
    title: 'ranges may not overlap; neighbours may',
    spec: RANGE,
    promise: 'Each page of a staging buffer is looked at once.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.readable(BYTES);
      await context.wait(buffer.mapAsync(MapMode.READ), 'mapAsync');
      buffer.getMappedRange(0, 64);
      const overlapping = thrownBy(() => buffer.getMappedRange(56, 16));
      const same = thrownBy(() => buffer.getMappedRange(0, 64));
      const neighbour = thrownBy(() => buffer.getMappedRange(64, 64));
      buffer.unmap();
      return firstProblem(
        expectException('an overlapping range', overlapping, 'OperationError'),
        expectException('the same range', same, 'OperationError'),
        neighbour === null ? null : `the neighbouring range: ${neighbour.name}: ${neighbour.message}`,
      );
    },
  },
  {
    id: 'mapping/range-alignment',
    title: 'range offsets are multiples of 8, sizes of 4',
    spec: RANGE,
    promise: 'Pages of any multiple of 4 bytes are read out by one range from the start.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.readable(BYTES);
      await context.wait(buffer.mapAsync(MapMode.READ), 'mapAsync');
      const problems = [
        expectException(
          'offset 4',
          thrownBy(() => buffer.getMappedRange(4, 8)),
          'OperationError',
        ),
        expectException(
          'size 2',
          thrownBy(() => buffer.getMappedRange(0, 2)),
          'OperationError',
        ),
      ];
      const allowed = thrownBy(() => buffer.getMappedRange(8, 4));
      buffer.unmap();
      return firstProblem(...problems, allowed === null ? null : `offset 8, size 4: ${allowed.message}`);
    },
  },
  {
    id: 'mapping/map-alignment',
    title: 'mapAsync wants offsets in multiples of 8 and sizes of 4, within the buffer',
    spec: MAP,
    promise: 'A partial map of a staging buffer is rounded as the specification wants it.',
    run: async (context) => {
      const bench = new Workbench(context);
      const problems: (string | null)[] = [];
      const ranges = [
        [4, 8],
        [0, 6],
        [8, BYTES],
        [BYTES + 8, 0],
      ] as const;
      for (const [offset, size] of ranges) {
        const what = `mapAsync of ${size} bytes at ${offset}`;
        const buffer = bench.readable(BYTES);
        let map!: ReturnType<typeof mapping>;
        problems.push(
          await bench.refused(what, () => {
            map = mapping(bench, buffer, offset, size);
          }),
        );
        problems.push(expectException(what, await map, 'OperationError'));
      }
      const buffer = bench.readable(BYTES);
      const last = await mapping(bench, buffer, BYTES - 8, 4);
      if (last !== null) problems.push(`mapAsync of 4 bytes at ${BYTES - 8}: ${last.message}`);
      buffer.unmap();
      return firstProblem(...problems);
    },
  },
  {
    id: 'mapping/range-of-unmapped',
    title: 'a buffer that is not mapped gives no range',
    spec: RANGE,
    promise: STAGING,
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.readable(BYTES);
      const before = thrownBy(() => buffer.getMappedRange());
      const pending = mapping(bench, buffer);
      const during = thrownBy(() => buffer.getMappedRange());
      await pending;
      buffer.unmap();
      const after = thrownBy(() => buffer.getMappedRange());
      return firstProblem(
        expectException('before mapAsync', before, 'OperationError'),
        expectException('while pending', during, 'OperationError'),
        expectException('after unmap', after, 'OperationError'),
      );
    },
  },
  {
    id: 'mapping/kept-bytes',
    title: 'bytes copied out of a range keep when the buffer is mapped again',
    spec: RANGE,
    promise: 'The host tier keeps what the previous store left when the staging buffer goes on.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.readable(pattern(WORDS, 1));
      const kept = await bench.mapped(buffer);
      bench.device.queue.writeBuffer(buffer, 0, pattern(WORDS, 2));
      bench.device.queue.submit([]);
      const next = await bench.mapped(buffer);
      return firstProblem(
        difference(kept, pattern(WORDS, 1), 'first'),
        difference(next, pattern(WORDS, 2), 'second'),
      );
    },
  },
];

const CONTENTS: readonly ConformanceCase[] = [
  {
    id: 'mapping/map-to-write',
    title: 'bytes written through a map reach the device with unmap',
    spec: UNMAP,
    promise: 'Loads through mapped staging buffers arrive.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.buffer(pattern(WORDS, 1), BufferUsage.MAP_WRITE | BufferUsage.COPY_SRC);
      await context.wait(buffer.mapAsync(MapMode.WRITE), 'mapAsync');
      const range = new Uint32Array(buffer.getMappedRange());
      const kept = difference(range.slice(), pattern(WORDS, 1), 'mapped for writing');
      range.set(pattern(8, 2), 8);
      buffer.unmap();
      const expected = pattern(WORDS, 1);
      expected.set(pattern(8, 2), 8);
      return firstProblem(kept, difference(await bench.read(buffer), expected, 'on the device'));
    },
  },
  {
    id: 'mapping/changes-of-a-read-map',
    title: 'changes to a range that is mapped for reading are dropped',
    spec: webgpu('GPUMapMode.READ', 'dom-gpumapmode-read'),
    promise: 'None: the cache never writes into what it maps for reading.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.readable(pattern(WORDS, 1));
      await context.wait(buffer.mapAsync(MapMode.READ), 'mapAsync');
      new Uint32Array(buffer.getMappedRange()).fill(7);
      buffer.unmap();
      return verdict(difference(await bench.mapped(buffer), pattern(WORDS, 1)));
    },
  },
  {
    id: 'mapping/mapped-at-creation',
    title: 'any usage may be mapped at creation, and the rest of the buffer is zero',
    spec: CREATE,
    promise: 'Buffers can begin with contents without a staging buffer.',
    run: async (context) => {
      const bench = new Workbench(context);
      const usages = [
        BufferUsage.COPY_SRC,
        BufferUsage.STORAGE | BufferUsage.COPY_SRC,
        BufferUsage.MAP_WRITE | BufferUsage.COPY_SRC,
      ];
      const problems: (string | null)[] = [];
      for (const usage of usages) {
        const buffer = bench.device.createBuffer({ size: BYTES, usage, mappedAtCreation: true });
        const state = buffer.mapState === 'mapped' ? null : `mapState is ${buffer.mapState}`;
        new Uint32Array(buffer.getMappedRange(16, 32)).set(pattern(8));
        buffer.unmap();
        const expected = new Uint32Array(WORDS);
        expected.set(pattern(8), 4);
        problems.push(state, difference(await bench.read(buffer), expected, `usage ${usage}`));
      }
      return firstProblem(...problems);
    },
  },
  {
    id: 'mapping/mapped-at-creation-alignment',
    title: 'a buffer that is mapped at creation has a size in multiples of 4',
    spec: CREATE,
    promise: 'Page sizes in multiples of 4 bytes are what every way of filling takes.',
    run: ({ device }) => {
      const usage = BufferUsage.COPY_SRC;
      const thrown = thrownBy(() => device.createBuffer({ size: 18, usage, mappedAtCreation: true }));
      return Promise.resolve(verdict(expectException('size 18', thrown, 'RangeError')));
    },
  },
  {
    id: 'mapping/map-waits-for-work',
    title: 'a map shows what was submitted before it',
    spec: MAP,
    promise: 'An acknowledged store holds the bytes of its page.',
    run: async (context) => {
      const bench = new Workbench(context);
      const words = 1 << 20;
      const source = bench.plain(pattern(words, 1));
      const between = bench.plain(4 * words);
      const buffer = bench.readable(4 * words);
      bench.submit((encoder) => {
        for (let i = 0; i < 4; i += 1) {
          encoder.clearBuffer(between);
          encoder.copyBufferToBuffer(source, 0, between, 0, 4 * words);
        }
        encoder.copyBufferToBuffer(between, 0, buffer, 0, 4 * words);
      });
      const problem = difference(await bench.mapped(buffer), pattern(words, 1));
      for (const one of [source, between, buffer]) one.destroy();
      return verdict(problem);
    },
  },
  {
    id: 'mapping/map-without-submit-after-write',
    title: 'a map shows what was written to the buffer just before, without a submit between',
    spec: webgpu('GPUQueue.writeBuffer', 'dom-gpuqueue-writebuffer'),
    promise: 'None: the cache maps only what a submit has filled.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.readable(BYTES);
      bench.device.queue.writeBuffer(buffer, 0, pattern(WORDS, 3));
      return verdict(difference(await bench.mapped(buffer), pattern(WORDS, 3)));
    },
  },
  {
    id: 'mapping/map-without-submit-after-creation',
    title: 'a map shows what the buffer was created with, without a submit between',
    spec: CREATE,
    promise: 'None: the cache maps only what a submit has filled.',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.buffer(pattern(WORDS, 3), BufferUsage.MAP_READ | BufferUsage.COPY_DST);
      return verdict(difference(await bench.mapped(buffer), pattern(WORDS, 3)));
    },
  },
];

const SETTLING: readonly ConformanceCase[] = [
  {
    id: 'mapping/map-settles-before-work-done',
    title: 'mapAsync settles before an onSubmittedWorkDone that is called after it',
    spec: PROMISES,
    promise: 'None: pages are reused when their own transfer is acknowledged, whatever settles first.',
    run: async (context) => {
      const bench = new Workbench(context);
      const source = bench.plain(pattern(WORDS));
      for (let round = 0; round < 5; round += 1) {
        const buffer = bench.readable(BYTES);
        bench.submit((encoder) => encoder.copyBufferToBuffer(source, 0, buffer, 0, BYTES));
        const order: string[] = [];
        const map = buffer.mapAsync(MapMode.READ).then(() => order.push('map'));
        const done = bench.device.queue.onSubmittedWorkDone().then(() => order.push('work done'));
        await context.wait(Promise.all([map, done]), 'mapAsync and onSubmittedWorkDone');
        buffer.destroy();
        if (order[0] !== 'map') return failed(`round ${round}: ${order.join(' before ')}`);
      }
      return passed();
    },
  },
  {
    id: 'mapping/idle-map-settles-before-work-done',
    title: 'the same with an idle queue',
    spec: PROMISES,
    promise: 'None: pages are reused when their own transfer is acknowledged, whatever settles first.',
    run: async (context) => {
      const bench = new Workbench(context);
      const source = bench.plain(pattern(WORDS));
      const buffer = bench.readable(BYTES);
      bench.submit((encoder) => encoder.copyBufferToBuffer(source, 0, buffer, 0, BYTES));
      await context.wait(bench.device.queue.onSubmittedWorkDone(), 'onSubmittedWorkDone');
      const order: string[] = [];
      const map = buffer.mapAsync(MapMode.READ).then(() => order.push('map'));
      const done = bench.device.queue.onSubmittedWorkDone().then(() => order.push('work done'));
      await context.wait(Promise.all([map, done]), 'mapAsync and onSubmittedWorkDone');
      return order[0] === 'map' ? passed() : failed(order.join(' before '));
    },
  },
  {
    id: 'mapping/work-done-in-call-order',
    title: 'onSubmittedWorkDone settles in the order of its calls',
    spec: PROMISES,
    promise: 'A fence over submitted work passes in the order of the submits.',
    run: async (context) => {
      const bench = new Workbench(context);
      const { a, b } = { a: bench.plain(BYTES), b: bench.plain(BYTES) };
      const order: number[] = [];
      const waits: Promise<unknown>[] = [];
      for (let i = 0; i < 6; i += 1) {
        bench.submit((encoder) => encoder.copyBufferToBuffer(a, 0, b, 0, BYTES));
        waits.push(bench.device.queue.onSubmittedWorkDone().then(() => order.push(i)));
      }
      await context.wait(Promise.all(waits), 'onSubmittedWorkDone');
      return order.every((value, i) => value === i) ? passed() : failed(`settled as ${order.join(', ')}`);
    },
  },
  {
    id: 'mapping/two-maps',
    title: 'two buffers are mapped in the order of the calls',
    spec: PROMISES,
    promise: 'None: acknowledgements are admitted in the order of the plan, not of the promises.',
    eitherAllowed: 'maps of two buffers have no order between them',
    run: async (context) => {
      const bench = new Workbench(context);
      const buffers = [1, 2, 3, 4].map((seed) => bench.readable(pattern(WORDS, seed)));
      const order: number[] = [];
      const maps = buffers.map((buffer, i) => buffer.mapAsync(MapMode.READ).then(() => order.push(i)));
      await context.wait(Promise.all(maps), 'mapAsync');
      return order.every((value, i) => value === i) ? passed() : failed(`mapped as ${order.join(', ')}`);
    },
  },
];

export const MAPPING_CASES: readonly ConformanceCase[] = [
  ...STATES,
  ...ENDS,
  ...RANGES,
  ...CONTENTS,
  ...SETTLING,
];
