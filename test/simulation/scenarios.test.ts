/**
 * Faults that users of other engines have reported, as small scenarios on the whole engine with the simulated worker.
 * Pages of four tokens throughout. A large acknowledgement lag *holds* transfers; stepping on releases them.
 */
import { describe, expect, it } from 'vitest';
import type { EngineConfigInput } from '../../src/config.ts';
import { slotId } from '../../src/units.ts';
import { makeWorld, prompt, simulated, type World } from '../support/worlds.ts';

const PAGE_BYTES = 32;

interface Sizes {
  readonly usablePages: number;
  readonly slots?: number;
  readonly transfer?: EngineConfigInput['transfer'];
  readonly schedule?: EngineConfigInput['schedule'];
}

const config = ({ usablePages, slots = 16, transfer, schedule }: Sizes): EngineConfigInput => ({
  cache: { pages: usablePages + 1, pageBytes: PAGE_BYTES, tokensPerPage: 4 },
  offload: { slots },
  transfer,
  schedule,
});

async function runAlone(world: World, id: string, tokens: number[], maxOutputTokens = 1) {
  world.engine.add({ id, tokens, maxOutputTokens });
  const finished = await world.engine.drain();
  world.engine.checkIntegrity();
  return finished.find((request) => request.id === id)!;
}

async function expectClean(world: World): Promise<void> {
  const { engine, worker } = world;
  await engine.drain();
  engine.checkIntegrity();
  expect((await worker.readWitness()).mismatches, 'mismatches').toBe(0);
  expect(engine.cache.freePages, 'free pages').toBe(engine.cache.pageCountMax);
  expect(engine.connector.manager.counts.pinned, 'pinned slots').toBe(0);
}

describe('what is stored', () => {
  it('leaves out the slot of the last sampled token, which no forward pass wrote', async () => {
    const world = await makeWorld(config({ usablePages: 8 }), simulated(), { nextToken: () => 77 });
    await runAlone(world, 'first', [1, 2], 2); // tokens 1 2 77 77: three slots written
    expect(world.engine.statistics().pagesStored).toBe(0);
    const later = await runAlone(world, 'later', [1, 2, 77, 77, 5]);
    expect(later.hitTokens).toEqual({ device: 0, host: 0 });
    await expectClean(world);
  });

  it('includes the page that becomes full in the finishing step', async () => {
    const world = await makeWorld(config({ usablePages: 4 }), simulated(), { nextToken: () => 77 });
    await runAlone(world, 'first', [1, 2, 3], 2); // step 2 writes slot 3
    expect(world.engine.statistics().pagesStored).toBe(1);
    await runAlone(world, 'pushes it out', prompt(100, 16));
    const later = await runAlone(world, 'later', [1, 2, 3, 77, 5]);
    expect(later.hitTokens).toEqual({ device: 0, host: 4 });
    await expectClean(world);
  });

  it('includes every chunk of a prompt that was prefilled in pieces', async () => {
    const world = await makeWorld(config({ usablePages: 8, schedule: { maxTokensPerStep: 8 } }));
    await runAlone(world, 'long', prompt(0, 20));
    expect(world.engine.statistics().pagesStored).toBe(5);
    await expectClean(world);
  });

  it('is offered again after the tier refused it: no hole remains', async () => {
    // Three slots, all taken by stores that are not acknowledged when the next prompt offers its pages.
    const transfer = { acknowledgementLag: 3 };
    const world = await makeWorld(config({ usablePages: 12, slots: 3, transfer }));
    world.engine.add({ id: 'first', tokens: prompt(0, 12) });
    await world.engine.step();
    world.engine.add({ id: 'second', tokens: prompt(100, 12), maxOutputTokens: 4 });
    await world.engine.step();
    expect(world.engine.connector.metrics.allocationFailures).toBeGreaterThan(0);
    await world.engine.drain();
    await runAlone(world, 'pushes them out', prompt(500, 48));
    const again = await runAlone(world, 'again', [...prompt(100, 12), 1]);
    expect(again.hitTokens.host).toBe(12);
    await expectClean(world);
  });

  it('never includes pages whose load has not landed, nor those of a load that failed', async () => {
    for (const fails of [false, true]) {
      let loads = 0;
      const faults = { load: () => fails && (loads += 1) > 0 };
      const world = await makeWorld(
        config({ usablePages: 5, transfer: { acknowledgementLag: 5 } }),
        simulated(faults),
      );
      await runAlone(world, 'first', prompt(0, 8));
      await runAlone(world, 'pushes it out', prompt(100, 20));
      const stored = world.engine.statistics().pagesStored;
      world.engine.add({ id: 'again', tokens: [...prompt(0, 8), 1] });
      for (let i = 0; i < 4; i += 1) {
        const { plan } = await world.engine.step();
        expect(plan.stores).toEqual([]);
      }
      await world.engine.drain();
      expect(world.engine.statistics().pagesStored).toBe(stored);
      expect(world.engine.statistics().loadsFailed).toBe(fails ? 1 : 0);
      await expectClean(world);
    }
  });

  it('a page that the host had no slot for is gone from both tiers, never a host hit', async () => {
    const world = await makeWorld(config({ usablePages: 4, slots: 1, transfer: { acknowledgementLag: 4 } }));
    world.engine.add({ id: 'first', tokens: prompt(0, 4) });
    await world.engine.step();
    await runAlone(world, 'second', prompt(100, 12));
    await runAlone(world, 'pushes it out', prompt(200, 16));
    const again = await runAlone(world, 'again', [...prompt(100, 12), 1]);
    expect(again.hitTokens.host).toBe(0);
    await expectClean(world);
  });
});

describe('pages that somebody still reads or writes', () => {
  it('a failed load is computed anew, on pages that are zeroed first', async () => {
    const world = await makeWorld(config({ usablePages: 4 }), simulated({ load: () => true }));
    await runAlone(world, 'first', prompt(0, 8));
    await runAlone(world, 'pushes it out', prompt(100, 16));
    world.engine.add({ id: 'again', tokens: [...prompt(0, 8), 1] });
    const admitted = await world.engine.step();
    const destinations = admitted.plan.loads[0].pages;
    expect(admitted.plan.newPageIdsToZero).toEqual([]);
    let zeroed: readonly number[] = [];
    while (world.engine.hasWork) {
      const { plan } = await world.engine.step();
      if (plan.newPageIdsToZero.length > 0) zeroed = plan.newPageIdsToZero[0].pages;
    }
    expect(zeroed).toEqual(expect.arrayContaining([...destinations]));
    await expectClean(world);
  });

  it('an abort during a load keeps the pages until it reports, once, twice or twenty times', async () => {
    const world = await makeWorld(config({ usablePages: 4, transfer: { acknowledgementLag: 3 } }));
    await runAlone(world, 'first', prompt(0, 8));
    for (let round = 0; round < 20; round += 1) {
      await runAlone(world, `pushes it out ${round}`, prompt(1000 * (round + 1), 16));
      world.engine.add({ id: 'loads', tokens: [...prompt(0, 8), 1] });
      const { plan } = await world.engine.step();
      expect(plan.loads).toHaveLength(1);
      world.engine.abort('loads');
      world.engine.abort('loads');
      const { finished } = await world.engine.step();
      expect(finished).toEqual([]);
      expect(world.engine.cache.freePages).toBe(2);
      const rest = await world.engine.drain();
      expect(rest.map(({ id, reason }) => [id, reason])).toEqual([['loads', 'aborted']]);
      await expectClean(world);
    }
  });

  it('an abort while the acknowledgement is on its way is prompt', async () => {
    const world = await makeWorld(config({ usablePages: 4, transfer: { acknowledgementLag: 1 } }));
    await runAlone(world, 'first', prompt(0, 8));
    await runAlone(world, 'pushes it out', prompt(100, 16));
    world.engine.add({ id: 'loads', tokens: [...prompt(0, 8), 1] });
    await world.engine.step();
    await world.engine.step(); // the load reports in this step
    world.engine.abort('loads');
    const { finished } = await world.engine.step();
    expect(finished.map(({ id }) => id)).toEqual(['loads']);
    await expectClean(world);
  });

  it('preemption flushes the stores of its victim before others write', async () => {
    const transfer = { storeBytesPerStep: PAGE_BYTES, stagingBuffers: 1, stagingBytes: PAGE_BYTES };
    const world = await makeWorld(config({ usablePages: 5, slots: 32, transfer }));
    world.engine.add({ id: 'a', tokens: prompt(0, 8), maxOutputTokens: 6 });
    world.engine.add({ id: 'b', tokens: prompt(100, 8), maxOutputTokens: 6 });
    const flushed: number[] = [];
    while (world.engine.hasWork) flushed.push(...(await world.engine.step()).plan.jobsToFlush);
    expect(world.engine.statistics().requests.preemptions).toBeGreaterThan(0);
    expect(flushed.length).toBeGreaterThan(0);
    for (const [slot, start, index] of [
      [0, 0, 0],
      [1, 0, 1],
    ] as const) {
      expect(
        world.slot(slot).some((word) => word !== 0),
        `slot ${slot} of ${start}, page ${index}`,
      ).toBe(true);
    }
    await expectClean(world);
  });

  it('a resumed request stores its new pages, not those it lost', async () => {
    const world = await makeWorld(config({ usablePages: 5, slots: 64 }));
    world.engine.add({ id: 'a', tokens: prompt(0, 8), maxOutputTokens: 10 });
    world.engine.add({ id: 'b', tokens: prompt(100, 8), maxOutputTokens: 10 });
    const finished = await world.engine.drain();
    expect(world.engine.statistics().requests.preemptions).toBeGreaterThan(0);
    expect(finished.map(({ outputTokens }) => outputTokens)).toEqual([10, 10]);
    await runAlone(world, 'pushes them out', prompt(5000, 20));
    const again = await runAlone(world, 'again', [...prompt(100, 8), 1]);
    expect(again.hitTokens.host).toBe(8);
    await expectClean(world);
  });
});

describe('admission', () => {
  it('two loads that together need more than the pool both finish', async () => {
    const world = await makeWorld(config({ usablePages: 8, slots: 32 }));
    const [a, b] = [prompt(0, 23), prompt(100, 23)];
    await runAlone(world, 'a once', a.slice(0, 12));
    await runAlone(world, 'b once', b.slice(0, 12));
    await runAlone(world, 'pushes them out', prompt(500, 32));
    world.engine.add({ id: 'a', tokens: a });
    world.engine.add({ id: 'b', tokens: b });
    let steps = 0;
    while (world.engine.hasWork) {
      await world.engine.step();
      expect((steps += 1)).toBeLessThan(60);
    }
    expect(world.engine.statistics().hitTokens.host).toBe(24);
    await expectClean(world);
  });

  it('a host hit that is found is the host hit that is loaded, however full the tier is', async () => {
    const world = await makeWorld(config({ usablePages: 7, slots: 2, transfer: { acknowledgementLag: 1 } }));
    const a = prompt(0, 8);
    await runAlone(world, 'a once', a);
    await runAlone(world, 'pushes it out of the device', prompt(500, 28));
    const again = await runAlone(world, 'a', [...a, 1]);
    expect([0, 4, 8]).toContain(again.hitTokens.host);
    // Lookup, pin and load happen in one schedule pass: a store of another request cannot come between.
    await runAlone(world, 'a twice', a);
    world.engine.add({ id: 'a third', tokens: [...a, 1] });
    world.engine.add({ id: 'b', tokens: prompt(900, 8) });
    await expectClean(world);
  });

  it('lookups that load nothing leave no pins', async () => {
    const world = await makeWorld(config({ usablePages: 8, slots: 2 }));
    await runAlone(world, 'first', prompt(0, 8));
    for (let i = 0; i < 50; i += 1) {
      const again = await runAlone(world, `again ${i}`, [...prompt(0, 8), 1]);
      expect(again.hitTokens).toEqual({ device: 8, host: 0 });
      world.engine.add({ id: 'queued', tokens: [...prompt(0, 8), 2] });
      world.engine.abort('queued');
      await expectClean(world);
    }
    await runAlone(world, 'others', prompt(900, 8));
    await runAlone(world, 'push them out', prompt(2000, 32));
    const back = await runAlone(world, 'back', [...prompt(900, 8), 1]);
    expect(back.hitTokens.host + back.hitTokens.device).toBeLessThanOrEqual(8);
    await expectClean(world);
  });

  it('counts hits once a request, not once an attempt', async () => {
    const world = await makeWorld(config({ usablePages: 8, slots: 0 }));
    await runAlone(world, 'first', prompt(0, 8));
    // Holds so many pages for some steps that the next request has to try again and again.
    world.engine.add({ id: 'holds', tokens: prompt(500, 20), maxOutputTokens: 4 });
    await world.engine.step();
    world.engine.add({ id: 'tries', tokens: [...prompt(0, 8), ...prompt(900, 7)] });
    const finished = await world.engine.drain();
    const tries = finished.find(({ id }) => id === 'tries')!;
    expect(tries.hitTokens.device).toBe(8);
    expect(world.engine.statistics().hitTokens.device).toBe(8);
    await expectClean(world);
  });

  it('refuses what can never fit, with the numbers, and goes on', async () => {
    const world = await makeWorld(config({ usablePages: 3 }));
    expect(() => world.engine.add({ id: 'huge', tokens: prompt(0, 13) })).toThrow(
      /request huge can never fit: 13 prompt and 1 output tokens need 4 pages, the pool has 3/,
    );
    expect(() => world.engine.add({ id: 'talks', tokens: prompt(0, 4), maxOutputTokens: 10 })).toThrow(
      /need 4 pages/,
    );
    const fits = await runAlone(world, 'fits', prompt(0, 12));
    expect(fits.reason).toBe('length');
    await expectClean(world);
  });
});

describe('the end of work', () => {
  it('is not reached while an acknowledgement is to come, and a new request is served at once', async () => {
    const world = await makeWorld(config({ usablePages: 8, transfer: { acknowledgementLag: 6 } }));
    const { engine } = world;
    engine.add({ id: 'first', tokens: prompt(0, 4) });
    await engine.step();
    expect(engine.requestCount).toBe(0);
    expect(engine.hasWork).toBe(true);
    engine.add({ id: 'during the drain', tokens: prompt(50, 4) });
    const { finished } = await engine.step();
    expect(finished.map(({ id }) => id)).toEqual(['during the drain']);
    await engine.drain();
    expect(engine.hasWork).toBe(false);
    expect(engine.statistics().pagesStored).toBe(2);
    await expectClean(world);
  });

  it('a reset says no while a store is under way, and after a yes both tiers are empty', async () => {
    const world = await makeWorld(config({ usablePages: 8, transfer: { acknowledgementLag: 4 } }));
    const { engine } = world;
    engine.add({ id: 'first', tokens: prompt(0, 9) });
    await engine.step();
    expect(engine.resetPrefixCache()).toBe(false);
    await engine.drain();
    expect(engine.resetPrefixCache()).toBe(true);
    const again = await runAlone(world, 'again', prompt(0, 9));
    expect(again.hitTokens).toEqual({ device: 0, host: 0 });
    await expectClean(world);
  });

  describe.each([1, 2] as const)('a reset that waits, %d steps in flight', (stepsInFlight) => {
    const held = { acknowledgementLag: 4 };
    const sizes = { usablePages: 8, transfer: held, schedule: { stepsInFlight } };

    /** Steps until the reset has happened. */
    async function settle({ engine }: World, reset: Promise<void>): Promise<void> {
      let isOver = false;
      void reset.then(() => {
        isOver = true;
      });
      for (let steps = 0; !isOver; steps += 1) {
        expect(steps, 'steps').toBeLessThan(30);
        await engine.step();
        engine.checkIntegrity();
      }
    }

    it('a store in flight frees its slot and adds no key', async () => {
      const world = await makeWorld(config(sizes));
      const { engine } = world;
      engine.add({ id: 'first', tokens: prompt(0, 9) });
      await engine.step();
      await settle(world, engine.reset());
      expect(engine.connector.manager.counts).toMatchObject({ free: 16, writing: 0 });
      expect(engine.cache.freePages).toBe(8);
      expect((await runAlone(world, 'again', prompt(0, 9))).hitTokens).toEqual({ device: 0, host: 0 });
      await expectClean(world);
    });

    it('a load in flight fails, its request keeps the pages until then, and starts again', async () => {
      const world = await makeWorld(config(sizes));
      const { engine } = world;
      await runAlone(world, 'first', prompt(0, 9));
      await runAlone(world, 'pushes it out', prompt(500, 32));
      engine.add({ id: 'again', tokens: prompt(0, 9) });
      await engine.step();
      expect(engine.scheduler.queues.parked.size).toBe(1);
      const held = engine.cache.pageCountMax - engine.cache.freePages;
      const reset = engine.reset();
      await engine.step();
      expect(engine.cache.pageCountMax - engine.cache.freePages, 'pages of the load').toBe(held);
      await settle(world, reset);
      expect(engine.statistics().loadsFailed).toBe(0);
      const finished = await engine.drain();
      expect(finished.map(({ id, reason }) => [id, reason])).toEqual([['again', 'length']]);
      expect(engine.statistics().loads).toBe(0);
      await expectClean(world);
    });

    it('S30: running requests give way once each, and start again in their order', async () => {
      const world = await makeWorld(config({ ...sizes, usablePages: 12 }));
      const { engine } = world;
      for (const id of ['0', '1', '2'])
        engine.add({ id, tokens: prompt(100 * Number(id), 6), maxOutputTokens: 6 });
      await engine.step();
      expect(engine.resetPrefixCache()).toBe(false);
      const reset = engine.reset();
      const twice = engine.reset();
      await engine.step();
      expect(engine.scheduler.queues.waiting.map(({ id }) => id)).toEqual(['0', '1', '2']);
      await settle(world, reset);
      await twice;
      const finished = await engine.drain();
      expect(finished.map(({ id, preemptions, outputTokens }) => [id, preemptions, outputTokens])).toEqual([
        ['0', 1, 6],
        ['1', 1, 6],
        ['2', 1, 6],
      ]);
      await expectClean(world);
    });

    it('with nothing under way, it has happened at once', async () => {
      const world = await makeWorld(config(sizes));
      await runAlone(world, 'first', prompt(0, 9));
      await world.engine.reset();
      expect(world.engine.hasWork).toBe(false);
      expect((await runAlone(world, 'again', prompt(0, 9))).hitTokens).toEqual({ device: 0, host: 0 });
    });
  });

  it('D15: a request that ignores the cache finds and loads nothing, and its pages are stored', async () => {
    const world = await makeWorld(config({ usablePages: 8 }));
    const { engine } = world;
    await runAlone(world, 'first', prompt(0, 13));
    await runAlone(world, 'pushes it out', prompt(500, 32));
    engine.connector.manager.reset();
    const stored = engine.statistics().pagesStored;
    let lookups = 0;
    const lookup = engine.connector.matchedTokens.bind(engine.connector);
    engine.connector.matchedTokens = (request, tokens) => {
      lookups += 1;
      return lookup(request, tokens);
    };
    for (const id of ['alone', 'and with pages on the device']) {
      engine.add({ id, tokens: prompt(0, 13), ignoreCache: true });
      expect((await engine.drain())[0].hitTokens).toEqual({ device: 0, host: 0 });
    }
    expect([lookups, engine.statistics().loads]).toEqual([0, 0]);
    expect(engine.statistics().pagesStored - stored).toBe(3);
    expect((await runAlone(world, 'reads', prompt(0, 13))).hitTokens.device).toBe(12);
    await expectClean(world);
  });

  it('eviction takes the tail of a chain first', async () => {
    const world = await makeWorld(config({ usablePages: 4, slots: 0 }));
    await runAlone(world, 'first', prompt(0, 12));
    await runAlone(world, 'needs two pages', prompt(100, 8));
    const again = await runAlone(world, 'again', prompt(0, 13));
    expect(again.hitTokens.device).toBe(8);
    await expectClean(world);
  });

  it('a salt keeps tenants apart, on the device and in the host tier', async () => {
    const run = async (salt: string) => {
      const base = config({ usablePages: 4 });
      const world = await makeWorld({ ...base, cache: { ...base.cache, salt } });
      await runAlone(world, 'first', prompt(0, 8));
      return world.host.view(slotId(0)).slice();
    };
    expect(await run('one')).not.toEqual(await run('two'));
  });
});
