/** What a reset forgets, and that every end is reported once, whatever else goes wrong in the same step. */
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
import { SimulatedWorker } from '../../src/reference/simulated-worker.ts';
import type { FinishedRequest } from '../../src/schedule/request.ts';
import { makeWorld, prompt, simulated, type MakeWorker, type World } from '../support/worlds.ts';

const STOP = 77;

const readyKeys = ({ engine }: World): number => [...engine.connector.manager.entries()].length;

const newWorker = ({ engine, host }: World): SimulatedWorker => {
  const { cache, transfer, witness } = engine.config;
  return new SimulatedWorker({ cache, transfer, witness, host });
};

/** Runs until nothing is left, one rejected step after another. */
async function finish({ engine }: World): Promise<FinishedRequest[]> {
  const finished: FinishedRequest[] = [];
  for (let steps = 0; engine.hasWork; steps += 1) {
    expect(steps, 'steps').toBeLessThan(100);
    await engine.step().then(
      (report) => finished.push(...report.finished),
      () => undefined,
    );
  }
  return finished;
}

describe('after a reset the host tier holds nothing from before', () => {
  it.each(['is aborted', 'stops on a token'] as const)(
    'where a request %s while its next step is in flight',
    async (how) => {
      const world = await makeWorld(
        {
          cache: { pages: 20, pageBytes: 32, tokensPerPage: 16 },
          offload: { slots: 16 },
          schedule: { stepsInFlight: 2 },
        },
        simulated(),
        { nextToken: ({ sequence }) => (sequence.length < 24 ? 1 : STOP) },
      );
      const { engine } = world;
      engine.add({ id: 'a', tokens: prompt(100, 18), maxOutputTokens: 40, stopTokens: [STOP] });
      const finished: FinishedRequest[] = [];
      while (finished.length === 0 && engine.steps < 6) finished.push(...(await engine.step()).finished);
      if (how === 'stops on a token')
        while (finished.length === 0) finished.push(...(await engine.step()).finished);
      else engine.abort('a');
      expect(engine.connector.snapshot().jobs, 'its first page is stored already').toEqual([]);
      expect(engine.stepsInFlight).toBe(1);
      const settled = engine.reset();
      finished.push(...(await finish(world)));
      await settled;
      expect(readyKeys(world)).toBe(0);
      expect(finished).toMatchObject([{ reason: how === 'is aborted' ? 'aborted' : 'stop' }]);
    },
  );

  it('where a parked request is aborted that has found pages on the device', async () => {
    const world = await makeWorld({
      cache: { pages: 6, pageBytes: 32, tokensPerPage: 4 },
      offload: { slots: 16 },
    });
    const { engine } = world;
    engine.add({ id: 'a', tokens: prompt(100, 13) });
    await engine.drain();
    engine.add({ id: 'takes the last pages', tokens: prompt(5000, 11) });
    await engine.drain();
    engine.add({ id: 'parked', tokens: prompt(100, 13) });
    await engine.step();
    const [parked] = engine.scheduler.queues.parked.values();
    expect(parked.hitTokens).toEqual({ device: 8, host: 4 });
    engine.abort('parked');
    const settled = engine.reset();
    await finish(world);
    await settled;
    expect(readyKeys(world)).toBe(0);
  });

  it('where the reset had not begun when the engine recovered', async () => {
    const world = await makeWorld({
      cache: { pages: 20, pageBytes: 32, tokensPerPage: 4 },
      offload: { slots: 16 },
      schedule: { stepsInFlight: 2 },
    });
    const { engine } = world;
    engine.add({ id: 'a', tokens: prompt(100, 40) });
    await engine.drain();
    engine.add({ id: 'b', tokens: prompt(100, 40), maxOutputTokens: 10 });
    await engine.step();
    const settled = engine.reset();
    await engine.recover([newWorker(world)]);
    await settled;
    expect(readyKeys(world)).toBe(0);
    expect(await finish(world)).toMatchObject([{ id: 'b', reason: 'length', outputTokens: 10 }]);
    engine.checkIntegrity();
  });
});

describe.each([1, 2] as const)('with %i in flight, an end is reported', (stepsInFlight) => {
  const input = {
    cache: { pages: 20, pageBytes: 32, tokensPerPage: 4 },
    schedule: { stepsInFlight },
  };

  it('though the step that it came with was the last one, and rejected', async () => {
    const world = await makeWorld(input, simulated(), { nextToken: () => -1 });
    world.engine.add({ id: 'bad', tokens: prompt(0, 5), maxOutputTokens: 5 });
    await expect(world.engine.step()).rejects.toThrow(ConfigError);
    expect(world.engine.hasWork).toBe(true);
    expect(await finish(world)).toMatchObject([{ id: 'bad', reason: 'aborted', outputTokens: 0 }]);
    expect(world.engine.hasWork).toBe(false);
  });

  it('though the step that was to report an abort broke down', async () => {
    let isBroken = false;
    const breaking: MakeWorker = async (parts) => {
      const worker = await simulated()(parts);
      const execute = worker.execute.bind(worker);
      worker.execute = (plan) => (isBroken ? Promise.reject(new Error('broken')) : execute(plan));
      return worker;
    };
    const world = await makeWorld(input, breaking);
    const { engine } = world;
    for (const id of ['a', 'b']) engine.add({ id, tokens: prompt(0, 5), maxOutputTokens: 8 });
    await engine.step();
    engine.abort('a');
    isBroken = true;
    const finished: FinishedRequest[] = [];
    const steps = async () => {
      for (;;) finished.push(...(await engine.step()).finished);
    };
    await expect(steps()).rejects.toThrow('broken');
    await engine.recover([newWorker(world)]);
    finished.push(...(await finish(world)));
    expect(finished.map(({ id, reason }) => `${id} ${reason}`)).toEqual(['a aborted', 'b length']);
  });

  it('though a later step of the same drain rejected', async () => {
    const world = await makeWorld(input, simulated(), {
      nextToken: ({ id, sequence }) => {
        if (id === 'bad' && sequence.length === 8) throw new Error('no token for bad');
        return 5;
      },
    });
    const { engine } = world;
    engine.add({ id: 'early', tokens: prompt(50, 5) });
    engine.add({ id: 'bad', tokens: prompt(0, 5), maxOutputTokens: 5 });
    await expect(engine.drain()).rejects.toThrow('no token for bad');
    const finished = await engine.drain();
    expect(finished.map(({ id, reason }) => `${id} ${reason}`)).toEqual(['early length', 'bad aborted']);
  });
});
