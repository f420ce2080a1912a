/** The cache core by itself: pages a second, hashing, admission of a long prompt. No GPU. */
import { sha256 } from '@noble/hashes/sha2.js';
import { it } from 'vitest';
import { CacheManager } from '../../src/cache/cache-manager.ts';
import { PagePool } from '../../src/cache/page-pool.ts';
import { createPrefixHasher } from '../../src/cache/prefix-key.ts';
import { TokenSequence } from '../../src/cache/token-sequence.ts';
import { cacheConfigSchema } from '../../src/config.ts';
import { groupId, requestId, type PageId } from '../../src/units.ts';

const LOT = 500;
const ROUNDS = 11;
const hasher = createPrefixHasher();
const owner = { request: requestId('bench'), group: groupId(0) };

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1];
}

/** Medians of interleaved rounds, in units a second. */
function contest(ways: Record<string, () => number>): Record<string, number> {
  const rates: Record<string, number[]> = {};
  for (let round = -3; round < ROUNDS; round++) {
    for (const [name, way] of Object.entries(ways)) {
      const start = performance.now();
      const units = way();
      const rate = (units / (performance.now() - start)) * 1000;
      if (round >= 0) (rates[name] ??= []).push(rate);
    }
  }
  return Object.fromEntries(Object.entries(rates).map(([name, list]) => [name, median(list)]));
}

const millions = (value: number): string => (value / 1e6).toFixed(1).padStart(7);

function lots(pool: PagePool, count: number): number {
  for (let i = 0; i < count; i++) pool.free(pool.allocate(LOT));
  return count * LOT;
}

it('cache: pages a second', () => {
  const pools = new Map([1000, 1_000_000].map((pages) => [pages, new PagePool(pages, { caching: true })]));
  const one = (pool: PagePool): number => {
    for (let i = 0; i < 200_000; i++) pool.free(pool.allocate(1));
    return 200_000;
  };
  // The same by hand: a stack of page numbers, each taken and put back.
  const stack = Array.from({ length: 1_000_000 }, (_, page) => page);
  const byHand = (): number => {
    for (let i = 0; i < 1000; i++) {
      const taken: number[] = [];
      for (let k = 0; k < LOT; k++) taken.push(stack.pop()!);
      for (const page of taken) stack.push(page);
    }
    return 1000 * LOT;
  };
  const rates = contest({
    'lots of 500, pool of 1,000,000': () => lots(pools.get(1_000_000)!, 1000),
    'lots of 500, pool of 1,000': () => lots(pools.get(1000)!, 1000),
    'one page, pool of 1,000,000': () => one(pools.get(1_000_000)!),
    'one page, pool of 1,000': () => one(pools.get(1000)!),
    'a stack of numbers, lots of 500': byHand,
  });
  console.log('million pages a second, allocated and freed');
  for (const [name, rate] of Object.entries(rates)) console.log(`${millions(rate)}  ${name}`);
  const bytes = pools.get(1_000_000)!.byteLength / 1_000_000;
  console.log(`${bytes.toFixed(1).padStart(7)}  bytes of bookkeeping a page`);
});

it('cache: evictions', () => {
  const pages = 100_000;
  const pool = new PagePool(pages + 1, { caching: true });
  const sequence = new TokenSequence({ tokens: new Uint32Array(pages), unitTokens: 1, hasher });
  sequence.hashWords(pages);
  const seconds: number[] = [];
  let held: PageId[] = pool.allocate(pages);
  for (let round = 0; round < ROUNDS; round++) {
    pool.publish({ owner, firstPage: 0, pages: held, sequence, tokensPerPage: 1 });
    pool.free(held);
    const taken: PageId[][] = [];
    const start = performance.now();
    for (let i = 0; i < pages / LOT; i++) taken.push(pool.allocate(LOT));
    seconds.push((performance.now() - start) / 1000);
    held = taken.flat();
  }
  console.log(`${millions(pages / median(seconds))}  million pages a second, each allocation evicts a key`);
});

it('cache: hashing', () => {
  const tokens = Uint32Array.from({ length: 128_000 }, (_, i) => i);
  const bytes = new Uint8Array(tokens.buffer);
  const chained = (unitTokens: number) => () => {
    new TokenSequence({ tokens, unitTokens, hasher }).hashWords(tokens.length / unitTokens);
    return tokens.length;
  };
  const rates = contest({
    'chained, units of 16 tokens': chained(16),
    'chained, units of 64 tokens': chained(64),
    'chained, units of 512 tokens': chained(512),
    'sha256 of all tokens at once (the plain library)': () => {
      sha256(bytes);
      return tokens.length;
    },
  });
  console.log('million tokens a second');
  for (const [name, rate] of Object.entries(rates)) console.log(`${millions(rate)}  ${name}`);
});

it('cache: admission of 128,000 tokens that are all cached', () => {
  const tokens = Uint32Array.from({ length: 128_000 }, (_, i) => i);
  const config = cacheConfigSchema.parse({ pages: 20_000, tokensPerPage: 16, pageBytes: 64 });
  const cache = new CacheManager(config);
  const admit = (): number => {
    const request = { id: requestId('r'), sequence: new TokenSequence({ tokens, unitTokens: 16, hasher }) };
    request.sequence.hashWords(8000);
    const start = performance.now();
    const hit = cache.lookup(request);
    cache.allocate(request, { hit, computedTokens: 0, newTokens: tokens.length - hit.tokens });
    const milliseconds = performance.now() - start;
    cache.free(request);
    return milliseconds;
  };
  const times = Array.from({ length: 31 }, admit).slice(5);
  console.log(`${median(times).toFixed(2).padStart(7)}  ms beyond the hashing, 8,000 pages of 16 tokens`);
});
