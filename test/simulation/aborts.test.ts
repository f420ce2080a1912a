/** Requests that end in the middle of something. */
import { describe, expect, it } from 'vitest';
import { makeWorld, prompt, simulated } from '../support/worlds.ts';

describe('an abort', () => {
  it('of a request whose load then fails stores nothing of what the load was to bring', async () => {
    const world = await makeWorld(
      {
        cache: { pages: 10, pageBytes: 32, tokensPerPage: 4 },
        offload: { slots: 4 },
        transfer: { acknowledgementLag: 2 },
      },
      simulated({ load: (job) => job === 2 }),
    );
    const { engine, worker } = world;
    const [a, c] = [prompt(0, 8), prompt(100, 8)];
    engine.add({ id: 'A', tokens: a });
    engine.add({ id: 'C', tokens: c });
    await engine.drain();
    engine.add({ id: 'pushes them out', tokens: prompt(1000, 36) });
    await engine.drain();
    engine.add({ id: 'A loads', tokens: [...a, 1] });
    engine.add({ id: 'C loads', tokens: [...c, 1], maxOutputTokens: 3 });
    await engine.step();
    engine.abort('A loads');
    await engine.step();
    await engine.step(); // A's load fails, C's lands
    engine.add({ id: 'B', tokens: prompt(500, 4), maxOutputTokens: 2 }); // evicts the tail of A's chain
    const { plan } = await engine.step();
    expect(plan.stores.map(({ pages }) => pages.length)).toEqual([1]);
    await engine.drain();
    engine.add({ id: 'pushes them out again', tokens: prompt(2000, 36) });
    await engine.drain();
    engine.add({ id: 'A again', tokens: [...a, 1] });
    await engine.drain();
    expect((await worker.readWitness()).mismatches).toBe(0);
  });

  it('during the step that ends the request leaves the next one of its name alone', async () => {
    const { engine } = await makeWorld({ cache: { pages: 8, pageBytes: 32, tokensPerPage: 4 } });
    engine.add({ id: 'x', tokens: [1, 2, 3] });
    const running = engine.step();
    engine.abort('x');
    const { finished } = await running;
    expect(finished.map(({ reason }) => reason)).toEqual(['length']);
    engine.add({ id: 'x', tokens: [1, 2, 3] });
    expect((await engine.drain()).map(({ reason }) => reason)).toEqual(['length']);
  });
});

describe('a request without a next token', () => {
  it('is ended, the error is told, and the others go on', async () => {
    const { engine } = await makeWorld(
      { cache: { pages: 12, pageBytes: 32, tokensPerPage: 4 } },
      simulated(),
      {
        nextToken: ({ id }) => (id === 'bad' ? -1 : 7),
      },
    );
    engine.add({ id: 'good', tokens: prompt(0, 5), maxOutputTokens: 3 });
    engine.add({ id: 'bad', tokens: prompt(50, 5), maxOutputTokens: 3 });
    engine.add({ id: 'short', tokens: prompt(90, 5) });
    await expect(engine.step()).rejects.toThrow(/token 5 is -1/);
    const finished = await engine.drain();
    expect(finished.map(({ id, reason }) => [id, reason])).toEqual([
      ['bad', 'aborted'],
      ['short', 'length'],
      ['good', 'length'],
    ]);
    engine.checkIntegrity();
    expect(engine.cache.freePages).toBe(engine.cache.pageCountMax);
  });
});
