/** Stores and loads on the device: every strategy, several segments, the byte-exact way there and back. */
import { describe, expect, it } from 'vitest';
import { cacheConfigSchema, transferConfigSchema, type TransferConfig } from '../../src/config.ts';
import { ConfigError, DeviceError, InvariantError } from '../../src/errors.ts';
import type { Strategies } from '../../src/gpu/strategies.ts';
import { WebGpuWorker, type WebGpuWorkerOptions } from '../../src/gpu/worker.ts';
import { HostMemory } from '../../src/host-memory.ts';
import type { Acknowledgement } from '../../src/schedule/step-plan.ts';
import { jobId, pageId, slotId } from '../../src/units.ts';
import { POISON_WORD } from '../../src/witness/pattern.ts';
import { expectBytes, withDevice } from './support/device.ts';
import { pattern, plan, shuffled } from './support/pool.ts';

const PAGE_WORDS = 12;
const PAGE_BYTES = 4 * PAGE_WORDS;
const PAGES = 40;

interface Setup {
  readonly transfer?: Partial<TransferConfig>;
  readonly options?: Partial<WebGpuWorkerOptions>;
  readonly zeroing?: 'always' | 'poison';
}

interface Rig {
  readonly worker: WebGpuWorker;
  readonly host: HostMemory;
}

/** A worker whose pages hold the pattern, in segments of 7 pages, over host segments of 5 slots. */
async function withWorker(setup: Setup, body: (rig: Rig, device: GPUDevice) => Promise<void>): Promise<void> {
  await withDevice(async (device) => {
    const host = new HostMemory({ slots: PAGES, slotBytes: PAGE_BYTES, segmentBytesMax: 5 * PAGE_BYTES });
    const worker = await WebGpuWorker.create({
      device,
      cache: cacheConfigSchema.parse({
        pages: PAGES,
        pageBytes: PAGE_BYTES,
        tokensPerPage: 4,
        zeroing: setup.zeroing ?? 'always',
      }),
      transfer: transferConfigSchema.parse({
        stagingBuffers: 3,
        stagingBytes: 6 * PAGE_BYTES,
        overflowBytes: 8 * PAGE_BYTES,
        acknowledgementLag: 1,
        ...setup.transfer,
      }),
      host,
      witness: false,
      segmentBytesMax: 7 * PAGE_BYTES,
      ...setup.options,
    });
    for (let page = 0; page < PAGES; page += 1) worker.damagePage(pageId(page), 0, bytesOf(page));
    try {
      await body({ worker, host }, device);
    } finally {
      await worker.close();
    }
    expect(worker.liveBytes).toBe(0);
  });
}

const ALL = pattern(PAGES * PAGE_WORDS);
/** The bytes that page (or slot) `page` holds at first. */
function bytesOf(page: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(ALL.buffer.slice(page * PAGE_BYTES, (page + 1) * PAGE_BYTES));
}
const ZEROS = new Uint8Array(PAGE_BYTES);

const store = (id: number, moves: readonly [page: number, slot: number][]) => ({
  id: jobId(id),
  pages: moves.map(([page]) => pageId(page)),
  slots: moves.map(([, slot]) => slotId(slot)),
});

/** Runs empty steps until everything is acknowledged. */
async function drain(worker: WebGpuWorker, step: number): Promise<Acknowledgement[]> {
  const acknowledgements: Acknowledgement[] = [];
  for (let next = step; worker.busy && next < step + 500; next += 1) {
    acknowledgements.push(...(await worker.execute(plan(next))).acknowledgements);
  }
  expect(worker.busy).toBe(false);
  return acknowledgements;
}

const STORES: Strategies['store'][] = ['copy', 'gather'];
const LOADS: Strategies['load'][] = ['write', 'pack', 'scatter'];
const LAGS: TransferConfig['acknowledgementLag'][] = [1, 3, 'as-they-come'];

describe('stores', () => {
  for (const strategy of STORES) {
    for (const acknowledgementLag of LAGS) {
      it(`by ${strategy}, lag ${acknowledgementLag}: scattered pages and neighbours reach their slots`, async () => {
        const setup = {
          transfer: { acknowledgementLag },
          options: { strategies: { store: strategy } },
        };
        await withWorker(setup, async ({ worker, host }) => {
          const slots = shuffled(PAGES);
          const moves = Array.from({ length: PAGES - 1 }, (_, i): [number, number] => [
            i + 1,
            // The second half keeps its neighbours.
            i < PAGES / 2 ? slots[i + 1] : i + 1,
          ]).filter(([, slot], i, all) => all.findIndex((move) => move[1] === slot) === i);
          await worker.execute(
            plan(1, { stores: [store(1, moves.slice(0, 15)), store(2, moves.slice(15))] }),
          );
          const acknowledgements = await drain(worker, 2);
          expect(acknowledgements).toEqual([
            { job: 1, ok: true },
            { job: 2, ok: true },
          ]);
          for (const [page, slot] of moves)
            expectBytes(host.view(slotId(slot)), bytesOf(page), `slot ${slot}`);
        });
      });
    }
  }

  it('goes through the overflow buffer when the ring is full, in the step that zeroes the page', async () => {
    for (const strategy of STORES) {
      const setup = {
        transfer: { stagingBuffers: 1, stagingBytes: 2 * PAGE_BYTES, acknowledgementLag: 3 },
        options: { strategies: { store: strategy } },
      };
      await withWorker(setup, async ({ worker, host }) => {
        const moves = [1, 2, 9, 10, 20].map((page, i): [number, number] => [page, i]);
        await worker.execute(plan(1, { stores: [store(7, moves)] }));
        const newPageIdsToZero = moves.map(([page]) => pageId(page));
        const outcome = await worker.execute(plan(2, { jobsToFlush: [jobId(7)], newPageIdsToZero }));
        expect(outcome).toEqual({
          step: 2,
          released: [7],
          flushed: [7],
          overflowedPages: 3,
          acknowledgements: [],
        });
        await drain(worker, 3);
        for (const [page, slot] of moves) {
          expectBytes(host.view(slotId(slot)), bytesOf(page), `slot ${slot}`);
          expectBytes(await worker.readPage(pageId(page)), ZEROS, `page ${page}`);
        }
      });
    }
  });

  it('fails a flushed store that finds no room, and leaves its slots alone', async () => {
    const transfer = { stagingBuffers: 1, stagingBytes: PAGE_BYTES, overflowBytes: PAGE_BYTES };
    await withWorker({ transfer }, async ({ worker, host }) => {
      const moves: [number, number][] = [
        [1, 0],
        [2, 1],
        [3, 2],
      ];
      await worker.execute(plan(1, { stores: [store(5, moves)] }));
      const { acknowledgements, released } = await worker.execute(plan(2, { jobsToFlush: [jobId(5)] }));
      expect(released).toEqual([]);
      expect(acknowledgements).toHaveLength(1);
      expect(acknowledgements[0]).toMatchObject({ job: 5, ok: false });
      await drain(worker, 3);
      for (let slot = 0; slot < 3; slot += 1) expectBytes(host.view(slotId(slot)), ZEROS, `slot ${slot}`);
    });
  });

  it('fails one store whose buffer does not map, and the ring lives on with a fresh buffer', async () => {
    await withDevice(async (device) => {
      const createBuffer = device.createBuffer.bind(device);
      let sabotage = true;
      device.createBuffer = (descriptor) => {
        const buffer = createBuffer(descriptor);
        if (sabotage && descriptor.label === 'staging buffer 0') {
          sabotage = false;
          buffer.mapAsync = () => Promise.reject(new Error('made to fail'));
        }
        return buffer;
      };
      const host = new HostMemory({ slots: 4, slotBytes: PAGE_BYTES });
      const worker = await WebGpuWorker.create({
        device,
        cache: cacheConfigSchema.parse({ pages: 4, pageBytes: PAGE_BYTES, tokensPerPage: 4 }),
        transfer: transferConfigSchema.parse({
          stagingBuffers: 1,
          stagingBytes: PAGE_BYTES,
          acknowledgementLag: 1,
        }),
        host,
        witness: false,
      });
      worker.damagePage(pageId(1), 0, bytesOf(1));
      const before = worker.liveBytes;
      await worker.execute(plan(1, { stores: [store(1, [[1, 0]]), store(2, [[1, 1]])] }));
      const acknowledgements = await drain(worker, 2);
      expect(acknowledgements[0]).toMatchObject({ job: 1, ok: false, error: 'made to fail' });
      expect(acknowledgements[1]).toEqual({ job: 2, ok: true });
      expectBytes(host.view(slotId(0)), ZEROS, 'slot 0');
      expectBytes(host.view(slotId(1)), bytesOf(1), 'slot 1');
      expect(worker.liveBytes).toBe(before);
      await worker.close();
    }, {});
  });
});

describe('loads', () => {
  for (const load of LOADS) {
    it(`by ${load}: scattered slots and neighbours reach their pages`, async () => {
      for (const directWritesMax of [0, 3]) {
        await withWorker({ options: { strategies: { load, directWritesMax } } }, async ({ worker, host }) => {
          for (let slot = 0; slot < PAGES; slot += 1) host.view(slotId(slot)).set(bytesOf(PAGES - 1 - slot));
          const pages = shuffled(PAGES - 1).map((page) => page + 1);
          const scattered = store(
            1,
            pages.slice(0, 20).map((page, i) => [page, i]),
          );
          const neighbours = store(
            2,
            pages
              .slice(20)
              .sort((a, b) => a - b)
              .map((page, i) => [page, 20 + i]),
          );
          await worker.execute(plan(1, { loads: [scattered, neighbours] }));
          expect(await drain(worker, 2)).toEqual([
            { job: 1, ok: true },
            { job: 2, ok: true },
          ]);
          for (const { pages, slots } of [scattered, neighbours]) {
            for (let i = 0; i < pages.length; i += 1) {
              expectBytes(await worker.readPage(pages[i]), bytesOf(PAGES - 1 - slots[i]), `page ${pages[i]}`);
            }
          }
          expectBytes(await worker.readPage(pageId(0)), bytesOf(0), 'null page');
        });
      }
    });

    it(`by ${load}: a load lands behind the zeroing and the copies of its step and of earlier ones`, async () => {
      for (const zero of ['kernel', 'clear'] as const) {
        await withWorker(
          { options: { strategies: { load, zero, directWritesMax: 0 } } },
          async ({ worker, host }) => {
            host.view(slotId(3)).set(bytesOf(30));
            host.view(slotId(5)).set(bytesOf(31));
            const loads = (id: number, moves: [number, number][]) => ({ loads: [store(id, moves)] });
            void worker.execute(plan(1, { newPageIdsToZero: [pageId(2)] }));
            void worker.execute(plan(2, loads(1, [[2, 3]])));
            await worker.execute(
              plan(3, {
                newPageIdsToZero: [pageId(4), pageId(6)],
                copies: [{ source: pageId(7), destination: pageId(4) }],
                ...loads(2, [
                  [4, 5],
                  [6, 3],
                ]),
              }),
            );
            expectBytes(await worker.readPage(pageId(2)), bytesOf(30), 'page 2');
            expectBytes(await worker.readPage(pageId(4)), bytesOf(31), 'page 4');
            expectBytes(await worker.readPage(pageId(6)), bytesOf(30), 'page 6');
          },
        );
      }
    });
  }

  it('are acknowledged at the lag', async () => {
    await withWorker({ transfer: { acknowledgementLag: 2 } }, async ({ worker }) => {
      const seen = [await worker.execute(plan(1, { loads: [store(9, [[1, 0]])] }))];
      expect(worker.busy).toBe(true);
      for (const step of [2, 3]) seen.push(await worker.execute(plan(step)));
      expect(seen.map(({ acknowledgements }) => acknowledgements)).toEqual([[], [], [{ job: 9, ok: true }]]);
    });
  });
});

describe('a page that leaves and comes back', () => {
  it('holds the same bytes, with every pair of strategies', async () => {
    for (const storeBy of STORES) {
      for (const load of LOADS) {
        const strategies = { store: storeBy, load, directWritesMax: 0 };
        await withWorker({ options: { strategies } }, async ({ worker }) => {
          expect(worker.strategies).toMatchObject(strategies);
          const moves = shuffled(PAGES - 1).map((page, i): [number, number] => [page + 1, i]);
          const pages = moves.map(([page]) => pageId(page));
          await worker.execute(plan(1, { stores: [store(1, moves)] }));
          await drain(worker, 2);
          await worker.execute(plan(600, { newPageIdsToZero: pages }));
          expectBytes(await worker.readPage(pageId(1)), ZEROS, 'page 1');
          await worker.execute(plan(601, { loads: [store(2, moves)] }));
          for (const page of pages) expectBytes(await worker.readPage(page), bytesOf(page), `page ${page}`);
          await drain(worker, 602);
        });
      }
    }
  });

  it('reads as poison in between, where zeroing is poison', async () => {
    for (const zero of ['kernel', 'clear'] as const) {
      await withWorker({ zeroing: 'poison', options: { strategies: { zero } } }, async ({ worker }) => {
        await worker.execute(plan(1, { newPageIdsToZero: [pageId(1), pageId(PAGES - 1)] }));
        for (const page of [1, PAGES - 1]) {
          const words = new Uint32Array((await worker.readPage(pageId(page))).buffer);
          expectBytes(words, new Uint32Array(PAGE_WORDS).fill(POISON_WORD), `page ${page}`);
        }
        expectBytes(await worker.readPage(pageId(2)), bytesOf(2), 'page 2');
      });
    }
  });
});

describe('reading and damaging pages', () => {
  it('a page that was read keeps its bytes while others are read and written', async () => {
    await withWorker({}, async ({ worker }) => {
      const first = await worker.readPage(pageId(3));
      worker.damagePage(pageId(3), 4, Uint8Array.of(1, 2, 3, 4));
      const [second, third] = await Promise.all([worker.readPage(pageId(3)), worker.readPage(pageId(39))]);
      expectBytes(first, bytesOf(3), 'first');
      const damaged = bytesOf(3);
      damaged.set([1, 2, 3, 4], 4);
      expectBytes(second, damaged, 'second');
      expectBytes(third, bytesOf(39), 'third');
    });
  });

  it('takes whole words inside the page, and says so', async () => {
    await withWorker({}, ({ worker }) => {
      const damage = (page: number, offset: number, length: number) => () => {
        worker.damagePage(pageId(page), offset, new Uint8Array(length));
      };
      expect(damage(1, 2, 4)).toThrow(/not whole words.*multiples of 4/);
      expect(damage(1, 0, 3)).toThrow(ConfigError);
      expect(damage(1, PAGE_BYTES - 4, 8)).toThrow(/leave page 1 of 48 bytes/);
      expect(damage(PAGES, 0, 4)).toThrow(/page 40 is not one of the pool's 40 pages/);
      return Promise.resolve();
    });
  });

  it('tells where a page is, across segments', async () => {
    await withWorker({}, async ({ worker }) => {
      const buffers = new Set([0, 6, 7, 39].map((page) => worker.locate(pageId(page)).buffer));
      expect(buffers.size).toBe(3);
      expect(worker.locate(pageId(6)).offset).toBe(6 * PAGE_BYTES);
      expect(worker.locate(pageId(7)).offset).toBe(0);
      return Promise.resolve();
    });
  });
});

describe('what a worker refuses', () => {
  it('plans that touch the null page, pages that are not there, or each other', async () => {
    await withWorker({}, async ({ worker, host }) => {
      const copy = (source: number, destination: number) => ({
        source: pageId(source),
        destination: pageId(destination),
      });
      const bad: [Parameters<typeof plan>[1], RegExp][] = [
        [{ newPageIdsToZero: [pageId(0)] }, /page 0 in newPageIdsToZero is the null page/],
        [{ newPageIdsToZero: [pageId(PAGES)] }, /page 40 .*not one of pages 1 to 39/],
        [{ copies: [copy(1, 2), copy(2, 3)] }, /page 2 is source and destination/],
        [{ copies: [copy(1, 2), copy(3, 2)] }, /page 2 is the destination of two copies/],
        [{ copies: [copy(0, 2)] }, /null page/],
        [{ loads: [store(1, [[0, 1]])] }, /null page/],
        [{ loads: [store(1, [[1, 1]]), store(2, [[1, 2]])] }, /page 1 is loaded twice/],
        [{ stores: [store(1, [[1, PAGES]])] }, /slot 40 .*not one of the host memory's 40 slots/],
      ];
      for (const [parts, message] of bad) {
        const attempt = worker.execute(
          plan(1, { ...parts, newPageIdsToZero: parts?.newPageIdsToZero ?? [pageId(5)] }),
        );
        await expect(attempt).rejects.toThrow(message);
        await expect(attempt).rejects.toBeInstanceOf(InvariantError);
      }
      // Nothing of a refused plan was done.
      expectBytes(await worker.readPage(pageId(5)), bytesOf(5), 'page 5');
      expectBytes(await worker.readPage(pageId(0)), bytesOf(0), 'null page');
      expectBytes(host.view(slotId(1)), ZEROS, 'slot 1');
      expect(worker.busy).toBe(false);
    });
  });

  it('slots of another size than its pages', async () => {
    await withDevice(async (device) => {
      const attempt = WebGpuWorker.create({
        device,
        cache: cacheConfigSchema.parse({ pages: 4, pageBytes: 64, tokensPerPage: 4 }),
        transfer: transferConfigSchema.parse({}),
        host: new HostMemory({ slots: 4, slotBytes: 32 }),
        witness: false,
      });
      await expect(attempt).rejects.toThrow(/slots of 32 bytes cannot hold pages of 64 bytes/);
    });
  });

  it('work after close', async () => {
    await withDevice(async (device) => {
      const worker = await WebGpuWorker.create({
        device,
        cache: cacheConfigSchema.parse({ pages: 4, pageBytes: 64, tokensPerPage: 4 }),
        transfer: transferConfigSchema.parse({}),
        host: null,
        witness: true,
      });
      await Promise.all([worker.close(), worker.close()]);
      await worker.close();
      await expect(worker.execute(plan(1))).rejects.toThrow(DeviceError);
      await expect(worker.readPage(pageId(1))).rejects.toThrow(/closed/);
      await expect(worker.readWitness()).rejects.toThrow(/closed/);
    });
  });
});
