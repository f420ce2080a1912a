/** What a step asks of the cache beside pages: the zero list, loads, withdrawn publications, events, counters. */
import { describe, expect, it } from 'vitest';
import type { CacheManager } from '../../../src/cache/cache-manager.ts';
import { ConfigError } from '../../../src/errors.ts';
import { pageId, requestId } from '../../../src/units.ts';
import {
  admit,
  cache,
  grow,
  keyed,
  pages,
  range,
  request,
  listed,
  keyAt,
  allocate,
} from './support/fixtures.ts';

describe('pages to zero', () => {
  it('are what was allocated since the last step, in this order, once, and never hits', () => {
    const { manager, events } = cache({ pages: 10, tokensPerPage: 4 });
    admit(manager, request('a', range(0, 9), 4));
    admit(manager, request('b', range(0, 9), 4));
    expect(listed(manager.pendingPageIdsToZero())).toEqual([1, 2, 3, 4]);
    expect(listed(manager.takeNewPageIdsToZero())).toEqual([1, 2, 3, 4]);
    expect(events.at(-1)).toEqual({ type: 'zeroed', group: 0, pages: [1, 2, 3, 4] });
    expect(listed(manager.takeNewPageIdsToZero())).toEqual([]);
    expect(manager.statistics.pagesZeroed).toBe(4);
    expect(events.at(-1)).toMatchObject({ pages: [1, 2, 3, 4] });
  });

  it('`poison` lists as `always` does, `auto` lists nothing with one group', () => {
    const listedWith = (['always', 'poison', 'auto'] as const).map((zeroing) => {
      const { manager } = cache({ pages: 10, tokensPerPage: 4, zeroing });
      const a = request('a', range(0, 9), 4);
      admit(manager, a);
      manager.exemptFromZeroing([pages(2)]);
      manager.relistForZeroing([pages(2)]);
      const drained = listed(manager.takeNewPageIdsToZero());
      manager.free(a);
      return drained;
    });
    expect(listedWith).toEqual([[1, 3, 2], [1, 3, 2], []]);
  });

  it('a page freed before it was zeroed leaves the list, and its next owner lists it again, once', () => {
    const { manager } = cache({ pages: 4, tokensPerPage: 4 });
    const a = request('a', range(0, 9), 4);
    admit(manager, a);
    manager.withdraw(a, 0);
    expect(listed(manager.pendingPageIdsToZero())).toEqual([1, 2, 3]);
    manager.free(a);
    expect(listed(manager.pendingPageIdsToZero())).toEqual([]);
    admit(manager, request('b', range(50, 55), 4));
    expect(listed(manager.takeNewPageIdsToZero())).toEqual([3, 2]);
  });

  it('a page that another request still holds stays on the list', () => {
    const { manager } = cache({ pages: 10, tokensPerPage: 4 });
    const a = request('a', range(0, 9), 4);
    admit(manager, a);
    admit(manager, request('b', range(0, 9), 4));
    manager.free(a);
    manager.checkIntegrity();
    expect(listed(manager.takeNewPageIdsToZero())).toEqual([1, 2, 4]);
  });

  it('Z4: load destinations are exempt in their step; after a failure they are listed before anything runs', () => {
    const { manager } = cache({ pages: 20, tokensPerPage: 4 });
    const a = request('a', range(0, 18), 4);
    const { added } = admit(manager, a, { externalTokens: 12, newTokens: 0, publish: false });
    manager.exemptFromZeroing([added!]);
    expect(listed(manager.takeNewPageIdsToZero())).toEqual([]);
    // The second page failed: one page is valid, the others are computed after all.
    manager.publish(a, 4);
    manager.relistForZeroing([manager.pageTable(a.id).slice(1)]);
    expect(allocate(manager, a, { computedTokens: 4, newTokens: 14 })).toEqual([4, 5]);
    expect(listed(manager.takeNewPageIdsToZero())).toEqual([2, 3, 4, 5]);
    expect(keyed(manager, a)).toEqual([true, true, true, true, false]);
    manager.checkIntegrity();
  });

  it('free pages and the null page are not listed again', () => {
    const { manager } = cache({ pages: 5, tokensPerPage: 4 });
    admit(manager, request('a', range(0, 4), 4));
    listed(manager.takeNewPageIdsToZero());
    manager.relistForZeroing([pages(0, 1, 1, 2)]);
    expect(listed(manager.takeNewPageIdsToZero())).toEqual([1]);
  });

  it('S1, Z6: preemption, resumption on a cached page, and what each step zeroes', () => {
    const { manager } = cache({ pages: 6, tokensPerPage: 4 });
    const a = request('a', range(0, 8), 4);
    const b = request('b', range(100, 108), 4);
    admit(manager, a);
    admit(manager, b);
    expect([manager.pageTable(a.id), manager.pageTable(b.id)]).toEqual([
      [1, 2],
      [3, 4],
    ]);
    expect(listed(manager.takeNewPageIdsToZero())).toEqual([1, 2, 3, 4]);
    expect(grow(manager, a, 8, [8])).toEqual([5]);
    expect(grow(manager, b, 8, [108])).toBeNull();
    manager.free(b);
    expect(manager.freePages).toBe(2);
    expect(listed(manager.takeNewPageIdsToZero())).toEqual([5]);
    for (const computed of [9, 10, 11]) expect(grow(manager, a, computed, [computed])).toEqual([]);
    expect(grow(manager, a, 12, [12])).toEqual([4]);
    expect(listed(manager.takeNewPageIdsToZero())).toEqual([4]);
    manager.free(a);
    expect(admit(manager, b)).toEqual({ hit: 4, hitPages: [3], added: [4, 5] });
    expect(manager.pageTable(b.id)).toEqual([3, 4, 5]);
    expect(listed(manager.takeNewPageIdsToZero())).toEqual([4, 5]);
    for (const computed of [9, 10, 11]) grow(manager, b, computed, [100 + computed]);
    expect(grow(manager, b, 12, [112])).toEqual([2]);
    manager.free(b);
    expect(manager.freeOrder()).toEqual([2, 1, 5, 4, 3]);
  });
});

describe('loads', () => {
  it('S8, S9: the last token of a loaded prompt is computed in place', () => {
    for (const [tokens, table] of [
      [12, [1, 2, 3]],
      [8, [1, 2]],
    ] as const) {
      const { manager } = cache({ pages: 20, tokensPerPage: 4 });
      const a = request('a', range(0, tokens), 4);
      admit(manager, a, { externalTokens: tokens, newTokens: 0, publish: false });
      expect([manager.pageTable(a.id), keyed(manager, a).includes(true)]).toEqual([table, false]);
      manager.publish(a, tokens - 1);
      expect(allocate(manager, a, { computedTokens: tokens - 1, newTokens: 1 })).toEqual([]);
      expect(keyed(manager, a).includes(false)).toBe(false);
    }
  });

  it('S14: a load behind a device hit', () => {
    const { manager } = cache({ pages: 20, tokensPerPage: 4 });
    const a = request('a', range(0, 8), 4);
    admit(manager, a);
    manager.free(a);
    const b = request('b', range(0, 18), 4);
    admit(manager, b, { externalTokens: 8, newTokens: 0, publish: false });
    expect(manager.pageTable(b.id).slice(0, 2)).toEqual([1, 2]);
    expect(keyed(manager, b)).toEqual([true, true, false, false]);
    manager.publish(b, 16);
    expect(allocate(manager, b, { computedTokens: 16, newTokens: 2 })).toHaveLength(1);
    manager.checkIntegrity();
  });

  it('a pool that has room for the load alone refuses load and new tokens together, and changes nothing', () => {
    const { manager, events } = cache({ pages: 4, tokensPerPage: 4 });
    const a = request('a', range(0, 14), 4);
    expect(admit(manager, a, { externalTokens: 12 }).added).toBeNull();
    expect([manager.freePages, events, manager.pageTable(a.id)]).toEqual([3, [], []]);
    expect(admit(manager, a, { externalTokens: 12, newTokens: 0, publish: false }).added).toEqual([1, 2, 3]);
  });
});

describe('withdraw', () => {
  it('takes the keys of pages that hold tokens from there on, tail first, and they can be published again', () => {
    const { manager, events } = cache({ pages: 10, tokensPerPage: 4 });
    const a = request('a', range(0, 16), 4);
    admit(manager, a);
    events.length = 0;
    expect(manager.withdraw(a, 9)).toEqual([]);
    expect(keyed(manager, a)).toEqual([true, true, false, false]);
    const key = (page: number) => keyAt(a.sequence, page);
    expect(events).toEqual([
      { type: 'removed', page: 4, key: key(3), reason: 'withdrawn' },
      { type: 'removed', page: 3, key: key(2), reason: 'withdrawn' },
    ]);
    manager.checkIntegrity();
    manager.publish(a, 16);
    expect(events.at(-1)).toMatchObject({ type: 'stored', firstPage: 2, pages: [3, 4], parent: key(1) });
    for (const wrong of [-1, 0.5]) expect(() => manager.withdraw(a, wrong)).toThrow(ConfigError);
  });

  it('cuts on both sides of a page border', () => {
    for (const [fromToken, left] of [
      [7, 1],
      [8, 2],
      [9, 2],
      [16, 4],
      [99, 4],
    ] as const) {
      const { manager } = cache({ pages: 10, tokensPerPage: 4 });
      const a = request('a', range(0, 16), 4);
      admit(manager, a);
      manager.withdraw(a, fromToken);
      expect(keyed(manager, a).filter(Boolean)).toHaveLength(left);
    }
  });

  it('names the requests that hit the pages in the same step', () => {
    const { manager } = cache({ pages: 20, tokensPerPage: 4 });
    const a = request('a', range(0, 12), 4);
    admit(manager, a);
    for (const [name, length] of [
      ['b', 9],
      ['c', 5],
      ['d', 3],
    ] as const)
      admit(manager, request(name, range(0, length), 4));
    expect(manager.withdraw(a, 4)).toEqual(['b']);
    expect(manager.withdraw(a, 4)).toEqual([]);
    expect(manager.withdraw(a, 0)).toEqual(['b', 'c']);
    manager.free(a);
    manager.checkIntegrity();
  });

  it('a page that its sharer published again keeps the key, whoever publishes next', () => {
    const { manager, events } = cache({ pages: 20, tokensPerPage: 4 });
    const a = request('a', range(0, 9), 4);
    const b = request('b', range(0, 9), 4);
    admit(manager, a);
    admit(manager, b);
    manager.withdraw(a, 0);
    manager.withdraw(b, 0);
    manager.publish(b, 8);
    events.length = 0;
    manager.publish(a, 8);
    expect(events).toEqual([]);
    manager.checkIntegrity();
    expect(manager.lookup(request('c', range(0, 9), 4)).tokens).toBe(8);
  });

  it('withdrawn pages are reused before any that is cached', () => {
    const { manager } = cache({ pages: 6, tokensPerPage: 4 });
    const a = request('a', range(0, 16), 4);
    admit(manager, a);
    manager.withdraw(a, 8);
    manager.free(a);
    expect(manager.freeOrder()).toEqual([4, 3, 5, 2, 1]);
  });
});

describe('events and counters', () => {
  it('tell an admission with an eviction in order', () => {
    const { manager, events } = cache({ pages: 4, tokensPerPage: 4 });
    const a = request('a', range(0, 12), 4);
    const owner = (name: string) => ({ request: requestId(name), group: 0 });
    admit(manager, a);
    manager.free(a);
    events.length = 0;
    const b = request('b', [...range(0, 8), 50, 51, 52, 53], 4);
    admit(manager, b);
    expect(events).toEqual([
      { type: 'touched', owner: owner('b'), pages: [1, 2], at: 0 },
      { type: 'removed', page: 3, key: keyAt(a.sequence, 2), reason: 'evicted' },
      { type: 'allocated', owner: owner('b'), pages: [3], at: 2 },
      {
        type: 'stored',
        owner: owner('b'),
        firstPage: 2,
        pages: [3],
        keys: [keyAt(b.sequence, 2)],
        keyedTokens: [12],
        parent: keyAt(b.sequence, 1),
        blockTokens: 4,
        tokens: [50, 51, 52, 53],
        extras: [null],
      },
    ]);
    manager.free(b);
    expect(events.at(-1)).toEqual({ type: 'freed', owner: owner('b'), pages: [3, 2, 1] });
    manager.resetPrefixCache();
    expect(events.at(-1)).toEqual({ type: 'cleared' });
  });

  it('are plain data', () => {
    const { manager, events } = cache({ pages: 4, tokensPerPage: 4 });
    admit(manager, request('a', range(0, 9), 4));
    listed(manager.takeNewPageIdsToZero());
    expect(JSON.parse(JSON.stringify(events))).toEqual(events);
  });

  it('scenario 52: hits count once, at admission; a resumed request counts apart', () => {
    const { manager } = cache({ pages: 7, tokensPerPage: 4 });
    const first = request('first', range(0, 8), 4);
    admit(manager, first);
    manager.free(first);
    const blocker = request('blocker', range(50, 66), 4);
    admit(manager, blocker);
    const before = manager.statistics;
    const a = request('a', range(0, 13), 4);
    for (let attempt = 0; attempt < 3; attempt++)
      expect(admit(manager, a)).toMatchObject({ hit: 8, added: null });
    expect(manager.statistics).toEqual(before);
    manager.free(blocker);
    expect(admit(manager, a).hit).toBe(8);
    const counted = (after: CacheManager['statistics']) => [
      after.queriedTokens - before.queriedTokens,
      after.hitTokens - before.hitTokens,
      after.readmittedTokens,
      after.readmittedHitTokens,
    ];
    expect(counted(manager.statistics)).toEqual([13, 8, 0, 0]);
    manager.free(a);
    admit(manager, a);
    expect(counted(manager.statistics)).toEqual([13, 8, 13, 12]);
  });

  it('a table that was handed out stays as it was when its request is freed', () => {
    const { manager } = cache({ pages: 4, tokensPerPage: 4 });
    const a = request('a', range(0, 9), 4);
    admit(manager, a);
    const table = manager.pageTable(a.id);
    manager.free(a);
    admit(manager, request('b', range(50, 59), 4));
    expect(table).toEqual([1, 2, 3]);
    expect([manager.pageTable(a.id), manager.refCount(pageId(3))]).toEqual([[], 1]);
  });
});
