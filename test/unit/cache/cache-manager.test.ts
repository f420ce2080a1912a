/** The spec's cases for one full-attention group: prefill, decode, prefix hits, eviction, failure. */
import { describe, expect, it } from 'vitest';
import { ConfigError, InvariantError } from '../../../src/errors.ts';
import { pageId } from '../../../src/units.ts';
import { admit, cache, grow, keyed, range, request, listed, allocate } from './support/fixtures.ts';

const T = true;
const F = false;

describe('one full-attention group, pages of 4 tokens', () => {
  it('P5 to P8: allocate, hit, free tail first, look up what is left', () => {
    const { manager } = cache({ pages: 6, tokensPerPage: 4 });
    const a = request('a', range(0, 10), 4);
    expect(admit(manager, a).added).toEqual([1, 2, 3]);
    expect([manager.pageTable(a.id), manager.freeOrder()]).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    const b = request('b', [...range(0, 8), 50], 4);
    expect(admit(manager, b)).toEqual({ hit: 8, hitPages: [1, 2], added: [4] });
    expect([1, 2, 3, 4].map((page) => manager.refCount(pageId(page)))).toEqual([2, 2, 1, 1]);
    expect(manager.freeOrder()).toEqual([5]);
    manager.free(a);
    expect(manager.freeOrder()).toEqual([3, 5]);
    manager.free(b);
    expect(manager.freeOrder()).toEqual([4, 3, 5, 2, 1]);
    const hits = [8, 4, 5].map((length) => manager.lookup(request('c', range(0, length), 4)).tokens);
    expect(hits).toEqual([4, 0, 4]);
    manager.checkIntegrity();
  });

  it('P10: a hit revives pages from the middle of the free list, others are evicted first', () => {
    const { manager } = cache({ pages: 8, tokensPerPage: 4 });
    const a = request('a', range(0, 8), 4);
    const b = request('b', range(100, 108), 4);
    expect([admit(manager, a).added, admit(manager, b).added]).toEqual([
      [1, 2],
      [3, 4],
    ]);
    manager.free(a);
    manager.free(b);
    expect(manager.freeOrder()).toEqual([5, 6, 7, 2, 1, 4, 3]);
    const c = request('c', [...range(0, 8), 5], 4);
    expect(admit(manager, c)).toEqual({ hit: 8, hitPages: [1, 2], added: [5] });
    expect(manager.freeOrder()).toEqual([6, 7, 4, 3]);
    manager.free(c);
    expect(manager.freeOrder()).toEqual([5, 6, 7, 4, 3, 2, 1]);
  });

  it('P15: without caching there are no hits, and freed pages are reused at once', () => {
    const { manager } = cache({ pages: 5, tokensPerPage: 4, prefixCaching: false });
    const a = request('a', range(0, 10), 4);
    expect(admit(manager, a).added).toEqual([1, 2, 3]);
    manager.free(a);
    expect(manager.freeOrder()).toEqual([3, 2, 1, 4]);
    const b = request('b', range(0, 16), 4);
    expect(admit(manager, b)).toEqual({ hit: 0, hitPages: [], added: [3, 2, 1, 4] });
    expect(admit(manager, request('c', range(0, 4), 4)).added).toBeNull();
    manager.publish(b, 16);
    expect(keyed(manager, b)).toEqual([F, F, F, F]);
    expect(manager.statistics).toMatchObject({
      queriedTokens: 0,
      hitTokens: 0,
      pagesAllocated: 7,
      pagesEvicted: 0,
    });
  });

  it('M7: lookahead takes pages', () => {
    const counts = [0, 1, 2, 4, 5].map((lookaheadTokens) => {
      const { manager } = cache({ pages: 9, tokensPerPage: 4 });
      return admit(manager, request('a', range(0, 3), 4), { lookaheadTokens }).added?.length;
    });
    expect(counts).toEqual([1, 1, 2, 2, 2]);
  });

  it('M8: drafts take room and are not published before they are accepted', () => {
    const { manager } = cache({ pages: 9, tokensPerPage: 4 });
    const a = request('a', range(0, 6), 4);
    admit(manager, a);
    a.sequence.append(6);
    expect(allocate(manager, a, { computedTokens: 6, newTokens: 1 + 3 })).toEqual([3]);
    expect(keyed(manager, a)).toEqual([T, F, F]);
    a.sequence.append(7);
    a.sequence.append(8);
    expect(allocate(manager, a, { computedTokens: 8, newTokens: 1 + 3 })).toEqual([]);
    expect(keyed(manager, a)).toEqual([T, T, F]);
    manager.checkIntegrity();
  });

  it('M9: lookahead ends where the request must end', () => {
    const { manager } = cache({ pages: 99, tokensPerPage: 4 });
    const a = request('a', range(0, 8), 4);
    expect(admit(manager, a, { lookaheadTokens: 50, tokensMax: 10 }).added).toHaveLength(3);
    // A limit never takes room from the tokens of this step.
    const b = request('b', range(50, 62), 4);
    expect(admit(manager, b, { lookaheadTokens: 50, tokensMax: 10 }).added).toHaveLength(3);
  });

  it('M10: refuses a step without work, and amounts that are none', () => {
    const { manager } = cache({ pages: 9, tokensPerPage: 4 });
    const a = request('a', range(0, 8), 4);
    expect(() => allocate(manager, a, { computedTokens: 0, newTokens: 0 })).toThrow(ConfigError);
    for (const newTokens of [-1, 0.5, Number.NaN]) {
      expect(() => allocate(manager, a, { computedTokens: 0, newTokens })).toThrow(/newTokens is/);
    }
    for (const externalTokens of [3, 12]) {
      expect(() => allocate(manager, a, { computedTokens: 0, newTokens: 1, externalTokens })).toThrow(
        ConfigError,
      );
    }
    expect(manager.freePages).toBe(8);
  });

  it('M11: tokens that a load brings get pages now and keys later', () => {
    const { manager } = cache({ pages: 12, tokensPerPage: 4 });
    const a = request('a', range(0, 18), 4);
    expect(admit(manager, a, { externalTokens: 12, newTokens: 0, publish: false }).added).toEqual([1, 2, 3]);
    expect(manager.pageTable(a.id)).toEqual([1, 2, 3]);
    expect(keyed(manager, a)).toEqual([F, F, F]);
    manager.publish(a, 12);
    expect(keyed(manager, a)).toEqual([T, T, T]);
    expect(allocate(manager, a, { computedTokens: 12, newTokens: 6 })).toEqual([4, 5]);
    expect(keyed(manager, a)).toEqual([T, T, T, T, F]);
    manager.checkIntegrity();
  });

  it('M12: a load of the same step is published with the rest', () => {
    const { manager } = cache({ pages: 12, tokensPerPage: 4 });
    const a = request('a', range(0, 18), 4);
    expect(admit(manager, a, { externalTokens: 12 }).added).toEqual([1, 2, 3, 4, 5]);
    expect(keyed(manager, a)).toEqual([T, T, T, T, F]);
  });

  it('M17: a prompt that cannot fit as a whole shows in its pages, its first chunk still fits', () => {
    const { manager } = cache({ pages: 6, tokensPerPage: 4 });
    expect(manager.pagesNeeded(40) > manager.freePages).toBe(true);
    expect(admit(manager, request('a', range(0, 40), 4), { newTokens: 4 }).added).toEqual([1]);
  });

  it('M18: the common prefix is what every request holds', () => {
    const { manager } = cache({ pages: 20, tokensPerPage: 4 });
    const [a, b, c] = [range(0, 13), [...range(0, 8), 90, 91], range(200, 210)].map((tokens, i) =>
      request(`r${i}`, tokens, 4),
    ) as [ReturnType<typeof request>, ReturnType<typeof request>, ReturnType<typeof request>];
    admit(manager, a);
    expect(manager.commonPrefixPages(a.id)[0]).toBe(4);
    admit(manager, b);
    expect([a, b].map(({ id }) => manager.commonPrefixPages(id)[0])).toEqual([2, 2]);
    admit(manager, c);
    expect(manager.commonPrefixPages(a.id)[0]).toBe(0);
  });

  it('S6: a hit within one step shares pages that are written in this step', () => {
    const { manager } = cache({ pages: 10, tokensPerPage: 4 });
    expect(admit(manager, request('a', range(0, 9), 4)).added).toEqual([1, 2, 3]);
    const b = request('b', range(0, 9), 4);
    expect(admit(manager, b)).toEqual({ hit: 8, hitPages: [1, 2], added: [4] });
    expect(manager.pageTable(b.id)).toEqual([1, 2, 4]);
  });
});

describe('one full-attention group, pages of 16 tokens', () => {
  it('M1 to M3: sharing, freeing, hitting again', () => {
    const { manager } = cache({ pages: 11, tokensPerPage: 16 });
    const shared = range(0, 48);
    const [a, b, c] = [7, 5, 6].map((tail, i) =>
      request(`r${i}`, [...shared, ...range(1000 * (i + 1), 1000 * (i + 1) + tail)], 16),
    ) as [ReturnType<typeof request>, ReturnType<typeof request>, ReturnType<typeof request>];
    expect(admit(manager, a).added).toEqual([1, 2, 3, 4]);
    expect(admit(manager, b)).toMatchObject({ hit: 48, added: [5] });
    expect(manager.freePages).toBe(5);
    manager.free(a);
    manager.free(b);
    expect(manager.freeOrder()).toEqual([5, 4, 6, 7, 8, 9, 10, 3, 2, 1]);
    expect(admit(manager, c)).toMatchObject({ hit: 48, added: [5] });
    expect(manager.freePages).toBe(6);
  });

  it('M5: pages of two requests in the order of their ends', () => {
    const { manager } = cache({ pages: 11, tokensPerPage: 16 });
    const a = request('a', range(0, 87), 16);
    const b = request('b', range(500, 548), 16);
    admit(manager, a);
    admit(manager, b);
    manager.free(a);
    expect(manager.freeOrder()).toEqual([6, 10, 5, 4, 3, 2, 1]);
    manager.free(b);
    expect(manager.freeOrder()).toEqual([6, 10, 5, 4, 3, 2, 1, 9, 8, 7]);
    expect(admit(manager, request('c', range(0, 35), 16))).toEqual({ hit: 32, hitPages: [1, 2], added: [6] });
    expect(manager.freePages).toBe(7);
  });

  it('M6: decoding fills the last page before it takes another', () => {
    const { manager } = cache({ pages: 11, tokensPerPage: 16 });
    const a = request('a', range(0, 55), 16);
    expect(admit(manager, a).added).toHaveLength(4);
    expect(grow(manager, a, 55, range(55, 59))).toEqual([]);
    expect(grow(manager, a, 59, range(59, 78))).toEqual([5]);
    expect(keyed(manager, a)).toEqual([T, T, T, T, F]);
  });

  it('M14: hits that must be revived count as taken; a failed allocation changes nothing', () => {
    const { manager, events } = cache({ pages: 11, tokensPerPage: 16 });
    const common = range(0, 48);
    const first = request('first', common, 16);
    const second = request('second', range(0, 96), 16);
    admit(manager, first);
    admit(manager, second);
    manager.free(second);
    admit(manager, request('other', range(500, 532), 16));
    const third = request('third', [...range(0, 96), ...range(700, 745)], 16);
    const before = {
      order: manager.freeOrder(),
      zero: listed(manager.pendingPageIdsToZero()),
      events: events.length,
    };
    expect(before.order).toHaveLength(5);
    expect(admit(manager, third)).toMatchObject({ hit: 96, added: null });
    expect([1, 2, 3, 4, 5, 6, 7, 8].map((page) => manager.refCount(pageId(page)))).toEqual([
      1, 1, 1, 0, 0, 0, 1, 1,
    ]);
    expect({
      order: manager.freeOrder(),
      zero: listed(manager.pendingPageIdsToZero()),
      events: events.length,
    }).toEqual(before);
    expect([manager.pageTable(third.id), manager.statistics.queriedTokens]).toEqual([[], 48 + 96 + 32]);
  });

  it('M15, M16: pages that must stay free for others', () => {
    const fits = [0, 1, 2, 3].map((reservedPages) => {
      const { manager } = cache({ pages: 11, tokensPerPage: 16 });
      return admit(manager, request('a', range(0, 128), 16), { reservedPages }).added !== null;
    });
    expect(fits).toEqual([T, T, T, F]);
  });

  it('a step that takes no page passes, however much is reserved', () => {
    const { manager } = cache({ pages: 3, tokensPerPage: 16 });
    const a = request('a', range(0, 17), 16);
    admit(manager, a);
    a.sequence.append(17);
    expect(allocate(manager, a, { computedTokens: 17, newTokens: 1, reservedPages: 9 })).toEqual([]);
  });
});

describe('the manager refuses', () => {
  it('a hit that is no longer what a lookup gives', () => {
    const { manager } = cache({ pages: 4, tokensPerPage: 4 });
    const a = request('a', range(0, 8), 4);
    admit(manager, a);
    manager.free(a);
    const b = request('b', range(0, 9), 4);
    const hit = manager.lookup(b);
    admit(manager, request('c', range(50, 58), 4));
    expect(() => allocate(manager, b, { hit, computedTokens: 0, newTokens: 1 })).toThrow(/look up again/);
    const wrongCount = { ...hit, tokens: 4 };
    expect(() => allocate(manager, b, { hit: wrongCount, computedTokens: 0, newTokens: 1 })).toThrow(
      InvariantError,
    );
    manager.checkIntegrity();
  });

  it('a second admission, a gap in what is computed, and an id in use', () => {
    const { manager } = cache({ pages: 9, tokensPerPage: 4 });
    const a = request('a', range(0, 8), 4);
    expect(() => allocate(manager, a, { computedTokens: 4, newTokens: 4 })).toThrow(/holds no pages/);
    expect(() => manager.publish(a, 4)).toThrow(/request a holds no pages/);
    admit(manager, a);
    expect(() => allocate(manager, a, { computedTokens: 0, newTokens: 1, externalTokens: 4 })).toThrow(
      InvariantError,
    );
    expect(() => allocate(manager, a, { computedTokens: 9, newTokens: 1 })).toThrow(
      /9 computed tokens, but it holds pages for 8 only/,
    );
    expect(() => manager.publish(a, 12)).toThrow(/cannot publish 3 full pages/);
    const twin = request('a', range(0, 20), 4);
    expect(() => allocate(manager, twin, { computedTokens: 8, newTokens: 8 })).toThrow(/ids must be unique/);
    expect(manager.freePages).toBe(6);
    manager.checkIntegrity();
  });

  it('sequences that are cut differently', () => {
    const { manager } = cache({ pages: 9, tokensPerPage: 4 });
    expect(() => manager.lookup(request('a', range(0, 8), 8))).toThrow(
      /request a: tokens hashed by 8; this cache hashes by 4/,
    );
  });

  it('nothing of requests that it does not know and that only go away', () => {
    const { manager, events } = cache({ pages: 9, tokensPerPage: 4 });
    const a = request('a', range(0, 8), 4);
    manager.free(a);
    expect([manager.withdraw(a, 0), manager.pageTable(a.id), events]).toEqual([[], [], []]);
    admit(manager, a);
    manager.free(a);
    manager.free(a);
    expect(manager.freePages).toBe(8);
  });
});
