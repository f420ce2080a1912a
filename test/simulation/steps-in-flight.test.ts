/**
 * Two steps in flight: step n + 1 is planned and dispatched before step n comes back. Pages of four tokens. The first call
 * of `step` dispatches steps 0 and 1 and brings 0 back; each later one dispatches one and brings one back.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EngineConfigInput } from '../../src/config.ts';
import type { StepReport } from '../../src/engine.ts';
import { SimulatedWorker } from '../../src/reference/simulated-worker.ts';
import type { FinishedRequest } from '../../src/schedule/request.ts';
import { LooseWorker } from '../../src/simulate/loose-worker.ts';
import { pageId, requestId } from '../../src/units.ts';
import { makeWorld, prompt, simulated, type MakeWorker, type World } from '../support/worlds.ts';

const STOP = 77;

interface Sizes {
  readonly usablePages: number;
  readonly slots?: number;
  readonly stepsInFlight?: 1 | 2;
  readonly schedule?: EngineConfigInput['schedule'];
}

const config = ({ usablePages, slots = 16, stepsInFlight = 2, schedule }: Sizes): EngineConfigInput => ({
  cache: { pages: usablePages + 1, pageBytes: 32, tokensPerPage: 4, zeroing: 'always' },
  offload: { slots },
  schedule: { ...schedule, stepsInFlight },
});

async function expectClean({ engine, worker }: World): Promise<void> {
  engine.checkIntegrity();
  expect((await worker.readWitness()).mismatches, 'mismatches').toBe(0);
  expect(engine.cache.freePages, 'free pages').toBe(engine.cache.pageCountMax);
  expect(engine.stepsInFlight).toBe(0);
}

const holds = ({ engine }: World, id: string): boolean => engine.cache.holds(requestId(id));

/** A worker whose loads come before what the step in flight still writes, if a plan lets them. */
function overtaking(isOverlapping: () => boolean): MakeWorker {
  return ({ config: { cache, transfer, witness }, host }) => {
    const worker = new SimulatedWorker({ cache, transfer, host, witness });
    return Promise.resolve(new LooseWorker(worker, 'loads overtake', isOverlapping));
  };
}

/** Two usable pages; the first page of `prompt(100, ...)` is in the host tier and nowhere else. */
async function worldWithHostPage(nextToken: () => number): Promise<World> {
  const world: World = await makeWorld(
    config({ usablePages: 2 }),
    overtaking(() => world.engine.stepsInFlight > 0),
    { nextToken },
  );
  for (const first of [100, 500]) {
    world.engine.add({ id: `fills ${first}`, tokens: prompt(first, 5) });
    await world.engine.drain();
  }
  return world;
}

describe('scenario 14: a request is over while its next step is in flight', () => {
  const ends = {
    'stops on a token': (world: World, report: StepReport): readonly FinishedRequest[] => {
      expect(world.engine.scheduler.queues.size).toBe(0);
      return report.finished;
    },
    'is aborted': (world: World): readonly FinishedRequest[] => {
      world.engine.abort('R1');
      return [];
    },
  };

  /** R1 writes page row 3 in the step in flight; R2 wants its page for a load. */
  async function run(how: keyof typeof ends, isGuarded: boolean) {
    const world = await worldWithHostPage(() => (how === 'is aborted' ? 1 : STOP));
    const { engine } = world;
    if (!isGuarded) {
      engine.scheduler.leave = (request) => {
        engine.scheduler.release(request);
      };
    }
    const finished: FinishedRequest[] = [];
    const steps: StepReport[] = [];
    const step = async () => {
      const report = await engine.step();
      steps.push(report);
      finished.push(...report.finished);
      return report;
    };
    engine.add({ id: 'R1', tokens: prompt(900, 3), maxOutputTokens: 5, stopTokens: [STOP] });
    ends[how](world, await step());
    expect(engine.stepsInFlight).toBe(1);
    engine.add({ id: 'R2', tokens: [...prompt(100, 4), 1] });
    await step();
    while (engine.hasWork) await step();
    const first = steps[0].plan.step;
    const load = steps.find(({ plan }) => plan.loads.length > 0)!;
    const pagesOf = (id: string) => {
      const { forward } = steps.find(({ plan }) => plan.forward.some((part) => part.requestId === id))!.plan;
      return forward[0].tables[0];
    };
    return { world, finished, pagesOf, loadStep: load.plan.step - first };
  }

  it.each(['stops on a token', 'is aborted'] as const)(
    'and %s: its page is given out when that step has come back, and there is one final output',
    async (how) => {
      const { world, finished, pagesOf, loadStep } = await run(how, true);
      expect(pagesOf('R2')).toContain(pagesOf('R1')[0]);
      // Step 2 is planned with step 1 in flight, step 3 when it has come back.
      expect(loadStep).toBe(3);
      expect(finished.filter(({ id }) => id === 'R1')).toMatchObject([
        { reason: how === 'is aborted' ? 'aborted' : 'stop', outputTokens: 1 },
      ]);
      expect(finished.find(({ id }) => id === 'R2')).toMatchObject({ hitTokens: { device: 0, host: 4 } });
      await expectClean(world);
    },
  );

  it.each(['stops on a token', 'is aborted'] as const)(
    'and %s: without the guard the late write lands on what was loaded',
    async (how) => {
      const { world, loadStep } = await run(how, false);
      expect(loadStep).toBe(2);
      expect((await world.worker.readWitness()).mismatches).toBeGreaterThan(0);
    },
  );

  it('and gives way: whoever it gives way to waits for that step, and it goes on with the token that it sampled', async () => {
    const world = await makeWorld(
      config({ usablePages: 2, slots: 0, schedule: { policy: 'priority' } }),
      simulated(),
      { nextToken: ({ sequence }) => sequence.length },
    );
    const { engine } = world;
    engine.add({ id: 'urgent', tokens: prompt(100, 3), maxOutputTokens: 4, priority: 0 });
    engine.add({ id: 'patient', tokens: prompt(200, 3), maxOutputTokens: 3, priority: 1 });
    await engine.step();
    const [, page] = [pageId(1), pageId(2)];
    const second = await engine.step(); // dispatches 2, in which the page is missing; brings 1 back
    expect(second.plan.forward.map(({ requestId: id }) => id)).toEqual(['urgent', 'patient']);
    expect(holds(world, 'patient'), 'given back with step 1').toBe(false);
    const third = await engine.step(); // brings 2 back, in which nobody could run
    expect(third.plan.forward).toEqual([]);
    const [patient] = engine.scheduler.queues.waiting;
    expect(patient).toMatchObject({ status: 'preempted', unseenTokens: 0 });
    expect(patient.sequence.length, 'both sampled tokens were delivered').toBe(5);
    const fourth = await engine.step();
    expect(fourth.plan.forward.map(({ requestId: id, tables }) => [id, tables[0].at(-1)])).toEqual([
      ['urgent', page],
    ]);
    const finished = await engine.drain();
    expect(finished.map(({ id, outputTokens }) => [id, outputTokens])).toEqual([
      ['urgent', 4],
      ['patient', 3],
    ]);
    await expectClean(world);
  });
});

describe('what a step in flight holds', () => {
  const nineTokens = { id: 'a', tokens: prompt(1, 9), maxOutputTokens: 4, stopTokens: [STOP] };

  it('S24: three pages, until the second step is processed', async () => {
    const world = await makeWorld(config({ usablePages: 19 }), simulated(), { nextToken: () => STOP });
    world.engine.add(nineTokens);
    expect((await world.engine.step()).finished).toMatchObject([{ reason: 'stop', outputTokens: 1 }]);
    expect(world.engine.cache.freePages).toBe(16);
    expect((await world.engine.step()).finished).toEqual([]);
    expect(world.engine.cache.freePages).toBe(19);
    await world.engine.drain();
    await expectClean(world);
  });

  it('S25: the same when it is aborted', async () => {
    const world = await makeWorld(config({ usablePages: 19 }));
    world.engine.add(nineTokens);
    const first = world.engine.step();
    world.engine.abort('a');
    await first;
    expect(world.engine.cache.freePages).toBe(16);
    expect((await world.engine.step()).finished).toMatchObject([{ id: 'a', reason: 'aborted' }]);
    expect(world.engine.cache.freePages).toBe(19);
    await world.engine.drain();
    await expectClean(world);
  });

  it('S26: a request whose last token is certain is not scheduled again, and ends with its only step', async () => {
    const world = await makeWorld(config({ usablePages: 19 }));
    world.engine.add({ id: 'long', tokens: prompt(50, 4), maxOutputTokens: 4 });
    world.engine.add({ id: 'short', tokens: prompt(1, 4), maxOutputTokens: 1 });
    const first = await world.engine.step();
    expect(first.finished.map(({ id }) => id)).toEqual(['short']);
    expect(holds(world, 'short')).toBe(false);
    const second = await world.engine.step();
    expect(second.plan.forward.map(({ requestId: id }) => id)).toEqual(['long']);
    await world.engine.drain();
    await expectClean(world);
  });

  it('S27: tokens of a preempted request are delivered, and it resumes with a hit of 4 and 5 tokens', async () => {
    // S1: five pages, two requests of 8 tokens; the second step of a needs a third page.
    const world = await makeWorld(config({ usablePages: 5, slots: 0 }));
    const { engine } = world;
    for (const id of ['a', 'b']) {
      engine.add({ id, tokens: prompt(id === 'a' ? 0 : 100, 8), maxOutputTokens: 6 });
    }
    const resumed: string[] = [];
    while (engine.hasWork) {
      const { plan } = await engine.step();
      for (const { requestId: id, start, end } of plan.forward) {
        if (id === 'b') resumed.push(`${start}-${end}`);
      }
      engine.checkIntegrity();
    }
    expect(resumed.slice(0, 2)).toEqual(['0-8', '4-9']);
    expect(engine.cache.statistics).toMatchObject({ readmittedHitTokens: 4 });
    await expectClean(world);
  });

  it('S34: tokens in flight over a prefill and a decode: 0, N, N + 1, 1, 0', async () => {
    const seen: number[] = [];
    const world: World = await makeWorld(config({ usablePages: 9 }), async (parts) => {
      const worker = await simulated()(parts);
      const execute = worker.execute.bind(worker);
      worker.execute = (plan) => {
        seen.push(world.engine.scheduler.queues.running[0]?.inFlightTokens ?? 0);
        return execute(plan);
      };
      return worker;
    });
    const { engine } = world;
    engine.add({ id: 'a', tokens: prompt(0, 10), maxOutputTokens: 2 });
    const [request] = engine.scheduler.queues.waiting;
    expect(request.inFlightTokens).toBe(0);
    await engine.step();
    expect([...seen, request.inFlightTokens]).toEqual([10, 11, 1]);
    await engine.step();
    expect(request.inFlightTokens).toBe(0);
    await engine.drain();
    await expectClean(world);
  });
});

describe('keys', () => {
  it('scenario 6: what an aborted request computes in flight is found when it is seen to be there', async () => {
    const world = await makeWorld(config({ usablePages: 9, slots: 0, schedule: { maxTokensPerStep: 8 } }));
    const { engine } = world;
    engine.add({ id: 'R1', tokens: prompt(0, 16) });
    await engine.step(); // the first 8 tokens are there, the next 8 in flight
    engine.abort('R1');
    engine.add({ id: 'R2', tokens: prompt(0, 17) });
    await engine.step();
    const [r2] = engine.scheduler.queues.running;
    expect(r2.hitTokens).toEqual({ device: 8, host: 0 });
    engine.abort('R2');
    engine.add({ id: 'R3', tokens: prompt(0, 17) });
    const finished = await engine.drain();
    expect(finished.find(({ id }) => id === 'R3')?.hitTokens.device).toBeGreaterThanOrEqual(8);
    await expectClean(world);
  });

  it('of pages with a token that is not seen yet are published when it is', async () => {
    const world = await makeWorld(config({ usablePages: 9, slots: 0 }), simulated(), { nextToken: () => 5 });
    const { engine } = world;
    engine.add({ id: 'a', tokens: prompt(0, 3), maxOutputTokens: 4 });
    await engine.step(); // step 1 writes row 3, of the token that step 0 has just brought
    const table = engine.cache.pageTable(requestId('a'));
    expect(engine.cache.keyOf(table[0])).not.toBeNull();
    await engine.drain();
    engine.add({ id: 'b', tokens: [...prompt(0, 3), 5, 6] });
    expect((await engine.drain())[0].hitTokens.device).toBe(4);
    await expectClean(world);
  });
});

describe('with two steps in flight', () => {
  it('the id of a request that is over is free at once', async () => {
    const world = await makeWorld(config({ usablePages: 4 }), simulated(), { nextToken: () => STOP });
    const { engine } = world;
    engine.add({ id: 'again', tokens: prompt(0, 5), maxOutputTokens: 3, stopTokens: [STOP] });
    await engine.step();
    engine.add({ id: 'again', tokens: prompt(100, 5), maxOutputTokens: 3, stopTokens: [STOP] });
    engine.abort('again');
    engine.checkIntegrity();
    expect(await engine.drain()).toMatchObject([{ id: 'again', reason: 'aborted', outputTokens: 0 }]);
    engine.add({ id: 'again', tokens: prompt(100, 5), maxOutputTokens: 3, stopTokens: [STOP] });
    expect(await engine.drain()).toMatchObject([{ reason: 'stop', outputTokens: 1 }]);
    await expectClean(world);
  });

  it('a request without a next token ends alone', async () => {
    const world = await makeWorld(config({ usablePages: 9 }), simulated(), {
      nextToken: ({ id, sequence }) => {
        if (id === 'bad' && sequence.length === 6) throw new Error('no token for bad');
        return 5;
      },
    });
    const { engine } = world;
    engine.add({ id: 'bad', tokens: prompt(0, 5), maxOutputTokens: 5 });
    engine.add({ id: 'good', tokens: prompt(50, 5), maxOutputTokens: 5 });
    await engine.step();
    await expect(engine.step()).rejects.toThrow('no token for bad');
    const finished = await engine.drain();
    expect(finished.map(({ id, reason, outputTokens }) => [id, reason, outputTokens])).toEqual([
      ['bad', 'aborted', 1],
      ['good', 'length', 5],
    ]);
    await expectClean(world);
  });

  it('a worker that breaks down is heard of once a step, and a new one goes on', async () => {
    let broken = false;
    const world = await makeWorld(config({ usablePages: 9 }), async (parts) => {
      const worker = await simulated()(parts);
      const execute = worker.execute.bind(worker);
      worker.execute = (plan) => (broken ? Promise.reject(new Error('broken')) : execute(plan));
      return worker;
    });
    const { engine, host } = world;
    for (const id of ['a', 'b'])
      engine.add({ id, tokens: prompt(id === 'a' ? 0 : 50, 6), maxOutputTokens: 5 });
    await engine.step();
    broken = true;
    await engine.step();
    await expect(engine.step()).rejects.toThrow('broken');
    const { cache, transfer, witness } = engine.config;
    await engine.recover([new SimulatedWorker({ cache, transfer, witness, host })]);
    engine.checkIntegrity();
    const finished = await engine.drain();
    expect(finished.map(({ outputTokens }) => outputTokens)).toEqual([5, 5]);
    await expectClean({ ...world, worker: engine.worker });
  });

  it('every request ends as with one, whatever the pool', async () => {
    const requests = fc.array(
      fc.record({
        start: fc.integer({ min: 0, max: 3 }),
        tokens: fc.integer({ min: 1, max: 14 }),
        maxOutputTokens: fc.integer({ min: 1, max: 8 }),
      }),
      { minLength: 1, maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(requests, fc.integer({ min: 6, max: 14 }), async (wanted, usablePages) => {
        const run = async (stepsInFlight: 1 | 2) => {
          const world = await makeWorld(
            config({ usablePages, slots: 6, stepsInFlight, schedule: { maxTokensPerStep: 6 } }),
            simulated(),
            {
              nextToken: ({ sequence }) =>
                (Math.imul(sequence.tokens().at(-1)! + 3, sequence.length) >>> 3) % 8,
            },
          );
          for (const [i, { start, tokens, maxOutputTokens }] of wanted.entries()) {
            const id = `r${i}`;
            world.engine.add({ id, tokens: prompt(100 * start, tokens), maxOutputTokens, stopTokens: [3] });
          }
          const finished = await world.engine.drain();
          await expectClean(world);
          const ends = finished.map(({ id, reason, outputTokens }) => `${id} ${reason} ${outputTokens}`);
          return ends.sort();
        };
        expect(await run(2)).toEqual(await run(1));
      }),
      { numRuns: 60 },
    );
  });
});
