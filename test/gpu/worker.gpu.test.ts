/** What a step plan means, on both workers: the order of its parts, and what is refused. */
import { describe, expect, it } from 'vitest';
import { cacheConfigSchema, transferConfigSchema, type TransferConfig } from '../../src/config.ts';
import { WebGpuWorker } from '../../src/gpu/worker.ts';
import { HostMemory } from '../../src/host-memory.ts';
import { SimulatedWorker } from '../../src/reference/simulated-worker.ts';
import type { StepPlan, Worker } from '../../src/schedule/step-plan.ts';
import { jobId, pageId, slotId } from '../../src/units.ts';
import { expectBytes, withDevice } from './support/device.ts';
import { copied, zeroed } from '../support/one-group.ts';

const PAGE_BYTES = 16;
const PAGES = 12;
const EMPTY = { stores: [], jobsToFlush: [], newPageIdsToZero: [], copies: [], loads: [], forward: [] };

interface Bench {
  readonly worker: Worker;
  readonly host: HostMemory;
}

type Strategy = 'copy' | 'gather';

async function both(
  transfer: Partial<TransferConfig>,
  body: (bench: Bench) => Promise<void>,
  store: Strategy = 'copy',
): Promise<void> {
  const options = () => ({
    cache: cacheConfigSchema.parse({ pages: PAGES, pageBytes: PAGE_BYTES, tokensPerPage: 4 }),
    transfer: transferConfigSchema.parse({ stagingBytes: 4 * PAGE_BYTES, ...transfer }),
    host: new HostMemory({ slots: 8, slotBytes: PAGE_BYTES }),
    witness: false,
  });
  await withDevice(async (device) => {
    const onDevice = options();
    const simulated = options();
    const workers: Bench[] = [
      {
        worker: await WebGpuWorker.create({ device, strategies: { store }, ...onDevice }),
        host: onDevice.host,
      },
      { worker: new SimulatedWorker(simulated), host: simulated.host },
    ];
    for (const bench of workers) {
      for (let page = 0; page < PAGES; page += 1) {
        bench.worker.damagePage(pageId(page), 0, new Uint8Array(PAGE_BYTES).fill(page));
      }
      await body(bench);
      await bench.worker.close();
    }
  });
}

const filled = (value: number) => new Uint8Array(PAGE_BYTES).fill(value);

const plan = (step: number, parts: Partial<StepPlan>): StepPlan => ({ step, ...EMPTY, ...parts });

const store = (id: number, ...pages: number[]) => ({
  id: jobId(id),
  pages: pages.map(pageId),
  slots: pages.map((_, i) => slotId(i)),
});

describe('a step', () => {
  it('zeroes before it copies', async () => {
    await both({}, async ({ worker }) => {
      const copies = copied([{ source: pageId(1), destination: pageId(2) }]);
      await worker.execute(plan(0, { newPageIdsToZero: zeroed([pageId(2), pageId(3)]), copies }));
      expectBytes(await worker.readPage(pageId(2)), filled(1), 'copied');
      expectBytes(await worker.readPage(pageId(3)), filled(0), 'zeroed');
    });
  });

  it('copies before it loads, and loads what it was told to zero', async () => {
    await both({}, async ({ worker, host }) => {
      host.view(slotId(5)).fill(99);
      const copies = copied([{ source: pageId(4), destination: pageId(5) }]);
      const loads = [{ id: jobId(0), slots: [slotId(5)], pages: [pageId(4)] }];
      await worker.execute(plan(0, { newPageIdsToZero: zeroed([pageId(4)]), copies, loads }));
      expectBytes(await worker.readPage(pageId(5)), filled(0), 'copied before the load');
      expectBytes(await worker.readPage(pageId(4)), filled(99), 'loaded after the zeroing');
    });
  });

  it('overlapping the one before it is acknowledged after it', async () => {
    await both({ acknowledgementLag: 1 }, async ({ worker }) => {
      await worker.execute(plan(0, { stores: [store(0, 1)] }));
      await worker.execute(plan(1, { stores: [store(1, 2)] }));
      const outcomes = await Promise.all([
        worker.execute(plan(2, { stores: [store(2, 3)] })),
        worker.execute(plan(3, {})),
        worker.execute(plan(4, {})),
      ]);
      const jobs = outcomes.map(({ acknowledgements }) => acknowledgements.map(({ job }) => job));
      expect(jobs).toEqual([[0], [1], [2]]);
    });
  });
});

describe('one staging buffer', () => {
  const transfer = {
    stagingBuffers: 1,
    stagingBytes: 4 * PAGE_BYTES,
    storeBytesPerStep: PAGE_BYTES,
    acknowledgementLag: 1,
  };

  it.each(['copy', 'gather'] as const)(
    'takes pages from the overflow buffer and from the pool, by %s',
    async (way) => {
      const body = async ({ worker, host }: Bench) => {
        await worker.execute(
          plan(0, { stores: [store(0, 1), { ...store(1, 9, 3, 6), slots: [4, 5, 6].map(slotId) }] }),
        );
        // The buffer goes to page 1 alone, the flushed job goes into the overflow buffer.
        const { overflowedPages } = await worker.execute(
          plan(1, { jobsToFlush: [jobId(1)], newPageIdsToZero: zeroed([9, 3, 6].map(pageId)) }),
        );
        expect([0, 3]).toContain(overflowedPages);
        for (let step = 2; worker.busy; step += 1) await worker.execute(plan(step, {}));
        expectBytes(host.view(slotId(0)), filled(1), 'slot 0');
        [9, 3, 6].forEach((page, i) => expectBytes(host.view(slotId(4 + i)), filled(page), `slot ${4 + i}`));
      };
      await both(transfer, body, way);
      await both({ ...transfer, stagingBytes: PAGE_BYTES }, body, way);
    },
  );

  it.each(['copy', 'gather'] as const)('keeps spilled and fresh pages apart, by %s', async (way) => {
    await both(
      {
        ...transfer,
        stagingBytes: 4 * PAGE_BYTES,
        storeBytesPerStep: 64 * PAGE_BYTES,
        acknowledgementLag: 2,
      },
      async ({ worker, host }) => {
        // Step 1 fills the ring; step 2 spills pages 7 and 2; step 3 puts them and two fresh pages into one buffer.
        await worker.execute(plan(0, { stores: [{ ...store(0, 1), slots: [slotId(7)] }] }));
        await worker.execute(plan(1, { stores: [{ ...store(1, 7, 2), slots: [0, 1].map(slotId) }] }));
        await worker.execute(
          plan(2, {
            jobsToFlush: [jobId(1)],
            newPageIdsToZero: zeroed([7, 2].map(pageId)),
            stores: [{ ...store(2, 10, 5), slots: [2, 3].map(slotId) }],
          }),
        );
        for (let step = 3; worker.busy; step += 1) await worker.execute(plan(step, {}));
        [7, 2, 10, 5].forEach((page, i) => expectBytes(host.view(slotId(i)), filled(page), `slot ${i}`));
        expectBytes(host.view(slotId(7)), filled(1), 'slot 7');
      },
      way,
    );
  });
});

describe('a plan that cannot be', () => {
  it.each([
    [
      'zeroes the null page',
      { newPageIdsToZero: zeroed([pageId(0)]) },
      /page 0 in newPageIdsToZero is the null page/,
    ],
    [
      'zeroes a page beyond the pool',
      { newPageIdsToZero: zeroed([pageId(PAGES)]) },
      /page 12 .* pages 1 to 11/,
    ],
    ['stores to a slot that is not there', { stores: [{ ...store(0, 1), slots: [slotId(99)] }] }, /slot 99/],
    [
      'copies twice onto one page',
      { copies: copied([1, 2].map((source) => ({ source: pageId(source), destination: pageId(3) }))) },
      /page 3 is the destination of two copies/,
    ],
  ])('because it %s is refused by both workers, and nothing is done', async (_, parts, message) => {
    await both({}, async ({ worker }) => {
      await expect(worker.execute(plan(0, parts))).rejects.toThrow(message);
      expectBytes(await worker.readPage(pageId(3)), filled(3), 'page 3');
      expect(worker.busy).toBe(false);
    });
  });
});
