import { cachePreset } from '../../src/config/presets.ts';
import { describe, expect, it } from 'vitest';
import { ConfigError, createEngine, Engine, InvariantError } from '../../src/index.ts';

const cache = { pages: 64, pageBytes: 4096, tokensPerPage: 16 };

describe('createEngine without a device', () => {
  it('does what its example says', async () => {
    const engine = await createEngine({ cache, offload: { slots: 256 } });
    engine.add({ id: 'first', tokens: [5, 6, 7], maxOutputTokens: 4 });
    const [first] = await engine.drain();
    expect(first.outputTokens).toBe(4);
    await engine.close();
    await engine.close();
  });

  it('refuses what cannot work, by name', async () => {
    await expect(createEngine({ cache: { ...cache, pageBytes: 10 } })).rejects.toThrow(/cache\.pageBytes/);
    await expect(createEngine(undefined as never)).rejects.toThrow(ConfigError);
    await expect(createEngine({ cache }, { queue: {} } as never)).rejects.toThrow(
      /createEngine\(config, \{ device \}\)/,
    );
    await expect(createEngine({ cache }, { device: { requestDevice: 1 } } as never)).rejects.toThrow(
      /no GPUDevice/,
    );
    await expect(createEngine({ cache }, { pool: { fraction: 0.5 } })).rejects.toThrow(
      /pool asks a device for memory; give one, or leave pool out/,
    );
    await expect(createEngine({ cache }, { forward: () => undefined } as never)).rejects.toThrow(
      /needs a device/,
    );
  });
});

describe('an engine', () => {
  it('refuses requests that make no sense, and is none the worse for it', async () => {
    const engine = await createEngine({ cache });
    engine.add({ id: 'a', tokens: [1] });
    expect(() => engine.add({ id: 'a', tokens: [2] })).toThrow(/request a is not finished/);
    expect(() => engine.add({ id: 'b', tokens: [] })).toThrow(/request b has no prompt tokens/);
    expect(() => engine.add({ id: 'c', tokens: [1, -1] })).toThrow(/token 1 is -1/);
    expect(() => engine.add({ id: 'c', tokens: [1.5] })).toThrow(ConfigError);
    expect(() => engine.add({ tokens: [1] } as never)).toThrow(/id is undefined/);
    expect(() => engine.add({ id: 'e' } as never)).toThrow(/request e: tokens is not a list/);
    expect(() => engine.add({ id: 'd', tokens: [1], maxOutputTokens: 0 })).toThrow(/maxOutputTokens is 0/);
    engine.abort('nobody');
    expect((await engine.drain()).map(({ id }) => id)).toEqual(['a']);
    engine.checkIntegrity();
  });

  it('is stepped one step at a time', async () => {
    const engine = await createEngine({ cache });
    engine.add({ id: 'a', tokens: [1] });
    const first = engine.step();
    await expect(engine.step()).rejects.toThrow(InvariantError);
    await first;
  });

  it('runs a request that was aborted and added again under the same id', async () => {
    const engine = await createEngine({ cache });
    engine.add({ id: 'a', tokens: [1, 2, 3], maxOutputTokens: 5 });
    await engine.step();
    engine.abort('a');
    const [aborted] = (await engine.step()).finished;
    expect(aborted).toMatchObject({ id: 'a', reason: 'aborted', outputTokens: 1 });
    engine.add({ id: 'a', tokens: [1, 2, 3] });
    expect((await engine.drain())[0].reason).toBe('length');
  });

  it('without work does nothing, and says so', async () => {
    const engine = await createEngine({ cache });
    expect(engine.hasWork).toBe(false);
    expect(await engine.drain()).toEqual([]);
    expect((await engine.step()).plan.forward).toEqual([]);
  });

  it('runs several groups on several ranks, each with a worker and a host memory of its own', async () => {
    const engine = await createEngine({ cache: cachePreset('incident-small'), offload: { slots: 16 } });
    expect(engine.ranks).toHaveLength(2);
    expect(engine.ranks[1].host).not.toBe(engine.ranks[0].host);
    engine.add({ id: 'r', tokens: Array.from({ length: 20 }, (_, i) => i), maxOutputTokens: 5 });
    const [finished] = await engine.drain();
    expect(finished).toMatchObject({ outputTokens: 5 });
    const report = await engine.readWitness();
    expect(report.mismatches).toBe(0);
    expect(report.checkedWords).toBeGreaterThan(0);
    await engine.close();
  });

  it('refuses layers over an encoder that it does not have', async () => {
    const groups = [
      { kind: 'full-attention' as const, tokensPerPage: 4, pageBytes: 64 },
      { kind: 'cross-attention' as const, tokensPerPage: 4, pageBytes: 64 },
    ];
    await expect(createEngine({ cache: { pages: 8, groups } })).rejects.toThrow(/no encoder outputs/);
  });

  it('refuses fewer workers than ranks', async () => {
    const { config, worker, host } = await createEngine({ cache: cachePreset('incident-small') });
    expect(() => new Engine({ config, worker, host })).toThrow(
      /contextParallel is 2, but there are 1 workers/,
    );
  });
});
