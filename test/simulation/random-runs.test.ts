import { describe, expect, it } from 'vitest';
import { randomRun } from '../support/random-run.ts';

const SEEDS = Number(process.env.PAGEFENCE_SEEDS ?? 150);
const STEPS = 60;

describe(`random runs, seeds 1 to ${SEEDS}, ${STEPS} steps each`, () => {
  it('read only what they wrote, break no rule, and bring every page home', async () => {
    let hits = 0;
    let flushes = 0;
    let failed = 0;
    let preemptions = 0;
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const zeroing = seed % 3 === 0 ? 'poison' : 'always';
      const { world } = await randomRun({ seed, steps: STEPS, zeroing, failures: seed % 2 === 0 ? 0.1 : 0 });
      const { engine, worker } = world;
      const witness = await worker.readWitness();
      expect(witness.mismatches, `seed ${seed}: mismatches`).toBe(0);
      expect(engine.cache.freePages, `seed ${seed}: free pages at the end`).toBe(engine.cache.pageCountMax);
      expect(engine.statistics().flushWaits, `seed ${seed}: flush waits`).toBe(0);
      hits += engine.statistics().hitTokens.host;
      flushes += engine.statistics().flushes;
      failed += engine.statistics().storesFailed + engine.statistics().loadsFailed;
      preemptions += engine.statistics().requests.preemptions;
    }
    // The runs went where the trouble is.
    expect(Math.min(hits, flushes, failed, preemptions)).toBeGreaterThan(0);
  });

  it('find the missing fence', async () => {
    const found: number[] = [];
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const { world } = await randomRun({ seed, steps: STEPS, fence: 'off' });
      if ((await world.worker.readWitness()).mismatches > 0) found.push(seed);
    }
    expect(found.length, 'seeds that show it').toBeGreaterThan(0);
  });
});
