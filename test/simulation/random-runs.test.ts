import { describe, expect, it } from 'vitest';
import { randomRun, type RandomRun } from '../support/random-run.ts';

const SEEDS = Number(process.env.PAGEFENCE_SEEDS ?? 80);
const STEPS = 60;
const ZEROING = ['always', 'poison', 'auto'] as const;

/** Everything came home, and no byte was wrong on the way. */
async function expectSound({ world, wrongSlot }: RandomRun, seed: number): Promise<void> {
  const { engine, worker } = world;
  const { mismatches } = await worker.readWitness();
  expect(mismatches, `seed ${seed}: mismatches`).toBe(0);
  expect(wrongSlot, `seed ${seed}: wrong slot`).toBeNull();
  expect(engine.statistics().flushWaits, `seed ${seed}: flush waits`).toBe(0);
  expect(engine.cache.freePages, `seed ${seed}: free pages at the end`).toBe(engine.cache.pageCountMax);
  const { pinned, writing } = engine.connector.manager.counts;
  expect([pinned, writing], `seed ${seed}: pinned and unfinished slots`).toEqual([0, 0]);
  const { jobs, fence, cursors, drainingRequests } = engine.connector.snapshot();
  const left = [jobs.length, fence.size, cursors.size, drainingRequests];
  expect(left, `seed ${seed}: jobs, fenced pages, cursors, draining requests`).toEqual([0, 0, 0, 0]);
}

describe(`random lives, seeds 1 to ${SEEDS}, ${STEPS} steps and what they leave`, () => {
  it('read only what they wrote, store only what was computed, and bring everything home', async () => {
    const seen = { hostHits: 0, flushes: 0, failures: 0, preemptions: 0 };
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const run = await randomRun({
        seed,
        steps: STEPS,
        zeroing: ZEROING[seed % 3],
        failures: seed % 2 === 0 ? 0.15 : 0,
        outputTokensMax: seed % 5 === 0 ? 20 : 6,
      });
      await expectSound(run, seed);
      const statistics = run.world.engine.statistics();
      seen.hostHits += statistics.hitTokens.host;
      seen.flushes += statistics.flushes;
      seen.failures += statistics.storesFailed + statistics.loadsFailed;
      seen.preemptions += statistics.requests.preemptions;
    }
    // The lives went where the trouble is.
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0);
  });

  it('find the missing fence', async () => {
    const found = { bySlots: 0, byWitness: 0 };
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const { world, wrongSlot } = await randomRun({ seed, steps: STEPS, fence: 'off' });
      if (wrongSlot !== null) found.bySlots += 1;
      if ((await world.worker.readWitness()).mismatches > 0) found.byWitness += 1;
    }
    expect(found.bySlots, 'seeds with a wrong slot').toBeGreaterThan(0);
    expect(found.byWitness, 'seeds in which a request read one').toBeGreaterThan(0);
  });

  it('are the same each time', async () => {
    for (let seed = 1; seed <= Math.min(SEEDS, 20); seed += 1) {
      const [one, two] = [await randomRun({ seed, steps: STEPS }), await randomRun({ seed, steps: STEPS })];
      expect(two.log, `seed ${seed}`).toEqual(one.log);
    }
  });
});
