/** Caches with one rule broken each, to show that the comparison with the model notices. */
import {
  CacheManager,
  type AllocateOptions,
  type CacheManagerOptions,
  type CacheRequest,
  type GroupPages,
  type PagesByGroup,
} from '../../../src/cache/cache-manager.ts';
import type { PageOwner } from '../../../src/cache/events.ts';
import { SlidingWindowGroup } from '../../../src/cache/groups/sliding-window.ts';
import { PagePool } from '../../../src/cache/page-pool.ts';
import type { TokenSequence } from '../../../src/cache/token-sequence.ts';
import type { CacheConfig } from '../../../src/config.ts';
import { NULL_PAGE, type GroupId, type PageId } from '../../../src/units.ts';
import type { LifeParts } from './life.ts';

/** Frees the head of a table before its tail. */
class HeadFirstPool extends PagePool {
  override free(pages: readonly PageId[], owner: PageOwner | null = null): void {
    super.free(pages.toReversed(), owner);
  }
}

/** Goes on finding a page by the keys that it lost when it was allocated anew. */
class EvictionlessPool extends PagePool {
  readonly #survivors = new Map<string, PageId>();

  override allocate(count: number, owner: PageOwner | null = null, at: number | null = null): PageId[] {
    for (const page of this.freeOrder().slice(0, count)) {
      for (const key of this.keysOf(page)) this.#survivors.set(key, page);
    }
    return super.allocate(count, owner, at);
  }

  override lookup(sequence: TokenSequence, tokens: number, group: GroupId): PageId | null {
    const page = super.lookup(sequence, tokens, group);
    return page ?? this.#survivors.get(sequence.prefixKey(tokens, group)) ?? null;
  }

  override carries(page: PageId, sequence: TokenSequence, tokens: number, group: GroupId): boolean {
    if (super.carries(page, sequence, tokens, group)) return true;
    const isBoundary = tokens % sequence.unitTokens === 0;
    return isBoundary && this.#survivors.get(sequence.prefixKey(tokens, group)) === page;
  }
}

/** Holds what was found only when something has been allocated, which may evict it. */
class LateTouchPool extends PagePool {
  #late: (readonly [readonly PageId[], PageOwner | null, number | null])[] = [];

  override touch(pages: readonly PageId[], owner: PageOwner | null = null, at: number | null = null): void {
    if (owner === null) super.touch(pages, owner, at);
    else this.#late.push([pages, owner, at]);
  }

  override allocate(count: number, owner: PageOwner | null = null, at: number | null = null): PageId[] {
    const pages = super.allocate(count, owner, at);
    this.#catchUp();
    return pages;
  }

  override checkIntegrity(): void {
    this.#catchUp();
    super.checkIntegrity();
  }

  #catchUp(): void {
    for (const touched of this.#late.splice(0)) super.touch(...touched);
  }
}

/** Loses a reference of each list of pages that is freed. */
class LeakyPool extends PagePool {
  override free(pages: readonly PageId[], owner: PageOwner | null = null): void {
    super.free(pages.filter((page) => page !== NULL_PAGE).slice(1), owner);
  }
}

/** Leaves a key to the page that got it last. */
class LastWinsPool extends PagePool {
  override lookup(sequence: TokenSequence, tokens: number, group: GroupId): PageId | null {
    for (let page = this.pages - 1; page > NULL_PAGE; page--) {
      if (this.carries(page as PageId, sequence, tokens, group)) return page as PageId;
    }
    return null;
  }
}

/** Does not list for zeroing what a copy is about to fill. */
class CopylessZeroManager extends CacheManager {
  override takeNewPageIdsToZero(): GroupPages[] {
    return this.#withoutCopies(super.takeNewPageIdsToZero());
  }

  override pendingPageIdsToZero(): GroupPages[] {
    return this.#withoutCopies(super.pendingPageIdsToZero());
  }

  #withoutCopies(lists: readonly GroupPages[]): GroupPages[] {
    const filled = new Set(this.pendingPageCopies().map(({ destination }) => destination));
    return lists.map(({ group, pages }) => ({ group, pages: pages.filter((page) => !filled.has(page)) }));
  }
}

/** Its windows let go of the first page that is still read. */
class ShortWindowManager extends CacheManager {
  override allocate(request: CacheRequest, options: AllocateOptions): PagesByGroup | null {
    const prototype = SlidingWindowGroup.prototype;
    const trim = Reflect.get<SlidingWindowGroup, 'trim'>(prototype, 'trim');
    Object.defineProperty(prototype, 'trim', {
      configurable: true,
      value(this: SlidingWindowGroup, ...[id, tokens]: Parameters<typeof trim>) {
        return trim.call(this, id, tokens + this.layout.tokensPerPage);
      },
    });
    try {
      return super.allocate(request, options);
    } finally {
      Reflect.deleteProperty(prototype, 'trim');
    }
  }
}

/** Passes over the pages that it is told to hold for a request while `isForking`. */
class ForkedPool extends PagePool {
  isForking = false;

  override touch(pages: readonly PageId[], owner: PageOwner | null = null, at: number | null = null): void {
    if (!this.isForking || owner === null) super.touch(pages, owner, at);
  }
}

/** Lets a fork share pages without holding them. */
class LooseForkManager extends CacheManager {
  readonly #pool: ForkedPool;

  constructor(config: CacheConfig, options: CacheManagerOptions) {
    const { pool } = options;
    if (!(pool instanceof ForkedPool)) throw new Error('a loose fork needs its own pool');
    super(config, options);
    this.#pool = pool;
  }

  override fork(...all: Parameters<CacheManager['fork']>): boolean {
    this.#pool.isForking = true;
    const isForked = super.fork(...all);
    this.#pool.isForking = false;
    return isForked;
  }
}

export const BROKEN: Readonly<Record<string, LifeParts>> = {
  'frees the head of a table before its tail': { makePool: (...all) => new HeadFirstPool(...all) },
  'finds a page by a key that was evicted': { makePool: (...all) => new EvictionlessPool(...all) },
  'allocates before it holds what was found': { makePool: (...all) => new LateTouchPool(...all) },
  'loses a reference whenever pages are freed': { makePool: (...all) => new LeakyPool(...all) },
  'prefers the later one of two pages with a key': { makePool: (...all) => new LastWinsPool(...all) },
  'does not zero what a copy fills': { makeManager: (...all) => new CopylessZeroManager(...all) },
  'trims a window one page too far': { makeManager: (...all) => new ShortWindowManager(...all) },
  'forks without holding what is shared': {
    makePool: (...all) => new ForkedPool(...all),
    makeManager: (...all) => new LooseForkManager(...all),
  },
};
