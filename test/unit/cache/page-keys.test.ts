/** Several keys on a page, and keys on the move: cases P16 and P17, and the index under random work. */
import { describe, expect, it } from 'vitest';
import type { CacheEvent } from '../../../src/cache/events.ts';
import { PagePool } from '../../../src/cache/page-pool.ts';
import { GROUPS_MAX, PrefixIndex } from '../../../src/cache/prefix-index.ts';
import { TokenSequence } from '../../../src/cache/token-sequence.ts';
import { ConfigError, InvariantError } from '../../../src/errors.ts';
import { groupId, pageId, requestId } from '../../../src/units.ts';
import { Random } from '../../support/random.ts';
import { hasher, pages, range } from './support/fixtures.ts';

const owner = { request: requestId('r'), group: groupId(0) };

function poolOf(count: number) {
  const events: CacheEvent[] = [];
  const pool = new PagePool(count, { caching: true, onEvent: (event) => events.push(event) });
  const keyEvents = () => events.splice(0).filter(({ type }) => type === 'stored' || type === 'removed');
  return { pool, keyEvents };
}

describe('keys of boundaries inside a page', () => {
  it('P16: the longest comes first, shorter ones stand beside it, the full page takes the place of all', () => {
    const { pool, keyEvents } = poolOf(4);
    const [page] = pool.allocate(1);
    const sequence = new TokenSequence({ tokens: range(0, 8), unitTokens: 2, hasher });
    const partial = (tokens: number): CacheEvent['type'][] => {
      pool.publishPartial({ owner, page, index: 0, sequence, tokens });
      pool.checkIntegrity();
      return keyEvents().map(({ type }) => type);
    };
    expect([partial(2), partial(2)]).toEqual([['stored'], []]);
    expect(partial(6)).toEqual(['removed', 'stored']);
    expect(pool.keyedTokens(page)).toBe(6);
    expect(partial(4)).toEqual(['stored']);
    expect([pool.keyedTokens(page), pool.keysOf(page).length]).toEqual([6, 2]);
    expect([2, 4, 6].map((tokens) => pool.lookup(sequence, tokens, owner.group))).toEqual([null, page, page]);
    pool.publish({ owner, firstPage: 0, pages: [page], sequence, tokensPerPage: 8 });
    expect(keyEvents().map(({ type }) => type)).toEqual(['removed', 'removed', 'stored']);
    expect([pool.keyedTokens(page), pool.keyCount]).toEqual([8, 1]);
    pool.checkIntegrity();
  });

  it('P17: the events tell what a key covers', () => {
    const { pool, keyEvents } = poolOf(4);
    const held = pool.allocate(2);
    const sequence = new TokenSequence({ tokens: [0, 0, 1, 1, 2, 2, 3, 3], unitTokens: 2, hasher });
    pool.publish({ owner, firstPage: 0, pages: held.slice(0, 1), sequence, tokensPerPage: 6 });
    pool.publishPartial({ owner, page: held[1], index: 1, sequence, tokens: 8 });
    expect(keyEvents()).toMatchObject([
      { type: 'stored', keyedTokens: [6], blockTokens: 6, tokens: [0, 0, 1, 1, 2, 2], parent: null },
      {
        type: 'stored',
        keyedTokens: [8],
        blockTokens: 2,
        tokens: [3, 3],
        parent: sequence.prefixKey(6, owner.group),
      },
    ]);
    sequence.append(4);
    sequence.append(4);
    pool.publishPartial({ owner, page: held[1], index: 1, sequence, tokens: 10 });
    expect(keyEvents()).toMatchObject([
      { type: 'removed', key: sequence.prefixKey(8, owner.group), reason: 'replaced' },
      { type: 'stored', keyedTokens: [10], tokens: [4, 4] },
    ]);
  });

  it('move together, with all their boundaries, and leave the source bare', () => {
    const { pool } = poolOf(4);
    const [source, destination] = pool.allocate(2);
    const sequence = new TokenSequence({ tokens: range(0, 8), unitTokens: 2, hasher });
    for (const tokens of [6, 4]) pool.publishPartial({ owner, page: source, index: 0, sequence, tokens });
    pool.moveKeys(source, destination);
    pool.checkIntegrity();
    expect([pool.keysOf(source), pool.keyedTokens(destination)]).toEqual([[], 6]);
    expect([4, 6].map((tokens) => pool.lookup(sequence, tokens, owner.group))).toEqual([
      destination,
      destination,
    ]);
    pool.free([destination]);
    pool.free([source]);
    expect(pool.freeOrder()).toEqual([source, 3, destination]);
    expect(() => pool.moveKeys(destination, source)).toThrow(InvariantError);
  });

  it('leave with the page: an allocation takes all of them', () => {
    const { pool } = poolOf(2);
    const [page] = pool.allocate(1);
    const sequence = new TokenSequence({ tokens: range(0, 8), unitTokens: 2, hasher });
    for (const tokens of [6, 4]) pool.publishPartial({ owner, page, index: 0, sequence, tokens });
    pool.free([page]);
    pool.allocate(1);
    expect([pool.keyCount, pool.evictedCount]).toEqual([0, 1]);
    pool.checkIntegrity();
  });

  it('are taken from any page whose bytes are lost, with references and order as they were', () => {
    const { pool } = poolOf(4);
    const [a, b] = pool.allocate(2);
    const sequence = new TokenSequence({ tokens: range(0, 8), unitTokens: 4, hasher });
    pool.publish({ owner, firstPage: 0, pages: [a, b], sequence, tokensPerPage: 4 });
    pool.free([b]);
    const order = pool.freeOrder();
    pool.evictKeys(pages(a, b));
    expect([pool.keyCount, pool.freeOrder(), pool.refCount(a)]).toEqual([0, order, 1]);
  });
});

describe('the prefix index', () => {
  it('agrees with a list over 200,000 random operations, seed 11', () => {
    const random = new Random(11);
    const index = new PrefixIndex(40);
    // Few different keys, some of which share their first word, so that searches run into one another.
    const keys = Array.from({ length: 24 }, (_, i) =>
      Uint32Array.from({ length: 8 }, (__, w) => (w === 0 ? i % 5 : i)),
    );
    const list: { entry: number; key: number; group: number }[] = [];
    for (let operation = 0; operation < 200_000; operation++) {
      const entry = random.between(0, 39);
      const key = random.between(0, 23);
      const group = groupId(random.between(0, 1));
      const held = list.findIndex((each) => each.entry === entry);
      if (held >= 0) {
        index.remove(entry);
        list.splice(held, 1);
      } else {
        index.add(entry, keys[key], 0, group);
        list.push({ entry, key, group });
      }
      const expected = list.find((each) => each.key === key && each.group === group)?.entry ?? -1;
      expect(index.first(keys[key], 0, group)).toBe(expected);
      if (operation % 5000 === 0) index.checkIntegrity();
    }
    expect(index.size).toBe(new Set(list.map(({ key, group }) => `${key}/${group}`)).size);
  });

  it('finds and removes hundreds of keys whose searches begin at one place, in any order, seed 5', () => {
    const random = new Random(5);
    const count = 600;
    const words = (key: number): Uint32Array => Uint32Array.of(0xffff_ff00, key, 0, 0, 0, 0, 0, 0);
    const found = (key: number): number => index.first(words(key), 0, groupId(0));
    const index = new PrefixIndex(count);
    for (let key = 0; key < count; key++) index.add(key, words(key), 0, groupId(0));
    const left = range(0, count);
    while (left.length > 0) {
      const [key] = left.splice(random.between(0, left.length - 1), 1);
      expect(found(key)).toBe(key);
      index.remove(key);
      expect(found(key)).toBe(-1);
      if (left.length % 50 === 0) {
        index.checkIntegrity();
        expect(left.map(found)).toEqual(left);
      }
    }
  });

  it('keeps few bytes a page: with queue and references at most 64 in a pool of a million', () => {
    const pool = new PagePool(1_000_000, { caching: true });
    expect(pool.byteLength / 1_000_000).toBeLessThanOrEqual(64.01);
    expect(new PagePool(1_000_000, { caching: false }).byteLength / 1_000_000).toBeLessThan(13);
  });

  it('refuses groups that its byte cannot name, and entries that have no key', () => {
    const index = new PrefixIndex(4);
    expect(() => index.add(0, new Uint32Array(8), 0, groupId(GROUPS_MAX))).toThrow(ConfigError);
    expect(() => index.remove(pageId(2))).toThrow(InvariantError);
  });
});
