/** Loads on the device: every strategy, several segments, the order beside zeroing and copies, and the way back. */
import { describe, expect, it } from 'vitest';
import type { Strategies } from '../../src/gpu/strategies.ts';
import { pageId, slotId } from '../../src/units.ts';
import { POISON_WORD } from '../../src/witness/pattern.ts';
import { expectBytes } from './support/device.ts';
import { plan, shuffled } from './support/pool.ts';
import {
  bytesOf,
  drain,
  PAGE_BYTES,
  PAGE_WORDS,
  PAGES,
  store,
  withWorker,
  ZEROS,
} from './support/small-worker.ts';
import { copied, zeroed } from '../support/one-group.ts';

const STORES: Strategies['store'][] = ['copy', 'gather'];
const LOADS: Strategies['load'][] = ['write', 'pack', 'scatter', 'ring'];

describe('loads', () => {
  for (const load of LOADS) {
    it(`by ${load}: scattered slots and neighbours reach their pages`, async () => {
      for (const [directWritesMax, directBytesMax, writeBytesMax] of [
        [0, 2 ** 20, 2 ** 20],
        [3, 2 ** 20, 2 ** 20],
        [100, PAGES * PAGE_BYTES, 3 * PAGE_BYTES],
        [100, 2 ** 20, 1],
        [100, PAGE_BYTES, 2 ** 20],
      ]) {
        const strategies = { load, directWritesMax, directBytesMax, writeBytesMax };
        await withWorker({ options: { strategies } }, async ({ worker, host }) => {
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
            void worker.execute(plan(1, { newPageIdsToZero: zeroed([pageId(2)]) }));
            void worker.execute(plan(2, loads(1, [[2, 3]])));
            await worker.execute(
              plan(3, {
                newPageIdsToZero: zeroed([pageId(4), pageId(6)]),
                copies: copied([{ source: pageId(7), destination: pageId(4) }]),
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

  it('of many bytes are written directly only while the device has no other work', async () => {
    const strategies = {
      load: 'ring',
      zero: 'clear',
      directWritesMax: 16,
      directBytesMax: PAGE_BYTES,
    } as const;
    await withWorker({ options: { strategies } }, async ({ worker, host }, device) => {
      for (const slot of [0, 1]) host.view(slotId(slot)).set(bytesOf(30 + slot));
      let writes = 0;
      const write = device.queue.writeBuffer.bind(device.queue);
      device.queue.writeBuffer = (...given) => {
        writes += 1;
        write(...given);
      };
      const two: [number, number][] = [
        [1, 0],
        [2, 1],
      ];
      const cases = [
        { step: 1, parts: { loads: [store(1, two)] }, direct: true },
        { step: 3, parts: { loads: [store(2, two)], newPageIdsToZero: zeroed([pageId(9)]) }, direct: false },
        {
          step: 5,
          parts: { loads: [store(3, [[1, 0]])], newPageIdsToZero: zeroed([pageId(9)]) },
          direct: true,
        },
      ];
      for (const { step, parts, direct } of cases) {
        writes = 0;
        await worker.execute(plan(step, parts));
        expect(writes, `step ${step}`).toBe(direct ? 1 : 0);
        await worker.execute(plan(step + 1));
        await device.queue.onSubmittedWorkDone();
      }
      expectBytes(await worker.readPage(pageId(1)), bytesOf(30), 'page 1');
      expectBytes(await worker.readPage(pageId(2)), bytesOf(31), 'page 2');
    });
  });

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
          await worker.execute(plan(600, { newPageIdsToZero: zeroed(pages) }));
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
        await worker.execute(plan(1, { newPageIdsToZero: zeroed([pageId(1), pageId(PAGES - 1)]) }));
        for (const page of [1, PAGES - 1]) {
          const words = new Uint32Array((await worker.readPage(pageId(page))).buffer);
          expectBytes(words, new Uint32Array(PAGE_WORDS).fill(POISON_WORD), `page ${page}`);
        }
        expectBytes(await worker.readPage(pageId(2)), bytesOf(2), 'page 2');
      });
    }
  });
});
