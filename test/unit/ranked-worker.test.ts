/** Several ranks as one worker: a transfer is over when each of them has said so. */
import { expect, it } from 'vitest';
import { engineConfigSchema } from '../../src/config.ts';
import { Engine } from '../../src/engine.ts';
import { HostMemory } from '../../src/host-memory.ts';
import { SimulatedWorker } from '../../src/reference/simulated-worker.ts';
import { HostShadow } from '../../src/simulate/shadow.ts';
import { jobId } from '../../src/units.ts';
import { prompt } from '../support/worlds.ts';

it('a rank that acknowledges twice does not stand for one that is late', async () => {
  const config = engineConfigSchema.parse({
    cache: { pages: 16, contextParallel: 2, tokensPerPage: 2, pageBytes: 16 },
    offload: { slots: 8 },
  });
  const ranks = [0, 1].map((rank) => {
    const host = new HostMemory({ slots: 8, slotBytes: config.cache.pageBytes });
    const admits = (_kind: string, _job: number, step: number) => rank === 0 || step > 6;
    const { cache, transfer, witness } = config;
    return { host, worker: new SimulatedWorker({ cache, transfer, witness, host, rank, admits }) };
  });
  const [{ worker }] = ranks;
  const execute = worker.execute.bind(worker);
  worker.execute = async (plan) => {
    const outcome = await execute(plan);
    const { acknowledgements } = outcome;
    const unknown = { job: jobId(9999), ok: true };
    return { ...outcome, acknowledgements: [...acknowledgements, ...acknowledgements, unknown] };
  };
  const engine = new Engine({ config, ...ranks[0], otherRanks: ranks.slice(1) });
  const shadow = new HostShadow(engine);
  engine.add({ id: 'a', tokens: prompt(0, 9) });
  while (engine.hasWork) {
    shadow.learn();
    await engine.step();
    engine.checkIntegrity();
    expect(shadow.findWrongSlot(), `step ${engine.steps}`).toBeNull();
  }
  expect(engine.connector.metrics).toMatchObject({ storesCompleted: 1, pagesStored: 2 });
});
