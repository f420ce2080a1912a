/** Several groups in one pool of one stride: bytes of one group's pages and no others, on the device and on its twin. */
import { describe, expect, it } from 'vitest';
import { cacheConfigSchema, engineConfigSchema, transferConfigSchema } from '../../src/config.ts';
import { resolveLayout } from '../../src/config/layout.ts';
import { WebGpuWorker } from '../../src/gpu/worker.ts';
import { HostMemory } from '../../src/host-memory.ts';
import { SimulatedWorker } from '../../src/reference/simulated-worker.ts';
import { freezePlan } from '../../src/schedule/step-log.ts';
import type { StepPlan } from '../../src/schedule/step-plan.ts';
import { drawScript } from '../../src/simulate/script.ts';
import { simulate } from '../../src/simulate/simulation.ts';
import { groupId, pageId, slotId } from '../../src/units.ts';
import { copied, zeroed } from '../support/one-group.ts';
import { expectBytes, withDevice } from './support/device.ts';
import { plan } from './support/pool.ts';

const STRIDE = 48;
const SMALL = 20;
const [A, B] = [groupId(0), groupId(1)];
const PAGES = 7;

/** Two groups of 48 and 20 bytes: the stride is 48. */
const cache = (zeroing: 'always' | 'poison') =>
  cacheConfigSchema.parse({
    pages: PAGES,
    zeroing,
    groups: [
      { kind: 'full-attention', tokensPerPage: 4, pageBytes: STRIDE },
      { kind: 'full-attention', tokensPerPage: 4, pageBytes: SMALL },
    ],
  });

interface Pool {
  readonly run: (parts: Partial<StepPlan>) => Promise<void>;
  /** The whole pool. */
  readonly bytes: () => Promise<Uint8Array>;
}

const WAYS = [
  { zero: 'kernel', copy: 'kernel' },
  { zero: 'clear', copy: 'bounce' },
] as const;

/** A pool full of 0xFF, in segments of two pages. */
async function withPool(
  setup: { strategies: (typeof WAYS)[number]; zeroing?: 'always' | 'poison' },
  body: (pool: Pool) => Promise<void>,
): Promise<void> {
  await withDevice(async (device) => {
    const worker = await WebGpuWorker.create({
      device,
      cache: cache(setup.zeroing ?? 'always'),
      transfer: transferConfigSchema.parse({ stagingBytes: STRIDE, overflowBytes: 0 }),
      host: null,
      witness: false,
      strategies: setup.strategies,
      segmentBytesMax: 2 * STRIDE,
    });
    for (let page = 0; page < PAGES; page += 1)
      worker.damagePage(pageId(page), 0, new Uint8Array(STRIDE).fill(0xff));
    let step = 0;
    await body({
      run: async (parts) => {
        await worker.execute(plan(step, parts));
        step += 1;
      },
      bytes: async () => {
        const all = new Uint8Array(PAGES * STRIDE);
        for (let page = 0; page < PAGES; page += 1)
          all.set(await worker.readPage(pageId(page)), page * STRIDE);
        return all;
      },
    });
    await worker.close();
  });
}

/** The pool of 0xFF with these bytes overwritten. */
function poolWith(...ranges: readonly [start: number, end: number, bytes?: Uint8Array][]): Uint8Array {
  const all = new Uint8Array(PAGES * STRIDE).fill(0xff);
  for (const [start, end, bytes] of ranges) all.set(bytes ?? new Uint8Array(end - start), start);
  return all;
}

describe.each(WAYS)('scenario 38, zeroing by $zero and copying by $copy', (strategies) => {
  it('clears the bytes of the group within the stride, and nothing else', async () => {
    await withPool({ strategies }, async ({ run, bytes }) => {
      await run({ newPageIdsToZero: zeroed([pageId(3)], B) });
      expectBytes(await bytes(), poolWith([144, 144 + SMALL]), 'group B');
      await run({ newPageIdsToZero: zeroed([pageId(3)], A) });
      expectBytes(await bytes(), poolWith([144, 192]), 'group A');
    });
  });

  it('clears the first and the last page, neighbours in part, and nothing for an empty list', async () => {
    await withPool({ strategies }, async ({ run, bytes }) => {
      await run({ newPageIdsToZero: [] });
      expectBytes(await bytes(), poolWith(), 'nothing');
      await run({ newPageIdsToZero: zeroed([1, 2, PAGES - 1].map(pageId), B) });
      const last = (PAGES - 1) * STRIDE;
      expectBytes(await bytes(), poolWith([48, 68], [96, 116], [last, last + SMALL]), 'three pages of B');
    });
  });

  it('copies the bytes of the group, within a segment and across', async () => {
    await withPool({ strategies }, async ({ run, bytes }) => {
      await run({ newPageIdsToZero: zeroed([pageId(2)], A) });
      const pairs = [
        { source: pageId(2), destination: pageId(3) },
        { source: pageId(2), destination: pageId(6) },
      ];
      await run({ copies: copied(pairs, B) });
      expectBytes(await bytes(), poolWith([96, 144], [144, 164], [288, 308]), 'copies');
    });
  });
});

it('poison keeps to the bytes of the group as well', async () => {
  await withPool({ strategies: WAYS[1], zeroing: 'poison' }, async ({ run, bytes }) => {
    await run({ newPageIdsToZero: zeroed([pageId(3)], B) });
    const found = await bytes();
    const nan = new Float32Array(found.buffer, 144, SMALL / 4);
    expect([...nan].every(Number.isNaN)).toBe(true);
    expectBytes(found, poolWith([144, 164, found.slice(144, 164)]), 'poisoned');
  });
});

/** Seeds whose layouts have several groups, rings and two ranks among them. */
const SEEDS = [3, 7, 9, 19, 23];

describe('the plans of a random life', () => {
  it.each(SEEDS)('seed %i: equal outcomes and equal bytes on the device and on the twin', async (seed) => {
    const script = drawScript({ seed, steps: 25 });
    const plans: StepPlan[] = [];
    await simulate(
      { ...script, failures: 0, arrivals: null },
      { onStep: (_, __, { plan: done }) => plans.push(freezePlan(done)) },
    );
    const { cache: config, transfer, offload } = engineConfigSchema.parse(script.config);
    const rank = resolveLayout(config).contextParallel - 1;
    const slots = offload.slots * offload.pagesPerSlot;
    await withDevice(async (device) => {
      const parts = { cache: config, transfer, witness: true, rank };
      const hosts = [0, 1].map(() =>
        slots > 0 ? new HostMemory({ slots, slotBytes: config.pageBytes }) : null,
      );
      const worker = await WebGpuWorker.create({
        device,
        ...parts,
        host: hosts[0],
        segmentBytesMax: 3 * config.pageBytes,
      });
      const twin = new SimulatedWorker({ ...parts, host: hosts[1] });
      for (const each of plans) {
        expect(await worker.execute(each), `step ${each.step}`).toEqual(await twin.execute(each));
      }
      for (let page = 0; page < config.pages; page += 1) {
        expectBytes(await worker.readPage(pageId(page)), await twin.readPage(pageId(page)), `page ${page}`);
      }
      for (let slot = 0; slot < slots; slot += 1) {
        expectBytes(hosts[0]!.view(slotId(slot)), hosts[1]!.view(slotId(slot)), `slot ${slot}`);
      }
      const [found, expected] = [await worker.readWitness(), await twin.readWitness()];
      expect([found.mismatches, found.checkedWords]).toEqual([0, expected.checkedWords]);
      await worker.close();
    });
  });
});
