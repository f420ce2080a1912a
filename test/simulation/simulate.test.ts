/** Random lives over one to five groups: nothing may be found with all guards in place. */
import { describe, expect, it } from 'vitest';
import { runCampaign } from '../../src/simulate/campaign.ts';
import { drawScript } from '../../src/simulate/script.ts';
import { simulate } from '../../src/simulate/simulation.ts';

const SEEDS = Number(process.env.PAGEFENCE_SEEDS ?? 240);
/** Steps in which requests arrive; each life goes on until everything is over, three times as long on the average. */
const STEPS = Number(process.env.PAGEFENCE_STEPS ?? 60);
const PARTS = 4;

describe(`seeds 1 to ${SEEDS}, ${STEPS} steps and what they leave`, () => {
  // In parts, so that one that fails does not hide the others.
  it.each(Array.from({ length: PARTS }, (_, part) => part))('part %i finds nothing', async (part) => {
    const size = Math.ceil(SEEDS / PARTS);
    const firstSeed = part * size + 1;
    const lastSeed = Math.min(SEEDS, firstSeed + size - 1);
    const begin = performance.now();
    const { failures, seen, seeds, steps } = await runCampaign({ firstSeed, lastSeed, steps: STEPS });
    const rate = Math.round(steps / ((performance.now() - begin) / 1000));
    console.log(`seeds ${firstSeed} to ${lastSeed}: ${steps} steps, ${rate} a second`);
    expect(failures).toEqual([]);
    // The lives went where the trouble is.
    if (seeds >= 100)
      for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(seeds);
  });

  it('are the same each time', async () => {
    for (let seed = 1; seed <= 15; seed += 1) {
      const logs = await Promise.all(
        [0, 1].map(async () => {
          const log: string[] = [];
          await simulate(drawScript({ seed, steps: 30 }), {
            onStep: (step, _commands, { plan, outcome }) => {
              log.push(JSON.stringify([step, plan.newPageIdsToZero, plan.stores, plan.loads, outcome]));
            },
          });
          return log;
        }),
      );
      expect(logs[1], `seed ${seed}`).toEqual(logs[0]);
    }
  });
});
