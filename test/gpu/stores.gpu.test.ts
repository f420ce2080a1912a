/** Stores on the device: every strategy, several segments, and what becomes of those that cannot be. */
import { describe, expect, it } from 'vitest';
import { cacheConfigSchema, transferConfigSchema, type TransferConfig } from '../../src/config.ts';
import type { Strategies } from '../../src/gpu/strategies.ts';
import { WebGpuWorker } from '../../src/gpu/worker.ts';
import { HostMemory } from '../../src/host-memory.ts';
import { jobId, pageId, slotId } from '../../src/units.ts';
import { expectBytes, withDevice } from './support/device.ts';
import { plan, shuffled } from './support/pool.ts';
import { bytesOf, drain, PAGE_BYTES, PAGES, store, withWorker, ZEROS } from './support/small-worker.ts';
import { zeroed } from '../support/one-group.ts';

const STORES: Strategies['store'][] = ['copy', 'gather'];
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
        const newPageIdsToZero = zeroed(moves.map(([page]) => pageId(page)));
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
