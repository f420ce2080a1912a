/** Scenarios from public reports that concern several groups, each named after what it protects. */
import { describe, expect, it } from 'vitest';
import { createPrefixHasher } from '../../../src/cache/prefix-key.ts';
import { TokenSequence } from '../../../src/cache/token-sequence.ts';
import { requestId } from '../../../src/units.ts';
import { range } from './support/fixtures.ts';
import { full, recurrent, sliding, World } from './support/worlds.ts';

describe('scenarios of several groups', () => {
  it('28: the hit that is agreed on is what every group uses', () => {
    const groups = [full(4), full(8), sliding(4, 8), recurrent(4, 'all')];
    const world = new World(80, groups);
    const a = world.request('a', range(0, 16));
    world.admit(a);
    world.manager.beginStep();
    // The windows have nothing, and only the state at 4 is left.
    for (const unit of range(0, 4)) world.evict(a, unit, 2);
    for (const unit of [1, 2, 3]) world.evict(a, unit, 3);
    const b = world.request('b', [...range(0, 16), 99]);
    const { hit, added } = world.admit(b);
    expect(hit).toBe(0);
    expect(added!.map((pages) => pages.length)).toEqual([5, 3, 5, 5]);
    world.free(b);

    const second = new World(80, groups);
    const c = second.request('c', range(0, 16));
    second.admit(c);
    second.manager.beginStep();
    for (const unit of [1, 2, 3]) for (const group of [2, 3]) second.evict(c, unit, group);
    // A window and a state for 4 are there, but 4 is no end of a page of 8.
    expect(second.manager.lookup(second.request('d', [...range(0, 16), 99])).tokens).toBe(0);
  });

  it('30 b: a window of 9 tokens behind 12 touches pages 1 and 2, and not page 0', () => {
    const world = new World(30, [full(4), sliding(4, 9)]);
    const a = world.request('a', range(0, 12));
    world.admit(a);
    world.evict(a, 0, 1);
    const { hit, pages } = world.admit(world.request('b', [...range(0, 12), 99]));
    expect(hit).toBe(12);
    expect(pages).toEqual([
      [1, 2, 3],
      [0, 5, 6],
    ]);
  });

  it('34: of two prompts alike in one step the second waits for the state, others do not', () => {
    const world = new World(30, [full(2), recurrent(2)]);
    const [r1, r2] = [50, 51].map((last) => world.request(`r${last}`, [1, 2, 3, 4, last]));
    expect(world.admit(r1, { newTokens: 4 }).added).not.toBeNull();
    expect(world.admit(r2).added).toBeNull();
    expect(world.admit(world.request('other', [7, 8, 9])).added).not.toBeNull();
    world.manager.beginStep();
    expect(world.admit(r2)).toMatchObject({ hit: 4 });
    expect(world.tables(r2)[1][1]).toBe(world.tables(r1)[1][1]);
  });

  it('35: strangers with the same tokens never share, on the first page or a later one', () => {
    const world = new World(60, [full(4)]);
    const identities = [
      { adapter: 'X' },
      { salt: 'X' },
      { adapter: 'a', salt: 'bc' },
      { adapter: 'ab', salt: 'c' },
      { media: [{ identifier: 'ffff0', offset: 5, length: 2 }] },
      { media: [{ identifier: 'ffff1', offset: 5, length: 2 }] },
      {},
    ];
    const requests = ['first', 'again'].map((name) =>
      identities.map((identity, i) => ({
        id: requestId(`${name} ${i}`),
        sequence: new TokenSequence({
          tokens: range(0, 9),
          unitTokens: 4,
          hasher: createPrefixHasher(),
          identity,
        }),
      })),
    );
    const hits = requests.map((list) => list.map((request) => world.admit(request).hit));
    // What stands behind token 5 leaves the page before it to be shared.
    expect(hits).toEqual([
      [0, 0, 0, 0, 0, 4, 4],
      [8, 8, 8, 8, 8, 8, 8],
    ]);
  });

  it('37 b: groups are freed in order, the later pages of each first, and evicted so', () => {
    const world = new World(5, [full(4), sliding(4, 100)]);
    const a = world.request('a', range(0, 8));
    world.admit(a);
    expect(world.tables(a)).toEqual([
      [1, 2],
      [3, 4],
    ]);
    world.free(a);
    expect(world.manager.freeOrder()).toEqual([2, 1, 4, 3]);
  });

  it('E8: where only the last tail is kept, a prompt that differs inside it still finds the one before', () => {
    const world = new World(40, [full(8), sliding(4, 5)]);
    world.admit(world.request('a', range(0, 32)));
    const differing = [...range(0, 28), 90, 91, 92, 93, 94];
    expect(world.manager.lookup(world.request('b', differing)).tokens).toBe(24);
  });

  it('52: what one group finds beyond the agreed hit is no hit, and a request counts once', () => {
    const world = new World(30, [full(4), recurrent(4)]);
    const a = world.request('a', range(0, 12));
    world.admit(a, { newTokens: 4 });
    world.run(a, 8);
    world.evict(a, 2, 1);
    world.manager.beginStep();
    const before = world.manager.statistics;
    const b = world.request('b', [...range(0, 12), 99]);
    for (let attempt = 0; attempt < 3; attempt++) {
      expect(world.admit(b, { reservedPages: 100 }).added).toBeNull();
    }
    world.admit(b);
    const { queriedTokens, hitTokens } = world.manager.statistics;
    expect([queriedTokens - before.queriedTokens, hitTokens - before.hitTokens]).toEqual([13, 4]);
    world.free(b);
    world.admit(b);
    expect(world.manager.statistics).toMatchObject({ queriedTokens, hitTokens, readmittedTokens: 13 });
  });

  it('39: null pages of windows and states are in no list', () => {
    const world = new World(40, [full(4), sliding(4, 5), recurrent(4)]);
    const a = world.request('a', range(0, 16));
    world.admit(a);
    world.decode(a, 6);
    const { zeroed, copies } = world.step();
    expect(zeroed).not.toContain(0);
    expect(copies).toEqual([]);
    for (const event of world.events) {
      if (event.type === 'stored' || event.type === 'freed') expect(event.pages).not.toContain(0);
    }
    world.free(a);
    expect(world.refs(0)).toEqual([0]);
  });
});
