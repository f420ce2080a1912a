/** Forks of running requests through the engine: pages of four tokens, each request samples by its own name. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EngineConfigInput } from '../../src/config.ts';
import { ConfigError } from '../../src/errors.ts';
import type { Request } from '../../src/schedule/request.ts';
import { LooseWorker } from '../../src/simulate/loose-worker.ts';
import { requestId } from '../../src/units.ts';
import { makeWorld, prompt, simulated, type World } from '../support/worlds.ts';

const GROUPS = {
  attention: [{ kind: 'full-attention', tokensPerPage: 4, pageBytes: 32 }],
  mixed: [
    { kind: 'full-attention', tokensPerPage: 4, pageBytes: 32 },
    { kind: 'sliding-window', tokensPerPage: 4, pageBytes: 32, windowTokens: 6 },
    { kind: 'recurrent', tokensPerPage: 4, pageBytes: 16 },
    { kind: 'ring', capacityTokens: 4, pageBytes: 16, after: 'history' },
  ],
} as const;

interface Sizes {
  readonly groups?: keyof typeof GROUPS;
  readonly usablePages?: number;
  readonly slots?: number;
  readonly stepsInFlight?: 1 | 2;
  readonly schedule?: EngineConfigInput['schedule'];
  readonly offload?: Omit<NonNullable<EngineConfigInput['offload']>, 'slots'>;
}

const config = (sizes: Sizes): EngineConfigInput => {
  const { groups = 'attention', usablePages = 40, slots = 16, stepsInFlight = 1, schedule, offload } = sizes;
  return {
    cache: { pages: usablePages + 1, groups: [...GROUPS[groups]], zeroing: 'always' },
    offload: { ...offload, slots },
    schedule: { ...schedule, stepsInFlight },
  };
};

/** Depends on the first letter of the name, and on every token before: what one request alone would sample. */
function tokenOf(family: string, tokens: Uint32Array): number {
  let hash = family.charCodeAt(0);
  for (const token of tokens) hash = Math.imul(hash ^ token, 0x01000193) >>> 0;
  return (hash >>> 8) % 1000;
}

/** What a request named so samples behind these tokens, alone and with nothing cached. */
function alone(id: string, tokens: readonly number[], count: number): number[] {
  const all = [...tokens];
  for (let i = 0; i < count; i += 1) all.push(tokenOf(id, Uint32Array.from(all)));
  return all;
}

/** Engine, and the tokens of every request as they were last seen. */
async function start(sizes: Sizes, nextToken = ownToken, isLoose = false) {
  const tokens = new Map<string, number[]>();
  const world = await makeWorld(
    config(sizes),
    async (parts) => {
      const worker = await simulated()(parts);
      return isLoose ? new LooseWorker(worker, 'no copies', () => false) : worker;
    },
    {
      nextToken: (request) => {
        const token = nextToken(request, world.engine);
        tokens.set(request.id, [...request.sequence.tokens(), token]);
        return token;
      },
    },
  );
  return { ...world, tokens };
}

function ownToken({ id, sequence }: Request, _engine: World['engine']): number {
  return tokenOf(id, sequence.tokens());
}

async function expectClean({ engine, worker }: World): Promise<void> {
  engine.checkIntegrity();
  expect((await worker.readWitness()).mismatches, 'mismatches').toBe(0);
  expect(engine.cache.freePages, 'free pages').toBe(engine.cache.pageCountMax);
}

const table = ({ engine }: World, id: string) => [...engine.cache.pageTable(requestId(id))];

describe('engine.fork', () => {
  it('shares the full page, and copies the half-full one before either writes', async () => {
    const world = await start({ slots: 0 });
    const { engine, tokens } = world;
    engine.add({ id: 'a', tokens: prompt(0, 6), maxOutputTokens: 6 });
    await engine.step();
    expect(engine.fork('a', { id: 'b', maxOutputTokens: 3 })).toBe(6);
    engine.checkIntegrity();
    expect([table(world, 'a'), table(world, 'b')]).toEqual([
      [1, 2],
      [1, 3],
    ]);
    const { plan } = await engine.step();
    expect(plan.copies).toEqual([{ group: 0, source: 2, destination: 3 }]);
    expect(plan.forward.map(({ requestId: id, start, end }) => [id, start, end])).toEqual([
      ['a', 6, 7],
      ['b', 6, 7],
    ]);
    const finished = await engine.drain();
    expect(finished.find(({ id }) => id === 'b')).toMatchObject({
      promptTokens: 7,
      outputTokens: 3,
      hitTokens: { device: 6, host: 0 },
    });
    const begun = alone('a', prompt(0, 6), 1);
    expect(tokens.get('a')).toEqual(alone('a', prompt(0, 6), 6));
    expect(tokens.get('b')).toEqual(alone('b', begun, 3));
    await expectClean(world);
  });

  it('takes no prompt over but the parent’s: of what that had generated, nothing is stored', async () => {
    const stored = async (storePromptsOnly: boolean) => {
      const { engine } = await start({ offload: { storePromptsOnly } });
      engine.add({ id: 'a', tokens: prompt(0, 8), maxOutputTokens: 9 });
      for (let step = 0; step < 5; step += 1) await engine.step();
      // 12 tokens seen: three full pages, of which two are prompt. The fork of less than the prompt has its own.
      engine.fork('a', { id: 'b', maxOutputTokens: 6 });
      engine.fork('a', { id: 'c', parentTokens: 6, tokens: [7, 7], maxOutputTokens: 5 });
      await engine.drain();
      const { slots, free } = engine.connector.manager.counts;
      return slots - free;
    };
    expect(await stored(true)).toBe(3);
    expect(await stored(false)).toBeGreaterThan(5);
  });

  it('without the copy the bytes differ', async () => {
    const { engine, worker } = await start({ slots: 0 }, ownToken, true);
    engine.add({ id: 'a', tokens: prompt(0, 6), maxOutputTokens: 6 });
    await engine.step();
    engine.fork('a', { id: 'b', maxOutputTokens: 3 });
    await engine.drain();
    expect((await worker.readWitness()).mismatches).toBeGreaterThan(0);
  });

  it.each([1, 2] as const)(
    'from nextToken: n samples of one prompt, %i steps in flight',
    async (stepsInFlight) => {
      const asked: string[] = [];
      const world = await start({ groups: 'mixed', stepsInFlight }, (request, engine) => {
        const { id, sequence, sampledFrom } = request;
        if (id === 'a' && sequence.length === 10) {
          for (const child of ['b', 'c'])
            expect(engine.fork('a', { id: child, maxOutputTokens: 5 })).toBe(10);
        }
        if (sequence.length === 10) asked.push(`${id} of ${sampledFrom}`);
        return ownToken(request, engine);
      });
      const { engine, tokens } = world;
      engine.add({ id: 'a', tokens: prompt(0, 10), maxOutputTokens: 5 });
      await engine.drain();
      expect(asked).toEqual(['a of a', 'b of a', 'c of a']);
      for (const id of ['a', 'b', 'c']) expect(tokens.get(id), id).toEqual(alone(id, prompt(0, 10), 5));
      expect(engine.statistics().computedTokens).toBe(10 + 3 * 4);
      await expectClean(world);
    },
  );

  it.each(['attention', 'mixed'] as const)(
    'with two steps in flight takes its own token: %s',
    async (groups) => {
      const world = await start({ groups, stepsInFlight: 2 });
      const { engine, tokens } = world;
      engine.add({ id: 'a', tokens: prompt(0, 6), maxOutputTokens: 6 });
      while (engine.scheduler.queues.running[0]?.sequence.length !== 7) await engine.step();
      // Token 6 is sampled, and its row is being computed.
      expect(engine.fork('a', { id: 'b', maxOutputTokens: 4 })).toBe(7);
      expect(engine.fork('b', { id: 'c', maxOutputTokens: 2 })).toBe(7);
      engine.checkIntegrity();
      await engine.drain();
      const begun = alone('a', prompt(0, 6), 1);
      expect(tokens.get('b')).toEqual(alone('b', begun, 4));
      expect(tokens.get('c')).toEqual(alone('c', begun, 2));
      await expectClean(world);
    },
  );

  it('while a step runs shares what it has sampled, and ends with the others stop rules', async () => {
    const world = await start({ stepsInFlight: 2 }, () => 7);
    const { engine } = world;
    engine.add({ id: 'a', tokens: prompt(0, 6), maxOutputTokens: 9 });
    await engine.step();
    const running = engine.step();
    await Promise.resolve();
    engine.fork('a', { id: 'b', maxOutputTokens: 9, stopTokens: [7] });
    await running;
    const finished = await engine.drain();
    expect(finished.find(({ id }) => id === 'a')).toMatchObject({ reason: 'length', outputTokens: 9 });
    await expectClean(world);
  });

  it('a beam takes a token of its own in place of the last one; a state that is gone is computed anew', async () => {
    for (const groups of ['attention', 'mixed'] as const) {
      const world = await start({ groups });
      const { engine, tokens } = world;
      engine.add({ id: 'a', tokens: prompt(0, 6), maxOutputTokens: 6 });
      while (engine.scheduler.queues.running[0]?.sequence.length !== 7) await engine.step();
      expect(engine.fork('a', { id: 'b', parentTokens: 6, tokens: [555], maxOutputTokens: 3 })).toBe(6);
      // Shorter than what is computed: rows are there, the running state and the ring have moved on.
      const shared = engine.fork('a', { id: 'c', parentTokens: 3, tokens: [9], maxOutputTokens: 2 });
      expect(shared).toBe(groups === 'attention' ? 3 : 0);
      await engine.drain();
      expect(tokens.get('b')).toEqual(alone('b', [...prompt(0, 6), 555], 3));
      expect(tokens.get('c')).toEqual(alone('c', [...prompt(0, 3), 9], 2));
      await expectClean(world);
    }
  });

  it('of a request that waits, was preempted or has no room beside it is queued', async () => {
    const world = await start({ usablePages: 4, slots: 0, schedule: { maxRunning: 1 } });
    const { engine, tokens } = world;
    engine.add({ id: 'a', tokens: prompt(0, 6), maxOutputTokens: 4 });
    engine.add({ id: 'w', tokens: prompt(90, 6), maxOutputTokens: 2 });
    expect(engine.fork('w', { id: 'x', maxOutputTokens: 2 })).toBe(0);
    await engine.step();
    expect(engine.fork('a', { id: 'b', maxOutputTokens: 2 })).toBe(0);
    engine.scheduler.preemptAll();
    expect(engine.fork('a', { id: 'c', maxOutputTokens: 2 })).toBe(0);
    await engine.drain();
    const begun = alone('a', prompt(0, 6), 1);
    for (const id of ['b', 'c']) expect(tokens.get(id)).toEqual(alone(id, begun, 2));
    expect(tokens.get('x')).toEqual(alone('x', prompt(90, 6), 2));
    await expectClean(world);
  });

  it('of a request whose load is in flight is queued', async () => {
    const world = await start({ usablePages: 8 });
    const { engine, tokens } = world;
    engine.add({ id: 'k', tokens: prompt(0, 8) });
    await engine.drain();
    engine.cache.resetPrefixCache();
    engine.add({ id: 'a', tokens: prompt(0, 10), maxOutputTokens: 2 });
    await engine.step();
    expect(engine.scheduler.queues.parked.size).toBe(1);
    expect(engine.fork('a', { id: 'b', maxOutputTokens: 2 })).toBe(0);
    await engine.drain();
    expect(tokens.get('b')).toEqual(alone('b', prompt(0, 10), 2));
    await expectClean(world);
  });

  it('is refused by name for a parent that is over, a name that is taken, and amounts that make no sense', async () => {
    const { engine } = await start({ usablePages: 6 });
    engine.add({ id: 'a', tokens: prompt(0, 6), maxOutputTokens: 2 });
    await engine.step();
    expect(() => engine.fork('z', { id: 'b' })).toThrow(/request z is finished or was never added/);
    expect(() => engine.fork('a', { id: 'a' })).toThrow(/request a is not finished yet/);
    expect(() => engine.fork('a', { id: 'b', parentTokens: 8 })).toThrow(/parentTokens is 8; .* 0 to the 7/);
    expect(() => engine.fork('a', { id: 'b', parentTokens: 0 })).toThrow(/no tokens to begin with/);
    expect(() => engine.fork('a', { id: 'b', tokens: [-1] })).toThrow(ConfigError);
    expect(() => engine.fork('a', { id: 'b', maxOutputTokens: 99 })).toThrow(/request b can never fit/);
    engine.checkIntegrity();
    await engine.drain();
    expect(() => engine.fork('a', { id: 'b' })).toThrow(/request a is finished/);
  });

  it('of full pages alone copies nothing, stores each page once, and outlives its parent', async () => {
    const world = await start({ stepsInFlight: 1 });
    const { engine, tokens } = world;
    engine.add({ id: 'a', tokens: prompt(0, 8), maxOutputTokens: 4 });
    await engine.step();
    engine.fork('a', { id: 'b', maxOutputTokens: 6 });
    engine.abort('a');
    const { plan } = await engine.step();
    expect(plan.copies).toEqual([]);
    await engine.drain();
    expect(tokens.get('b')).toEqual(alone('b', alone('a', prompt(0, 8), 1), 6));
    // Two pages of the prompt, and one of what b produced.
    expect(engine.statistics().pagesStored).toBe(3);
    await expectClean(world);
  });
});

describe('random forks', () => {
  it('give each request what it would have sampled alone, in tiny pools', async () => {
    const actions = fc.array(
      fc.record({
        kind: fc.constantFrom('add', 'fork', 'fork', 'abort', 'step', 'step'),
        which: fc.nat(20),
        tokens: fc.integer({ min: 1, max: 14 }),
        output: fc.integer({ min: 1, max: 7 }),
        drop: fc.nat(3),
      }),
      { minLength: 4, maxLength: 40 },
    );
    const shapes = fc.record({
      groups: fc.constantFrom('attention' as const, 'mixed' as const),
      usablePages: fc.integer({ min: 9, max: 22 }),
      slots: fc.constantFrom(0, 4, 20),
      stepsInFlight: fc.constantFrom(1 as const, 2 as const),
      maxTokensPerStep: fc.constantFrom(3, 8, 64),
    });
    const seen = { shared: 0, queued: 0, preemptions: 0 };
    await fc.assert(
      fc.asyncProperty(shapes, actions, async ({ maxTokensPerStep, ...sizes }, list) => {
        const world = await start({ ...sizes, schedule: { maxTokensPerStep } });
        const { engine, tokens } = world;
        const begun = new Map<string, { tokens: number[]; output: number }>();
        const live = () => [...engine.scheduler.queues.all()];
        for (const [i, { kind, which, tokens: count, output, drop }] of list.entries()) {
          const id = `${String.fromCharCode(97 + (i % 26))}${i}`;
          const parent = live().at(which % Math.max(1, live().length));
          try {
            if (kind === 'add') {
              begun.set(id, { tokens: prompt(100 * (which % 3), count), output });
              engine.add({ id, tokens: begun.get(id)!.tokens, maxOutputTokens: output });
            } else if (kind === 'fork' && parent) {
              const all = [...parent.sequence.tokens()];
              const kept = Math.max(1, all.length - drop);
              const own = drop > 0 ? [which] : [];
              begun.set(id, { tokens: [...all.slice(0, kept), ...own], output });
              const input = { id, parentTokens: kept, tokens: own, maxOutputTokens: output };
              seen[engine.fork(parent.id, input) > 0 ? 'shared' : 'queued'] += 1;
            } else if (kind === 'abort' && parent) {
              engine.abort(parent.id);
            } else {
              await engine.step();
            }
          } catch (error) {
            if (!(error instanceof ConfigError)) throw error;
          }
          engine.checkIntegrity();
        }
        for (const { id, reason } of await engine.drain()) {
          if (reason === 'aborted') continue;
          const { tokens: first, output } = begun.get(id)!;
          expect(tokens.get(id), id).toEqual(alone(id, first, output));
        }
        seen.preemptions += engine.statistics().requests.preemptions;
        await expectClean(world);
      }),
      { numRuns: 80 },
    );
    for (const [what, times] of Object.entries(seen)) expect(times, what).toBeGreaterThan(0);
  });
});
