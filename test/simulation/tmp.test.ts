import { it } from 'vitest';
import { drawScript } from '../../src/simulate/script.ts';
import { simulate } from '../../src/simulate/simulation.ts';
it('sim', async () => {
  const seen: Record<string, number> = {};
  const from = Number(process.env.FROM ?? 1),
    to = Number(process.env.TO ?? 200);
  let steps = 0,
    fails = 0;
  const t = Date.now();
  for (let seed = from; seed <= to; seed++) {
    const script = drawScript({
      seed,
      steps: Number(process.env.STEPS ?? 80),
      fence: (process.env.FENCE as never) ?? 'complete',
    });
    try {
      const r = await simulate(script);
      steps += r.steps;
      for (const [k, v] of Object.entries(r.seen)) seen[k] = (seen[k] ?? 0) + v;
      if (r.failure) {
        fails++;
        if (fails < 25)
          console.log(
            JSON.stringify(r.failure),
            JSON.stringify(script.config.cache.groups?.map((g) => g.kind)),
            script.config.cache.contextParallel,
          );
      }
    } catch (e) {
      fails++;
      if (fails < 12)
        console.log(
          seed,
          (e as Error).stack?.split('\n').slice(0, 6).join('\n'),
          JSON.stringify(script.config.cache),
        );
    }
  }
  console.log({ fails, steps, ms: Date.now() - t }, seen);
}, 600000);
