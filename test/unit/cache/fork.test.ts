/** Forks of a running request: full pages are shared, what both go on writing to is copied. */
import { describe, expect, it } from 'vitest';
import type { CacheRequest } from '../../../src/cache/cache-manager.ts';
import { ConfigError } from '../../../src/errors.ts';
import { range } from './support/fixtures.ts';
import { full, recurrent, sliding, World } from './support/worlds.ts';

/** One token more, to be computed now. */
function work({ sequence }: CacheRequest): { newTokens: number } {
  sequence.append(77);
  return { newTokens: 1 };
}

const ring = { kind: 'ring', capacityTokens: 4, after: 'tail', pageBytes: 64 } as const;

describe('a fork', () => {
  it.each([
    ['the parent', 'the child'],
    ['the child', 'the parent'],
  ])('scenario E10: copies the half-full page, and all comes home when %s goes before %s', (first) => {
    const world = new World(12, [full(4)]);
    const a = world.request('a', range(0, 6));
    world.admit(a);
    world.step();
    const b = world.request('b', range(0, 6));
    expect(world.manager.fork(a, b, 6)).toBe(true);
    world.manager.checkIntegrity();
    expect([world.tables(a), world.tables(b)]).toEqual([[[1, 2]], [[1, 3]]]);
    const { batch, copies } = world.step();
    expect(copies).toEqual(['2->3']);
    world.manager.releasePageCopies(batch);
    for (const [who, token] of [
      [a, 100],
      [b, 200],
    ] as const) {
      who.sequence.append(token);
      world.manager.allocate(who, { computedTokens: 6, newTokens: 1 });
    }
    expect(world.refs(1, 2, 3)).toEqual([2, 1, 1]);
    const order = first === 'the parent' ? [a, b] : [b, a];
    for (const who of order) world.free(who);
    expect(world.manager.freePages).toBe(11);
  });

  it('of full pages alone copies nothing', () => {
    const world = new World(12, [full(4)]);
    const a = world.request('a', range(0, 8));
    world.admit(a);
    const b = world.request('b', range(0, 8));
    expect(world.manager.fork(a, b, 8)).toBe(true);
    expect(world.step().copies).toEqual([]);
    expect(world.tables(b)).toEqual([[1, 2]]);
  });

  it('copies the running state and the ring, and keeps the null pages of windows', () => {
    const world = new World(40, [full(4), sliding(4, 5), recurrent(4), ring]);
    const a = world.request('a', range(0, 14));
    world.admit(a);
    world.decode(a, 1);
    world.step();
    const before = world.tables(a);
    const b = world.request('b', [...a.sequence.tokens()]);
    const free = world.manager.freePages;
    expect(world.manager.fork(a, b, 15)).toBe(true);
    world.manager.checkIntegrity();
    expect(free - world.manager.freePages).toBe(4);
    const tables = world.tables(b);
    expect(world.tables(a)).toEqual(before);
    for (const [group, table] of before.entries()) {
      const last = table.length - 1;
      expect(tables[group].slice(0, last), `group ${group}`).toEqual(table.slice(0, last));
      expect(tables[group][last]).not.toBe(table[last]);
    }
    const { batch, copies } = world.step();
    expect(copies).toHaveLength(4);
    world.manager.releasePageCopies(batch);
    world.free(a);
    world.free(b);
    expect(world.manager.freePages).toBe(39);
  });

  it('of which the child ends before its copies have run gives their pages back', () => {
    const world = new World(12, [full(4)]);
    const a = world.request('a', range(0, 6));
    world.admit(a);
    const b = world.request('b', range(0, 6));
    world.manager.fork(a, b, 6);
    world.free(b);
    expect(world.step().copies).toEqual([]);
    world.free(a);
    expect(world.manager.freePages).toBe(11);
  });

  it('of a fork in the same step copies what the first one copies, and outlives it', () => {
    const world = new World(12, [full(4)]);
    const a = world.request('a', range(0, 6));
    world.admit(a);
    world.step();
    const [b, c] = ['b', 'c'].map((name) => world.request(name, range(0, 6)));
    world.manager.fork(a, b, 6);
    world.manager.fork(b, c, 6);
    world.free(b);
    // The copies of a step run in any order: none may read what another one writes, nor what nobody fills any more.
    const { batch, copies } = world.step();
    expect(copies).toEqual(['2->4']);
    world.manager.releasePageCopies(batch);
    world.free(a);
    world.free(c);
    expect(world.manager.freePages).toBe(11);
  });

  it('a copy that is under way holds its source though the parent ends', () => {
    const world = new World(12, [full(4)]);
    const a = world.request('a', range(0, 6));
    world.admit(a);
    const b = world.request('b', range(0, 6));
    world.manager.fork(a, b, 6);
    const { batch } = world.step();
    world.free(a);
    expect(world.refs(2)).toEqual([1]);
    expect(world.manager.freeOrder()).not.toContain(2);
    world.manager.releasePageCopies(batch);
    expect(world.refs(2)).toEqual([0]);
  });

  it('of a request with two states keeps both, until the older one is read no more', () => {
    const world = new World(30, [full(4), recurrent(4)]);
    const a = world.request('a', range(0, 12));
    world.admit(a, { newTokens: 8 });
    world.run(a, 4);
    const b = world.request('b', range(0, 12));
    expect(world.manager.fork(a, b, 12)).toBe(true);
    world.manager.checkIntegrity();
    expect(world.tables(b)[1].filter((page) => page > 0)).toHaveLength(2);
    world.manager.allocate(b, { computedTokens: 12, ...work(b) });
    world.manager.checkIntegrity();
    expect(world.tables(b)[1].filter((page) => page > 0)).toHaveLength(2);
  });

  it('that is taken back leaves no page of its parent on the zero list, which ended before it', () => {
    const world = new World(12, [full(4)]);
    const a = world.request('a', range(0, 6));
    world.admit(a);
    const b = world.request('b', range(0, 6));
    world.manager.fork(a, b, 6);
    world.free(a);
    world.free(b);
    expect(world.step().zeroed).toEqual([]);
    expect(world.manager.freePages).toBe(11);
  });

  it('is refused, with nothing changed, where a copy has no page', () => {
    const world = new World(3, [full(4)]);
    const a = world.request('a', range(0, 6));
    world.admit(a);
    const b = world.request('b', range(0, 6));
    expect(world.manager.fork(a, b, 6)).toBe(false);
    expect(world.tables(b)).toEqual([[]]);
    world.manager.checkIntegrity();
  });

  it('is refused for other tokens, for a parent without pages, and into a request that runs', () => {
    const world = new World(12, [full(4)]);
    const [a, other, twin] = [range(0, 6), range(1, 7), range(0, 6)].map((tokens, i) =>
      world.request(`r${i}`, tokens),
    );
    expect(() => world.manager.fork(a, twin, 6)).toThrow(/request r0 holds no pages/);
    world.admit(a);
    expect(() => world.manager.fork(a, other, 6)).toThrow(ConfigError);
    expect(() => world.manager.fork(a, other, 6)).toThrow(/r1 does not begin with the 6 tokens of r0/);
    expect(() => world.manager.fork(a, twin, 9)).toThrow(/pages for 8 tokens and cannot share 9/);
    world.admit(twin);
    expect(() => world.manager.fork(a, twin, 6)).toThrow(/r2 holds pages already/);
  });
});
