/** The worker's other doors: reading and damaging pages, finding them, and what it refuses. */
import { describe, expect, it } from 'vitest';
import { cacheConfigSchema, transferConfigSchema } from '../../src/config.ts';
import { ConfigError, DeviceError, InvariantError } from '../../src/errors.ts';
import { WebGpuWorker } from '../../src/gpu/worker.ts';
import { HostMemory } from '../../src/host-memory.ts';
import { pageId, slotId } from '../../src/units.ts';
import { expectBytes, withDevice } from './support/device.ts';
import { plan } from './support/pool.ts';
import { bytesOf, PAGE_BYTES, PAGES, store, withWorker, ZEROS } from './support/small-worker.ts';

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
