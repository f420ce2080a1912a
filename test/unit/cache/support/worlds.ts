/** Caches of several groups, driven the way the cases of the specification drive them. */
import {
  CacheManager,
  type AllocateOptions,
  type CacheManagerOptions,
  type CacheRequest,
} from '../../../../src/cache/cache-manager.ts';
import type { CacheEvent } from '../../../../src/cache/events.ts';
import { PagePool } from '../../../../src/cache/page-pool.ts';
import { TokenSequence } from '../../../../src/cache/token-sequence.ts';
import { cacheConfigSchema } from '../../../../src/config.ts';
import type { CacheConfigInput } from '../../../../src/config/cache.ts';
import type { GroupConfigInput } from '../../../../src/config/groups.ts';
import { groupId, pageId, requestId } from '../../../../src/units.ts';
import { hasher, listed } from './fixtures.ts';

const pageBytes = 64;

export const full = (tokensPerPage: number, draft = false): GroupConfigInput => ({
  kind: 'full-attention',
  tokensPerPage,
  pageBytes,
  draft,
});
export const sliding = (tokensPerPage: number, windowTokens: number, draft = false): GroupConfigInput => ({
  kind: 'sliding-window',
  tokensPerPage,
  windowTokens,
  pageBytes,
  draft,
});
export const recurrent = (
  tokensPerPage: number,
  states: 'aligned' | 'all' = 'aligned',
): GroupConfigInput => ({
  kind: 'recurrent',
  tokensPerPage,
  pageBytes,
  states,
});

/** One scheduled piece of work of a request, and what came of it. */
export class World {
  readonly manager: CacheManager;
  readonly pool: PagePool;
  readonly events: CacheEvent[] = [];
  readonly #computed = new Map<CacheRequest, number>();

  constructor(
    pages: number,
    groups: GroupConfigInput[],
    config: Partial<CacheConfigInput> = {},
    options: CacheManagerOptions = {},
  ) {
    const parsed = cacheConfigSchema.parse({ pages, groups, ...config });
    const onEvent = (event: CacheEvent): void => void this.events.push(event);
    this.pool = new PagePool(pages, { caching: parsed.prefixCaching, onEvent });
    this.manager = new CacheManager(parsed, { onEvent, pool: this.pool, ...options });
  }

  request(name: string, tokens: readonly number[], more: Partial<CacheRequest> = {}): CacheRequest {
    const unitTokens = this.manager.layout.hashTokens;
    return { id: requestId(name), sequence: new TokenSequence({ tokens, unitTokens, hasher }), ...more };
  }

  /** Looks up and admits; computes all that the hit leaves, or as many tokens as are asked for. */
  admit(who: CacheRequest, options: Partial<AllocateOptions> = {}) {
    const hit = this.manager.lookup(who);
    const external = options.externalTokens ?? 0;
    const newTokens = options.newTokens ?? who.sequence.length - hit.tokens - external;
    const added = this.manager.allocate(who, { hit, computedTokens: 0, ...options, newTokens });
    this.manager.checkIntegrity();
    if (added) this.#computed.set(who, hit.tokens + external + newTokens);
    return { hit: hit.tokens, boundary: hit.sharedPrefixTokens, pages: hit.pages, added };
  }

  /** The next `newTokens` tokens of a request. */
  run(who: CacheRequest, newTokens: number, options: Partial<AllocateOptions> = {}) {
    this.manager.beginStep();
    const computedTokens = this.#computed.get(who)!;
    const added = this.manager.allocate(who, { computedTokens, newTokens, ...options });
    this.manager.checkIntegrity();
    if (added) this.#computed.set(who, computedTokens + newTokens);
    return added;
  }

  /** Appends tokens one by one, each computed in a step of its own. */
  decode(who: CacheRequest, count: number): void {
    for (let i = 0; i < count; i++) {
      who.sequence.append(9000 + who.sequence.length);
      this.run(who, 1);
    }
  }

  free(who: CacheRequest): void {
    this.manager.free(who);
    this.manager.checkIntegrity();
  }

  tables(who: CacheRequest): number[][] {
    return this.manager.layout.groups.map(({ id }) => [...this.manager.pageTable(who.id, id)]);
  }

  /** Tokens that the key of each page in a table stands for, null pages and pages without a key as null. */
  keyed(who: CacheRequest, group = 0): (number | null)[] {
    return this.manager
      .pageTable(who.id, groupId(group))
      .map((page) => (page === pageId(0) ? null : this.manager.keyedTokens(page)));
  }

  /** Positions whose pages carry a key. */
  published(who: CacheRequest, group: number): number[] {
    return this.keyed(who, group).flatMap((tokens, position) => (tokens === null ? [] : [position]));
  }

  /** Ends a step: copies and zeroing are given out. */
  step() {
    const batch = this.manager.takePageCopies();
    const zeroed = listed(this.manager.takeNewPageIdsToZero());
    const copies = batch.copies.map(({ source, destination }) => `${source}->${destination}`);
    return { batch, copies, zeroed };
  }

  refs(...pages: number[]): number[] {
    return pages.map((page) => this.manager.refCount(pageId(page)));
  }

  /** Loses the key of a unit in a group, wherever a request's pages carry it. */
  evict(who: CacheRequest, unit: number, group: number): void {
    const { tokensPerPage } = this.manager.layout.groups[group];
    const page = this.pool.lookup(who.sequence, (unit + 1) * tokensPerPage, groupId(group));
    if (page !== null) this.pool.evictKeys([page]);
  }
}
