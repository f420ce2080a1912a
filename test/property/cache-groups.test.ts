/**
 * Several groups over one pool, in random layouts and lives. After each operation the cache must be whole, and each
 * lookup must give the longest length that is valid in all groups by the plain definition: every length is tried, from
 * the longest down, and asked of each group.
 */
import { describe, expect, it } from 'vitest';
import { CacheManager, type CacheRequest, type PageCopyBatch } from '../../src/cache/cache-manager.ts';
import { PagePool } from '../../src/cache/page-pool.ts';
import { createPrefixHasher } from '../../src/cache/prefix-key.ts';
import { TokenSequence } from '../../src/cache/token-sequence.ts';
import { cacheConfigSchema } from '../../src/config.ts';
import type { GroupConfigInput } from '../../src/config/groups.ts';
import type { GroupLayout } from '../../src/config/layout.ts';
import { chunkEnd } from '../../src/schedule/chunk-split.ts';
import { NULL_PAGE, requestId, type GroupId, type PageId } from '../../src/units.ts';
import { Random } from '../support/random.ts';
import { EventReplay } from '../unit/cache/support/event-replay.ts';

const OPERATIONS_WANTED = Number(process.env.PAGEFENCE_OPERATIONS ?? 100_000);
const SEED = Number(process.env.PAGEFENCE_SEED ?? 1);
const OPERATIONS_PER_LIFE = 120;
const hasher = createPrefixHasher();

function randomGroups(random: Random): GroupConfigInput[] {
  const base = random.pick([1, 2, 4]);
  const size = (): number => base * random.pick([1, 1, 2, 3]);
  const group = (): GroupConfigInput => {
    const tokensPerPage = size();
    const common = { tokensPerPage, pageBytes: 4 * random.between(1, 4) };
    const draft = random.chance(0.2);
    switch (random.between(0, 6)) {
      case 0:
        return { kind: 'sliding-window', windowTokens: random.between(2, 9), draft, ...common };
      case 1:
        return { kind: 'chunked-local', chunkTokens: tokensPerPage * random.between(1, 3), ...common };
      case 2:
        return { kind: 'recurrent', states: random.pick(['aligned', 'aligned', 'all'] as const), ...common };
      case 3:
        return {
          kind: 'ring',
          capacityTokens: random.between(1, 6),
          after: random.pick(['tail', 'history'] as const),
          pageBytes: 8,
        };
      case 4:
        return { kind: 'compressed', ratio: base, ...common };
      default:
        return { kind: 'full-attention', draft, ...common };
    }
  };
  return Array.from({ length: random.between(1, 5) }, group);
}

interface Live {
  readonly request: CacheRequest;
  computed: number;
  /** Computed before the work of the current step. */
  before: number;
}

type PoolMaker = (...args: ConstructorParameters<typeof PagePool>) => PagePool;

class Life {
  readonly manager: CacheManager;
  readonly pool: PagePool;
  readonly reached = new Set<string>();
  readonly #random: Random;
  readonly #replay: EventReplay;
  readonly #live: Live[] = [];
  readonly #batches: PageCopyBatch[] = [];
  #count = 0;

  constructor(seed: number, makePool: PoolMaker) {
    const random = new Random(seed);
    this.#random = random;
    let config = null;
    while (config === null) {
      const parsed = cacheConfigSchema.safeParse({
        pages: random.between(4, 40),
        groups: randomGroups(random),
        contextParallel: random.pick([1, 1, 1, 2]),
        prefixCaching: random.chance(0.9),
        zeroing: random.pick(['auto', 'always', 'poison']),
        ...(random.chance(0.2) && { retentionTokens: 0 }),
      });
      if (parsed.success) config = parsed.data;
    }
    this.#replay = new EventReplay(config.pages);
    const onEvent = this.#replay.apply.bind(this.#replay);
    this.pool = makePool(config.pages, { caching: config.prefixCaching, onEvent });
    this.manager = new CacheManager(config, { pool: this.pool, onEvent });
  }

  run(operations: number): void {
    for (let i = 0; i < operations; i++) {
      this.#operate();
      this.#check();
    }
    while (this.#live.length > 0) this.#free(this.#live[0]);
    this.#step();
    for (const batch of this.#batches.splice(0)) this.manager.releasePageCopies(batch);
    this.#check();
    expect(this.manager.freePages, 'pages that came home').toBe(this.manager.pageCountMax);
    expect(this.manager.resetPrefixCache()).toBe(true);
    expect(this.#replay.keysOfPage.size).toBe(0);
  }

  #operate(): void {
    const random = this.#random;
    const live = this.#live.length > 0 ? random.pick(this.#live) : null;
    const choice = random.between(0, 15);
    if (live === null || choice < 4) this.#admit();
    else if (choice < 10) this.#continue(live);
    else if (choice === 10) this.#free(live);
    else if (choice === 11) this.#cancel(live);
    else if (choice === 12) this.#fork(live);
    else this.#step();
  }

  /** Prompts of three families share beginnings; some differ at their end. */
  #admit(): void {
    const random = this.#random;
    const family = random.between(0, 2);
    const tokens = Array.from(
      { length: random.between(1, 26) },
      (_, i) => (i * 7 + family * (1 + (i % 2))) % 5,
    );
    if (random.chance(0.3)) tokens[tokens.length - 1] = 100 + this.#count;
    const request = this.#request(tokens);
    const hit = this.manager.lookup(request);
    expect(hit.tokens, 'the longest hit of all groups').toBe(this.#longestHit(request));
    if (hit.tokens > 0) this.reached.add('hit');
    if (hit.tokens > 0 && hit.tokens % this.manager.layout.unitTokens !== 0)
      this.reached.add('hit inside a unit');
    const newTokens = this.#chunk(request, hit.tokens, hit.sharedPrefixTokens);
    if (newTokens === 0) return;
    const before = this.manager.freePages;
    const added = this.manager.allocate(request, { hit, computedTokens: 0, newTokens });
    if (added === null) {
      this.reached.add('refused');
      expect(this.manager.freePages, 'a refusal changes nothing').toBe(before);
      return;
    }
    this.#live.push({ request, computed: hit.tokens + newTokens, before: hit.tokens });
  }

  #continue(live: Live): void {
    const { sequence } = live.request;
    if (live.computed === sequence.length) sequence.append(this.#random.between(0, 4));
    const newTokens = this.#chunk(live.request, live.computed, 0);
    if (newTokens === 0) return;
    const inFlightTokens = this.#random.pick([0, 0, live.computed - live.before]);
    const added = this.manager.allocate(live.request, {
      computedTokens: live.computed,
      newTokens,
      inFlightTokens,
    });
    if (added === null) return;
    live.before = live.computed;
    live.computed += newTokens;
  }

  #free(live: Live): void {
    this.manager.free(live.request);
    this.#live.splice(this.#live.indexOf(live), 1);
  }

  /** Cancelled in the step that scheduled it; whoever built on its pages in this step goes as well. */
  #cancel(live: Live): void {
    const sharers = this.manager.withdraw(live.request, live.before);
    this.reached.add(sharers.length > 0 ? 'shared when withdrawn' : 'withdrawn');
    this.#free(live);
    for (const other of this.#live.filter(({ request }) => sharers.includes(request.id))) this.#cancel(other);
  }

  #fork(live: Live): void {
    const child = this.#request([...live.request.sequence.tokens()]);
    if (!this.manager.fork(live.request, child, live.computed)) return;
    this.reached.add('fork');
    this.#live.push({ request: child, computed: live.computed, before: live.computed });
  }

  #step(): void {
    this.manager.takeNewPageIdsToZero();
    const batch = this.manager.takePageCopies();
    if (batch.copies.length > 0) this.reached.add('copy');
    this.#batches.push(batch);
    if (this.#batches.length > 1) this.manager.releasePageCopies(this.#batches.shift()!);
    this.manager.beginStep();
    for (const live of this.#live) live.before = live.computed;
  }

  #chunk({ sequence, promptTokens = 0 }: CacheRequest, start: number, sharedPrefixTokens: number): number {
    const end = Math.min(sequence.length, start + this.#random.between(1, 12));
    const bounds = {
      start,
      end,
      length: sequence.length,
      promptTokens,
      sharedPrefixTokens,
      stepTokensMax: 12,
    };
    return chunkEnd(this.manager.layout, bounds) - start;
  }

  #request(tokens: readonly number[]): CacheRequest {
    const unitTokens = this.manager.layout.hashTokens;
    const id = requestId(`r${this.#count++}`);
    return { id, sequence: new TokenSequence({ tokens, unitTokens, hasher }), promptTokens: tokens.length };
  }

  #longestHit({ sequence }: CacheRequest): number {
    const { layout } = this.manager;
    const groups = layout.groups.filter(({ cacheable }) => cacheable);
    if (groups.length === 0) return 0;
    const history = Math.max(
      0,
      ...layout.groups.map(({ config }) =>
        config.kind === 'ring' && config.after === 'history' ? config.capacityTokens : 0,
      ),
    );
    const longest = (bound: number): number => {
      for (let tokens = bound; tokens > 0; tokens--) {
        if (tokens % layout.hitTokens !== 0) continue;
        if (groups.every((group) => this.#isValid(group, sequence, tokens))) return tokens;
      }
      return 0;
    };
    const agreed = longest(sequence.length - 1);
    return history > 0 && agreed > 0 ? longest(Math.max(0, agreed - history)) : agreed;
  }

  #isValid(group: GroupLayout, sequence: TokenSequence, tokens: number): boolean {
    const { tokensPerPage: size, config } = group;
    const bound = sequence.length - 1;
    const has = (at: number): boolean => at <= bound && this.pool.lookup(sequence, at, group.id) !== null;
    const hasPages = (first: number, end: number): boolean => {
      for (let page = first; page < end; page++) if (!has((page + 1) * size)) return false;
      return true;
    };
    switch (config.kind) {
      case 'recurrent':
        return has(tokens);
      case 'sliding-window': {
        const first = Math.min(
          Math.floor(Math.max(0, tokens - config.windowTokens + 1) / size),
          tokens / size - 1,
        );
        return hasPages(first, tokens / size + (group.draft ? 1 : 0));
      }
      case 'chunked-local':
        return hasPages(Math.floor(tokens / config.chunkTokens) * (config.chunkTokens / size), tokens / size);
      default: {
        const end = tokens + (group.draft ? Math.min(this.manager.layout.hitTokens, size) : 0);
        if (!hasPages(0, Math.floor(end / size))) return false;
        if (end % size === 0) return true;
        const page = Math.floor(end / size);
        for (let at = end; at <= (page + 1) * size; at += this.manager.layout.hashTokens)
          if (has(at)) return true;
        return false;
      }
    }
  }

  #check(): void {
    this.manager.checkIntegrity();
    for (const { id } of this.manager.layout.groups) {
      for (const { request } of this.#live) this.#compareTable(request, id);
    }
    const free = this.manager.freeOrder().sort((a, b) => a - b);
    expect(this.#replay.freePages(), 'free pages by the events').toEqual(free);
  }

  #compareTable({ id }: CacheRequest, group: GroupId): void {
    const withoutTail = (table: readonly number[]): string => table.join().replace(/(,?\b0)+$/, '');
    const table: readonly PageId[] = this.manager.pageTable(id, group);
    const replayed = this.#replay.table(id, group);
    if (withoutTail(table) !== withoutTail(replayed))
      expect(replayed, `table of ${id}/${group}`).toEqual(table);
  }
}

const plainPool: PoolMaker = (...args) => new PagePool(...args);

function lives(makePool: PoolMaker, operations: number): { operations: number; reached: Set<string> } {
  const reached = new Set<string>();
  let done = 0;
  for (let seed = SEED; done < operations; seed++) {
    const life = new Life(seed, makePool);
    try {
      life.run(OPERATIONS_PER_LIFE);
    } catch (error) {
      throw new Error(
        `seed ${seed}, layout ${JSON.stringify(life.manager.layout.groups.map(({ config }) => config))}`,
        {
          cause: error,
        },
      );
    }
    for (const what of life.reached) reached.add(what);
    done += OPERATIONS_PER_LIFE;
  }
  return { operations: done, reached };
}

class LeakyPool extends PagePool {
  override free(...[pages, owner]: Parameters<PagePool['free']>): void {
    super.free(pages.filter((page) => page !== NULL_PAGE).slice(1), owner);
  }
}

class UntouchedHitPool extends PagePool {
  override touch(...[pages, ...more]: Parameters<PagePool['touch']>): void {
    super.touch(pages.slice(0, -1), ...more);
  }
}

describe(`several groups, seeds from ${SEED}`, () => {
  it(`are whole after each of ${OPERATIONS_WANTED} operations, and find the longest common hit`, () => {
    const { operations, reached } = lives(plainPool, OPERATIONS_WANTED);
    console.log(`${operations} operations on several groups, seeds from ${SEED}`);
    expect(operations).toBeGreaterThanOrEqual(OPERATIONS_WANTED);
    expect([...reached].sort()).toEqual(
      ['copy', 'fork', 'hit', 'hit inside a unit', 'refused', 'shared when withdrawn', 'withdrawn'].sort(),
    );
  });

  it.each([
    ['loses a page of each table that is freed', (...args) => new LeakyPool(...args)],
    ['does not hold the last page that it gives', (...args) => new UntouchedHitPool(...args)],
  ] satisfies [string, PoolMaker][])('a pool that %s is caught', (_, makePool) => {
    expect(() => lives(makePool, 6000)).toThrow(/^seed/);
  });
});
