/**
 * The right outcome of defects that were found in another cache core, as far as the cache alone decides it. The names
 * are those of the specification.
 */
import { describe, expect, it } from 'vitest';
import { cacheConfigSchema } from '../../../src/config.ts';
import type { GroupConfigInput } from '../../../src/config/groups.ts';
import { longestRequest, resolveLayout } from '../../../src/config/layout.ts';
import { groupId, pageId } from '../../../src/units.ts';
import { listed, range } from './support/fixtures.ts';
import { full, recurrent, sliding, World } from './support/worlds.ts';

describe('U1: work that is cancelled in the step that scheduled it', () => {
  it.each([
    ['one group', [full(4)]],
    ['a window beside', [full(4), sliding(4, 9)]],
    ['states beside', [full(4), recurrent(4)]],
    ['pages of two sizes', [full(8), sliding(4, 100)]],
  ] satisfies [string, GroupConfigInput[]][])(
    'S21: is not found when the request resumes (%s)',
    (_, groups) => {
      const world = new World(80, groups);
      const a = world.request('a', range(0, 40));
      world.admit(a, { newTokens: 8 });
      world.run(a, 8);
      world.run(a, 8);
      world.step();
      world.run(a, 8);
      expect(world.manager.withdraw(a, 24)).toEqual([]);
      world.free(a);
      world.manager.beginStep();
      expect(world.admit(a).hit).toBe(24);
    },
  );

  it('leaves no page on a zero list, not even one that goes to a group without zeroing', () => {
    const world = new World(6, [full(4), recurrent(4)]);
    const a = world.request('a', range(0, 8));
    world.admit(a);
    expect(world.tables(a)).toEqual([
      [1, 2],
      [0, 3],
    ]);
    world.manager.withdraw(a, 0);
    world.free(a);
    expect(world.manager.pendingPageIdsToZero()).toEqual([]);
    const b = world.request('b', range(50, 54));
    world.admit(b);
    const [[rows], [state]] = world.tables(b);
    expect(world.manager.takeNewPageIdsToZero()).toEqual([{ group: groupId(0), pages: [rows] }]);
    expect([1, 2, 3]).toContain(state);
  });

  it('takes along who found it in that step, in every group', () => {
    const world = new World(40, [full(4), sliding(4, 9)]);
    const a = world.request('a', range(0, 12));
    world.admit(a);
    const b = world.request('b', [...range(0, 12), 90]);
    expect(world.admit(b).hit).toBe(12);
    expect(world.manager.withdraw(a, 0)).toEqual([b.id]);
    expect(world.pool.keyCount).toBe(0);
  });
});

describe('U3: a failed load in a window', () => {
  it('S22: cannot go on where earlier pages were never allocated, and starts from nothing', () => {
    const world = new World(30, [sliding(4, 8)]);
    const a = world.request('a', range(0, 18));
    world.admit(a, { externalTokens: 16, newTokens: 0, publish: false });
    expect(world.tables(a)).toEqual([[0, 0, 1, 2]]);
    // The last page failed. Tokens 5 to 7 are read behind the 12 that came, and nothing holds them.
    const rest = { computedTokens: 12, newTokens: 6 };
    expect(() => world.manager.allocate(a, rest)).toThrow(
      /request a: token 12 reads page 1 of its table in group 0, which does not hold that/,
    );
    world.manager.checkIntegrity();
    expect(world.tables(a)).toEqual([[0, 0, 1, 2]]);
    world.free(a);
    expect(world.admit(a).hit).toBe(0);
    expect(world.tables(a)[0].every((page) => page > 0)).toBe(true);
  });

  it('of several groups ends where each has what is read next', () => {
    const world = new World(40, [full(4), sliding(4, 5), recurrent(4)]);
    const a = world.request('a', range(0, 18));
    world.admit(a, { externalTokens: 16, newTokens: 0, publish: false });
    // The window has tokens 12 to 15, and the state is that of 16.
    for (const [computedTokens, group] of [
      [8, 1],
      [12, 1],
    ]) {
      expect(() => world.manager.allocate(a, { computedTokens, newTokens: 1 })).toThrow(
        new RegExp(`token ${computedTokens} reads page \\d of its table in group ${group}`),
      );
    }
    expect(world.manager.allocate(a, { computedTokens: 16, newTokens: 2 })).not.toBeNull();
  });

  it('nor can a fork where the window of its parent has moved on, or its state', () => {
    const windowed = new World(30, [sliding(4, 5)]);
    const a = windowed.request('a', range(0, 12));
    windowed.admit(a);
    windowed.decode(a, 1);
    const fork = (world: World, tokens: number) =>
      world.manager.fork(a, world.request('b', [...a.sequence.tokens()]), tokens);
    expect(() => fork(windowed, 8)).toThrow(/token 8 reads page 1 of its table in group 0/);
    expect(fork(windowed, 12)).toBe(true);

    const stateful = new World(30, [full(4), recurrent(4)]);
    stateful.admit(a);
    // One page holds the state of 13 tokens, the one before that of 12; of 10 there is none.
    stateful.manager.beginStep();
    expect(() => fork(stateful, 10)).toThrow(/token 10 reads page 2 of its table in group 1/);
    stateful.manager.checkIntegrity();
    expect(fork(stateful, 13)).toBe(true);
  });
});

describe('U4: a load that failed under somebody who shares it', () => {
  it.each([
    ['one group', [full(4)]],
    ['a window beside', [full(4), sliding(4, 100)]],
  ] satisfies [string, GroupConfigInput[]][])(
    'S23, S18: names the sharer, and is found again only as far as it was repaired (%s)',
    (_, groups) => {
      const world = new World(40, groups);
      const a = world.request('a', range(0, 14));
      world.admit(a, { externalTokens: 12, newTokens: 2 });
      const b = world.request('b', [...range(0, 12), 90, 91]);
      expect(world.admit(b).hit).toBe(12);
      expect(world.manager.withdraw(a, 0)).toEqual([b.id]);
      world.manager.withdraw(b, 0);
      world.free(b);
      const hit = () => world.manager.lookup(b).tokens;
      expect(hit()).toBe(0);
      // The owner computes 8 of the 12 tokens again: the sharer gets those and no more.
      world.manager.beginStep();
      world.manager.allocate(a, { computedTokens: 0, newTokens: 8 });
      expect(hit()).toBe(8);
      world.manager.beginStep();
      world.manager.allocate(a, { computedTokens: 8, newTokens: 6 });
      expect(hit()).toBe(12);
    },
  );
});

describe('U6: rows that a load does not bring', () => {
  it('are zeroed: who exempts whole pages leaves the last one on the list, and a copy target is listed', () => {
    const world = new World(30, [full(4), recurrent(4)], { matchTokens: 2 });
    const a = world.request('a', range(0, 8));
    world.admit(a, { externalTokens: 6, newTokens: 0, publish: false });
    const [pages] = world.tables(a);
    world.manager.exemptFromZeroing([pages.slice(0, 1).map(pageId), []]);
    expect(listed(world.manager.takeNewPageIdsToZero())).toEqual([pages[1]]);
    // A load that ends where no hit could is refused, so nobody else leaves rows of a page out.
    const b = world.request('b', range(50, 58));
    expect(() => world.admit(b, { externalTokens: 5, newTokens: 0 })).toThrow(/take a multiple of 2/);
    const whole = new World(30, [full(4), sliding(4, 9)]);
    const c = whole.request('c', range(0, 9));
    expect(() => whole.admit(c, { externalTokens: 6, newTokens: 0 })).toThrow(/take a multiple of 4/);
  });

  it('the target of a copy is on the zero list of the step that copies', () => {
    const world = new World(30, [full(4), recurrent(4)], { matchTokens: 2 });
    world.admit(world.request('a', range(0, 6)));
    world.step();
    world.manager.beginStep();
    world.admit(world.request('b', [...range(0, 6), 99]));
    const [{ destination }] = world.manager.pendingPageCopies();
    expect(listed(world.manager.pendingPageIdsToZero())).toContain(destination);
  });
});

describe('U7: a request that outgrows the pool', () => {
  const drafted = { kind: 'recurrent', tokensPerPage: 8, pageBytes: 64, speculativePages: 2 } as const;
  const layouts: [string, GroupConfigInput[]][] = [
    ['one group', [full(4)]],
    ['a window of another size', [full(8), sliding(4, 6)]],
    ['states', [full(4), recurrent(4)]],
    ['drafted states', [full(4), drafted]],
    ['a ring', [full(4), { kind: 'ring', capacityTokens: 4, after: 'tail', pageBytes: 64 }]],
  ];

  it.each(layouts)(
    'S7: is known before it starts: what `tokensMax` allows runs to its end alone (%s)',
    (_, groups) => {
      for (const pages of [8, 13, 20]) {
        const layout = resolveLayout(cacheConfigSchema.parse({ pages, groups }));
        const tokensMax = longestRequest(layout, pages - 1);
        expect(() => new World(pages, groups, { tokensMax: tokensMax + 1 })).toThrow(/use at least/);
        const world = new World(pages, groups, { tokensMax });
        const a = world.request('a', range(0, tokensMax - 3));
        const first = Math.min(4, tokensMax - 3);
        expect(world.admit(a, { newTokens: first }).added).not.toBeNull();
        for (let at = first; at < tokensMax; at++) {
          if (at >= tokensMax - 3) a.sequence.append(at);
          expect(world.run(a, 1), `token ${at} of ${tokensMax}`).not.toBeNull();
        }
        expect(world.manager.pagesNeeded(tokensMax)).toBeLessThanOrEqual(world.manager.pageCountMax);
        expect(world.manager.pagesNeeded(tokensMax + 1)).toBeGreaterThan(world.manager.pageCountMax);
      }
    },
  );

  it('S7, M17: is refused as a whole where its first chunk would fit', () => {
    const world = new World(21, [full(4), sliding(4, 8)]);
    const a = world.request('a', range(0, 80));
    const fullSequence = { tokens: 80, inFlightTokens: 4 };
    expect(world.admit(a, { newTokens: 4, fullSequence }).added).toBeNull();
    expect(world.manager.freePages).toBe(20);
    expect(world.admit(a, { newTokens: 4 }).added).toEqual([[1], [2]]);
  });
});
