/** Sections Z and S of the cases, as far as the cache alone shows them: zero lists, loads, frees that wait. */
import { describe, expect, it } from 'vitest';
import type { GroupConfigInput } from '../../../src/config/groups.ts';
import { groupId, pageId } from '../../../src/units.ts';
import { listed, range } from './support/fixtures.ts';
import { full, recurrent, sliding, World } from './support/worlds.ts';

const load = (externalTokens: number) => ({ externalTokens, newTokens: 0, publish: false });

describe('pages to zero over several groups', () => {
  it('Z1: attention beside states lists its own pages only, step by step', () => {
    const world = new World(20, [full(4), recurrent(4)], { zeroing: 'auto' });
    const a = world.request('a', range(0, 10));
    world.admit(a, { newTokens: 8 });
    const zeroed = [world.step().zeroed];
    world.run(a, 2);
    zeroed.push(world.step().zeroed);
    for (let i = 0; i < 3; i++) {
      world.decode(a, 1);
      zeroed.push(world.step().zeroed);
    }
    expect(zeroed).toEqual([[1, 2], [4], [], [], [6]]);
  });

  it('Z2: groups of different formats list every page', () => {
    const groups = [
      { ...full(4), format: 'f32' },
      { ...sliding(4, 100), format: 'u8' },
    ] as GroupConfigInput[];
    const world = new World(20, groups, { zeroing: 'auto' });
    world.admit(world.request('a', range(0, 10)));
    expect(world.manager.takeNewPageIdsToZero()).toEqual([
      { group: groupId(0), pages: [1, 2, 3] },
      { group: groupId(1), pages: [4, 5, 6] },
    ]);
  });

  it('Z3: groups of one format need no zeroing', () => {
    const world = new World(20, [full(4), sliding(4, 100)], { zeroing: 'auto' });
    world.admit(world.request('a', range(0, 10)));
    expect(world.step().zeroed).toEqual([]);
  });

  it.each([
    ['a window', sliding(2, 8)],
    ['chunks', { kind: 'chunked-local', tokensPerPage: 2, chunkTokens: 4, pageBytes: 64 }],
    ['a window and chunks', sliding(2, 8)],
  ] satisfies [string, GroupConfigInput][])('Z8: %s report what they allocated once', (name, group) => {
    const chunked = { kind: 'chunked-local', tokensPerPage: 4, chunkTokens: 8, pageBytes: 64 } as const;
    const groups = name === 'a window and chunks' ? [group, chunked, full(2)] : [group];
    const world = new World(60, groups, { zeroing: 'always', prefixCaching: false });
    const a = world.request('a', range(0, 11));
    const { added } = world.admit(a);
    expect(world.manager.takeNewPageIdsToZero()).toEqual(
      added!.map((pages, id) => ({ group: groupId(id), pages })),
    );
    expect(world.manager.takeNewPageIdsToZero()).toEqual([]);
    // What the window lets go of and takes again is reported again, and nothing else.
    world.decode(a, 4);
    const more = listed(world.manager.takeNewPageIdsToZero());
    expect(more.length).toBeGreaterThan(0);
    expect(world.tables(a).flat()).toEqual(expect.arrayContaining(more));
    expect(world.manager.takeNewPageIdsToZero()).toEqual([]);
  });

  it('a zero list forgets what windows have let go of before it was zeroed', () => {
    const world = new World(30, [full(2), sliding(2, 3)]);
    const a = world.request('a', range(0, 8));
    world.admit(a, { newTokens: 4 });
    world.run(a, 4);
    const [, table] = world.tables(a);
    expect(table[0]).toBe(0);
    const { zeroed } = world.step();
    expect(zeroed.toSorted((x, y) => x - y)).toEqual(
      [...world.tables(a).flat()].filter((page) => page > 0).toSorted((x, y) => x - y),
    );
  });
});

describe('H29', () => {
  it('full attention known to 10, a state to 6: the hit is 6, and 10 would have been possible', () => {
    const world = new World(30, [full(4), recurrent(4)], { matchTokens: 2 });
    const { pool } = world;
    const { id, sequence } = world.request('a', range(0, 10));
    const [rows, state] = [0, 1].map((group) => ({ request: id, group: groupId(group) }));
    const pages = pool.allocate(3, rows, 0);
    const [tail] = pool.allocate(1, state, 1);
    pool.publish({ owner: rows, firstPage: 0, pages: pages.slice(0, 2), sequence, tokensPerPage: 4 });
    pool.publishPartial({ owner: rows, page: pages[2], index: 2, sequence, tokens: 10 });
    pool.publishPartial({ owner: state, page: tail, index: 1, sequence, tokens: 6 });
    const hit = world.manager.lookup(world.request('b', range(0, 12)));
    expect(hit).toEqual({
      tokens: 6,
      pages: [
        [1, 2],
        [0, 4],
      ],
      sharedPrefixTokens: 10,
    });
  });
});

describe('one prompt after the other', () => {
  it('S5: the second of two equal prompts takes the same pages and computes one token', () => {
    const world = new World(10, [full(4)]);
    const [a, b] = ['a', 'b'].map((name) => world.request(name, range(0, 5)));
    world.admit(a);
    expect(world.tables(a)).toEqual([[1, 2]]);
    world.free(a);
    expect(world.admit(b).hit).toBe(4);
    expect(world.tables(b)).toEqual([[1, 2]]);
  });

  it('S30: a reset waits until nobody holds a page', () => {
    const world = new World(30, [full(4), sliding(4, 5)]);
    const requests = range(0, 3).map((i) => world.request(`r${i}`, range(10 * i, 10 * i + 9)));
    for (const each of requests) world.admit(each);
    for (const each of requests) {
      expect(world.manager.resetPrefixCache()).toBe(false);
      expect(world.pool.keyCount).toBeGreaterThan(0);
      world.free(each);
    }
    expect(world.manager.resetPrefixCache()).toBe(true);
    expect(world.pool.keyCount).toBe(0);
  });

  it('S31: with too few pages the longer prompt waits, and the one that gave way carries what it had', () => {
    const world = new World(5, [full(16)]);
    const low = world.request('low', range(0, 30));
    world.admit(low);
    expect(world.manager.freePages).toBe(2);
    const high = world.request('high', range(100, 132));
    world.admit(high);
    world.decode(low, 2);
    expect(world.manager.freePages).toBe(0);
    high.sequence.append(9);
    expect(world.run(high, 1)).toBeNull();
    world.free(low);
    expect(world.run(high, 1)).toHaveLength(1);
    world.free(high);
    expect(world.admit(low)).toMatchObject({ hit: 16 });
    expect(world.tables(low)[0]).toHaveLength(2);
  });
});

describe('loads and frees that wait', () => {
  it('S11, S12: pages stay held until they are given back, and then all come home', () => {
    const world = new World(20, [full(4)]);
    const a = world.request('a', range(0, 12));
    world.admit(a, load(8));
    expect(world.manager.freePages).toBe(17);
    world.free(a);
    expect(world.manager.freePages).toBe(19);
    const b = world.request('b', range(0, 9));
    world.admit(b);
    expect(world.manager.freePages).toBe(16);
    world.free(b);
    expect(world.manager.freePages).toBe(19);
  });

  it('S13: a load of the same step leaves the rest to be computed', () => {
    const world = new World(20, [full(4)]);
    const a = world.request('a', range(0, 12));
    expect(world.admit(a, { externalTokens: 8 }).added).toEqual([[1, 2, 3]]);
    expect(world.keyed(a)).toEqual([4, 8, 12]);
  });

  it('S15: a load of which the second page failed goes on from the first, in place', () => {
    const world = new World(20, [full(4)]);
    const a = world.request('a', range(0, 14));
    world.admit(a, load(12));
    world.manager.publish(a, 4);
    expect(world.keyed(a)).toEqual([4, null, null]);
    expect(world.manager.allocate(a, { computedTokens: 4, newTokens: 10 })).toEqual([[4]]);
    expect(world.tables(a)).toEqual([[1, 2, 3, 4]]);
  });

  it('S15: a load of which the first page failed starts again, on pages that were not known yet', () => {
    const world = new World(20, [full(4)]);
    const a = world.request('a', range(0, 14));
    world.admit(a, load(12));
    world.free(a);
    expect(world.admit(a).hit).toBe(0);
    expect(world.tables(a)).toEqual([[3, 2, 1, 4]]);
  });

  it.each([
    ['given up', true],
    ['computed again', false],
  ])(
    'S16, S33: behind the first bad page of a load of this step nothing stays known (%s)',
    (_, isGivenUp) => {
      const world = new World(20, [full(4)]);
      const a = world.request('a', range(0, 14));
      world.admit(a, { externalTokens: 12, newTokens: 2 });
      expect(world.pool.keyCount).toBe(3);
      // Pages 1 and 2 failed: the smaller index counts.
      expect(world.manager.withdraw(a, 4)).toEqual([]);
      expect(world.pool.keyCount).toBe(1);
      if (isGivenUp) {
        world.free(a);
        expect(world.manager.freePages).toBe(19);
        expect(world.manager.lookup(a).tokens).toBe(4);
        return;
      }
      world.manager.beginStep();
      expect(world.manager.allocate(a, { computedTokens: 4, newTokens: 10 })).toEqual([[]]);
      expect(world.keyed(a)).toEqual([4, 8, 12, null]);
    },
  );

  it('S18: of two that share a page that failed both are named', () => {
    const world = new World(20, [full(4)]);
    const [a, b] = [90, 91].map((last) => world.request(`r${last}`, [...range(0, 8), last]));
    world.admit(a, { externalTokens: 8, newTokens: 1 });
    expect(world.admit(b).hit).toBe(8);
    expect(world.manager.withdraw(a, 4)).toEqual([b.id]);
    expect(world.manager.withdraw(b, 4)).toEqual([]);
    expect(world.keyed(b)).toEqual([4, null, null]);
  });

  it.each([
    ['in the same step', true],
    ['parked', false],
  ])('S32: what a load brought is a hit for the next prompt, and all comes home (%s)', (_, isSync) => {
    const world = new World(20, [full(16)]);
    const a = world.request('a', range(0, 64));
    if (isSync) {
      world.admit(a, { externalTokens: 32 });
    } else {
      world.admit(a, load(32));
      world.manager.publish(a, 32);
      world.run(a, 32);
    }
    const b = world.request('b', [...range(0, 64), ...range(200, 264)]);
    const { hit, added } = world.admit(b, { externalTokens: 32, newTokens: 32 });
    expect([hit, added![0].length]).toEqual([64, 4]);
    for (const each of [a, b]) world.free(each);
    expect(world.manager.freePages).toBe(19);
  });

  it('a load that failed is listed again in every group, where its pages are still held', () => {
    const world = new World(30, [full(4), { ...sliding(4, 9), format: 'u8' }]);
    const a = world.request('a', range(0, 12));
    world.admit(a, load(8));
    const pages = world.tables(a).map((table) => table.map(pageId));
    world.manager.exemptFromZeroing(pages);
    expect(world.step().zeroed).toEqual([]);
    world.manager.relistForZeroing(pages);
    expect(world.step().zeroed).toEqual(pages.flat());
    world.free(a);
    world.manager.relistForZeroing(pages);
    expect(world.step().zeroed).toEqual([]);
  });
});
