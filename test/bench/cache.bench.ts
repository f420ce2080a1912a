/** The cache core by itself: pages a second, hashing, admission of a long prompt. No GPU. */
import { sha256 } from '@noble/hashes/sha2.js';
import { it } from 'vitest';
import { CacheManager } from '../../src/cache/cache-manager.ts';
import { PagePool } from '../../src/cache/page-pool.ts';
import { createPrefixHasher } from '../../src/cache/prefix-key.ts';
import { TokenSequence } from '../../src/cache/token-sequence.ts';
import { cacheConfigSchema } from '../../src/config.ts';
import { groupId, requestId, type PageId } from '../../src/units.ts';
import { allocatedBytes } from './allocation-counter.ts';

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

/** Bytes a page of each way, which handles so many pages a round. */
function reportAllocation(pages: number, ways: Record<string, () => number>): void {
  console.log('bytes allocated a page; a list that has a place for it is 8 of them');
  for (const [name, bytes] of Object.entries(ways)) {
    console.log(`${(bytes() / pages).toFixed(1).padStart(7)}  ${name}`);
  }
}

const millions = (value: number): string => (value / 1e6).toFixed(1).padStart(7);

function lots(pool: PagePool, count: number): number {
  for (let i = 0; i < count; i++) pool.free(pool.allocate(LOT));
  return count * LOT;
}

/** The same by hand: a stack of page numbers, each taken and put back. */
function lotsByHand(stack: number[], count: number): number {
  for (let i = 0; i < count; i++) {
    const taken: number[] = [];
    for (let k = 0; k < LOT; k++) taken.push(stack.pop()!);
    for (const page of taken) stack.push(page);
  }
  return count * LOT;
}

it('cache: pages a second', () => {
  const pools = new Map([1000, 1_000_000].map((pages) => [pages, new PagePool(pages, { caching: true })]));
  const one = (pool: PagePool): number => {
    for (let i = 0; i < 200_000; i++) pool.free(pool.allocate(1));
    return 200_000;
  };
  const stack = Array.from({ length: 1_000_000 }, (_, page) => page);
  const rates = contest({
    'lots of 500, pool of 1,000,000': () => lots(pools.get(1_000_000)!, 1000),
    'lots of 500, pool of 1,000': () => lots(pools.get(1000)!, 1000),
    'one page, pool of 1,000,000': () => one(pools.get(1_000_000)!),
    'one page, pool of 1,000': () => one(pools.get(1000)!),
    'a stack of numbers, lots of 500': () => lotsByHand(stack, 1000),
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
  const times = { both: [] as number[], freed: [] as number[], allocated: [] as number[] };
  let held: PageId[][] = [pool.allocate(pages)];
  for (let round = 0; round < ROUNDS; round++) {
    pool.publish({ owner, firstPage: 0, pages: held.flat(), sequence, tokensPerPage: 1 });
    const start = performance.now();
    for (const lot of held) pool.free(lot);
    const middle = performance.now();
    held = Array.from({ length: pages / LOT }, () => pool.allocate(LOT));
    const end = performance.now();
    times.both.push(end - start);
    times.freed.push(middle - start);
    times.allocated.push(end - middle);
  }
  console.log('million pages a second, with a key each');
  const rate = (list: readonly number[]): string => millions((1000 * pages) / median(list));
  console.log(`${rate(times.both)}  freed and allocated, which evicts the key, lots of 500`);
  console.log(`${rate(times.freed)}  of it: freed`);
  console.log(`${rate(times.allocated)}  of it: allocated`);
});

it('cache: bytes allocated', () => {
  const count = 20 * LOT;
  const pool = new PagePool(count + 1, { caching: true });
  const sequence = new TokenSequence({ tokens: new Uint32Array(count), unitTokens: 1, hasher });
  const publish = (): void => {
    const pages = pool.allocate(count);
    pool.publish({ owner, firstPage: 0, pages, sequence, tokensPerPage: 1 });
    pool.free(pages);
  };
  const stack = Array.from({ length: count }, (_, page) => page);
  reportAllocation(count, {
    'lots of 500, allocated and freed': () => allocatedBytes(() => lots(pool, count / LOT)),
    'lots of 500, each page loses a key': () => {
      const held: PageId[][] = [];
      const evict = (): void => {
        for (let i = 0; i < count / LOT; i++) held.push(pool.allocate(LOT));
        for (const lot of held) pool.free(lot);
      };
      return allocatedBytes(evict, () => {
        held.length = 0;
        publish();
      });
    },
    'cached pages: touched and freed in lots of 500': () => {
      publish();
      const cached = Array.from({ length: count / LOT }, (_, lot) =>
        Array.from({ length: LOT }, (_, i) => pool.lookup(sequence, lot * LOT + i + 1, owner.group)!),
      );
      return allocatedBytes(() => {
        for (const lot of cached) {
          pool.touch(lot);
          pool.free(lot);
        }
      });
    },
    'a stack of numbers, lots of 500': () => allocatedBytes(() => lotsByHand(stack, count / LOT)),
  });
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
  const sequence = () => new TokenSequence({ tokens, unitTokens: 16, hasher });
  let request = { id: requestId('r'), sequence: sequence() };
  const prepare = (): void => {
    request = { id: requestId('r'), sequence: sequence() };
    request.sequence.hashWords(8000);
  };
  const admit = (): void => {
    const hit = cache.lookup(request);
    cache.allocate(request, { hit, computedTokens: 0, newTokens: tokens.length - hit.tokens });
  };
  const timed = (): number => {
    prepare();
    const start = performance.now();
    admit();
    const milliseconds = performance.now() - start;
    cache.free(request);
    return milliseconds;
  };
  const times = Array.from({ length: 31 }, timed).slice(5);
  console.log(`${median(times).toFixed(2).padStart(7)}  ms beyond the hashing, 8,000 pages of 16 tokens`);
  const free = (): void => cache.free(request);
  reportAllocation(8000, {
    'lookup and admission': () =>
      allocatedBytes(admit, () => {
        free();
        prepare();
      }),
    'giving the request back': () =>
      allocatedBytes(free, () => {
        free();
        prepare();
        admit();
      }),
  });
});
