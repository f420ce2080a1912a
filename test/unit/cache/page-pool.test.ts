import { describe, expect, it } from 'vitest';
import type { CacheEvent } from '../../../src/cache/events.ts';
import { PagePool } from '../../../src/cache/page-pool.ts';
import { TokenSequence } from '../../../src/cache/token-sequence.ts';
import { ConfigError, InvariantError } from '../../../src/errors.ts';
import { groupId, NULL_PAGE, pageId, requestId, type PageId, type PrefixKey } from '../../../src/units.ts';
import { hasher, pages, range } from './support/fixtures.ts';

const owner = { request: requestId('r'), group: groupId(0) };
/** A prompt of one page, another one for each name. */
const prompt = (name: string): TokenSequence =>
  new TokenSequence({ tokens: Array.from(name, (letter) => letter.charCodeAt(0)), unitTokens: 1, hasher });
const key = (name: string): PrefixKey => prompt(name).prefixKey(name.length, owner.group);

function pool(count: number, options: { caching?: boolean } = {}) {
  const events: CacheEvent[] = [];
  const made = new PagePool(count, { caching: true, onEvent: (event) => events.push(event), ...options });
  const publish = (page: PageId, name: string): void =>
    made.publish({ owner, firstPage: 0, pages: [page], sequence: prompt(name), tokensPerPage: name.length });
  const lookup = (name: string): PageId | null => made.lookup(prompt(name), name.length, owner.group);
  return { pool: made, events, publish, lookup };
}

describe('PagePool', () => {
  it('starts with all but the null page free, in ascending order', () => {
    const { pool: fresh } = pool(5);
    expect(fresh.freeOrder()).toEqual([1, 2, 3, 4]);
    expect(() => new PagePool(0, { caching: true })).toThrow(ConfigError);
  });

  it('P13: usage counts usable pages', () => {
    const five = pool(5).pool;
    expect(five.usage).toBe(0);
    five.allocate(2);
    expect(five.usage).toBe(0.5);
    expect(pool(1).pool.usage).toBe(0);
    const eleven = pool(11).pool;
    eleven.allocate(4);
    expect(eleven.usage).toBeCloseTo(0.4);
  });

  it('P14: takes nothing when there are too few', () => {
    const { pool: some, events } = pool(11);
    some.allocate(4);
    const before = some.freeOrder();
    expect(() => some.allocate(7)).toThrow(InvariantError);
    expect(() => some.allocate(-1)).toThrow(InvariantError);
    expect(some.freeOrder()).toEqual(before);
    expect(events).toHaveLength(1);
    some.checkIntegrity();
  });

  it('scenario 25: a page named twice is freed twice, or the call is refused as a whole', () => {
    const { pool: four } = pool(5);
    four.allocate(3);
    four.touch(pages(2));
    four.free(pages(2, 2));
    expect([four.refCount(pageId(2)), four.freeOrder()]).toEqual([0, [2, 4]]);
    expect(() => four.free(pages(1, 3, 3))).toThrow(/page 3 has fewer references/);
    expect(() => four.free(pages(1, 4))).toThrow(/page 4 has fewer references/);
    expect([1, 2, 3, 4].map((id) => four.refCount(pageId(id)))).toEqual([1, 0, 1, 0]);
    expect(four.freeOrder()).toEqual([2, 4]);
    four.free([NULL_PAGE, pageId(1), NULL_PAGE]);
    four.checkIntegrity();
    expect(four.freeCount).toBe(3);
    expect(new Set(four.allocate(3)).size).toBe(3);
    expect(four.freeCount).toBe(0);
    expect(() => four.allocate(1)).toThrow(InvariantError);
  });

  it('a refused call leaves nothing behind for the next one', () => {
    const { pool: four } = pool(5);
    four.allocate(2);
    expect(() => four.free(pages(1, 3))).toThrow(InvariantError);
    four.free(pages(2));
    expect(four.freeOrder()).toEqual([2, 3, 4]);
    four.checkIntegrity();
  });

  it('frees unkeyed pages to the front and keyed ones to the back, each in the given order', () => {
    const { pool: six, publish } = pool(8);
    six.allocate(5);
    publish(pageId(2), 'a');
    publish(pageId(4), 'b');
    six.free(pages(5, 4, 3, 2, 1));
    expect(six.freeOrder()).toEqual([5, 3, 1, 6, 7, 4, 2]);
  });

  it('without caching keys mean nothing and all freed pages go to the front', () => {
    const { pool: plain, events, publish, lookup } = pool(5, { caching: false });
    plain.allocate(3);
    publish(pageId(1), 'a');
    expect(lookup('a')).toBeNull();
    plain.free(pages(3, 2, 1));
    expect(plain.freeOrder()).toEqual([3, 2, 1, 4]);
    expect(events.map(({ type }) => type)).toEqual(['allocated', 'freed']);
  });

  it('several pages may carry one key; the one published first is found until it loses it', () => {
    const { pool: some, publish, lookup } = pool(8);
    some.allocate(4);
    for (const id of pages(3, 1, 2)) publish(id, 'same');
    expect([lookup('same'), some.keyCount]).toEqual([3, 1]);
    some.withdrawKeys(pageId(3));
    expect(lookup('same')).toBe(1);
    some.withdrawKeys(pageId(2));
    expect(lookup('same')).toBe(1);
    some.checkIntegrity();
    some.withdrawKeys(pageId(1));
    expect([lookup('same'), some.keyCount]).toEqual([null, 0]);
    expect(some.withdrawKeys(pageId(1))).toBe(false);
    some.checkIntegrity();
  });

  it('an allocation strips the key of the page it takes, and only this evicts', () => {
    const { pool: two, events, publish, lookup } = pool(3);
    two.allocate(1);
    publish(pageId(1), 'a');
    two.free(pages(1));
    expect(lookup('a')).toBe(1);
    expect(two.allocate(1)).toEqual([2]);
    expect([lookup('a'), two.evictedCount]).toEqual([1, 0]);
    expect(two.allocate(1)).toEqual([1]);
    expect([lookup('a'), two.evictedCount, two.allocatedCount]).toEqual([null, 1, 3]);
    expect(events.at(-2)).toEqual({ type: 'removed', page: 1, key: key('a'), reason: 'evicted' });
  });

  it('a touch revives a cached page, and a later one only counts', () => {
    const { pool: some, publish } = pool(4);
    some.allocate(1);
    publish(pageId(1), 'a');
    some.free(pages(1));
    some.touch(pages(0, 1, 1));
    expect([some.refCount(pageId(1)), some.freeOrder(), some.refCount(NULL_PAGE)]).toEqual([2, [2, 3], 0]);
    some.checkIntegrity();
  });

  it('gives keys to held pages only, once, and changes nothing when it refuses', () => {
    const { pool: some, events, publish } = pool(5);
    some.allocate(2);
    publish(pageId(1), 'a');
    publish(pageId(1), 'a');
    expect(events.filter(({ type }) => type === 'stored')).toHaveLength(1);
    const publishBoth = (second: PageId): void =>
      some.publish({
        owner,
        firstPage: 0,
        pages: [pageId(2), second],
        sequence: prompt('xy'),
        tokensPerPage: 1,
      });
    for (const wrong of pages(1, 3)) expect(() => publishBoth(wrong)).toThrow(InvariantError);
    expect(some.keyOf(pageId(2))).toBeNull();
    some.checkIntegrity();
  });

  it('a free page keeps its key until it is allocated', () => {
    const { pool: some, publish } = pool(3);
    some.allocate(1);
    publish(pageId(1), 'a');
    some.free(pages(1));
    expect(() => some.withdrawKeys(pageId(1))).toThrow(/page 1 is free/);
  });

  it('scenario 39: the null page is never handed out, freed, counted or keyed', () => {
    const { pool: some } = pool(4);
    expect(some.allocate(3)).toEqual([1, 2, 3]);
    some.touch([NULL_PAGE]);
    some.free([NULL_PAGE]);
    some.free([NULL_PAGE]);
    expect([some.freeCount, some.refCount(NULL_PAGE)]).toEqual([0, 0]);
    some.checkIntegrity();
  });

  it('names pages that do not exist, and changes nothing', () => {
    const { pool: some } = pool(4);
    some.allocate(1);
    for (const wrong of [4, -1, 0.5, Number.NaN]) {
      const ids = [pageId(1), pageId(wrong)];
      expect(() => some.touch(ids)).toThrow(/does not exist; the pool has pages 0 to 3/);
      expect(() => some.free(ids)).toThrow(InvariantError);
    }
    expect(some.refCount(pageId(1))).toBe(1);
  });

  it('P12: resets only when every usable page is free, and leaves the free order alone', () => {
    const { pool: some, events, publish } = pool(11);
    some.allocate(4);
    for (const id of range(1, 4)) publish(pageId(id), `k${id}`);
    expect(some.resetPrefixCache()).toBe(false);
    expect(some.keyCount).toBe(3);
    some.free(pages(4, 3, 2, 1));
    expect(some.resetPrefixCache()).toBe(true);
    expect([some.keyCount, some.keyOf(pageId(1))]).toEqual([0, null]);
    expect(some.freeOrder()).toEqual([4, 5, 6, 7, 8, 9, 10, 3, 2, 1]);
    expect(events.at(-1)).toEqual({ type: 'cleared' });
    some.checkIntegrity();
  });
});
