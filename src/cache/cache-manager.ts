/**
 * Who owns which page. The manager admits, extends and frees requests over one pool of pages, finds prompts that
 * begin alike, and lists the pages to zero. Pure and synchronous: it knows page ids, never bytes.
 *
 * Regions of a request's table in the step that admits it:
 *
 *   | hit: found on the device | external: a load brings them | new: computed in this step | lookahead |
 *   touched                    allocated, and listed for zeroing ---------------------------------------
 */
import type { CacheConfig } from '../config.ts';
import { ConfigError, invariant } from '../errors.ts';
import { groupId, NULL_PAGE, pageId, type PageId, type PrefixKey, type RequestId } from '../units.ts';
import type { CacheEventHandler } from './events.ts';
import { requireAmounts, requirePlace, requireCount, type AllocateOptions } from './allocate-options.ts';
import { FullAttentionGroup } from './groups/full-attention.ts';
import { NO_HIT, type CacheGroup, type CacheRequest, type PrefixHit } from './groups/group.ts';
import { PagePool } from './page-pool.ts';
import type { TokenSequence } from './token-sequence.ts';
import { ZeroList } from './zero-list.ts';

export type { AllocateOptions } from './allocate-options.ts';
export type { CacheRequest, PrefixHit } from './groups/group.ts';

export interface CacheManagerOptions {
  readonly onEvent?: CacheEventHandler;
  /** A pool of `config.pages` pages to use instead of a new one. Its own events go where it was told. */
  readonly pool?: PagePool;
}

export interface CacheStatistics {
  /** Tokens of requests at their first admission, and those of them that were found on the device. */
  readonly queriedTokens: number;
  readonly hitTokens: number;
  /** The same for admissions after a preemption or a failed load. */
  readonly readmittedTokens: number;
  readonly readmittedHitTokens: number;
  readonly pagesAllocated: number;
  /** Pages that lost a key because they were allocated anew. */
  readonly pagesEvicted: number;
  /** Pages that `takeNewPageIdsToZero` gave out. */
  readonly pagesZeroed: number;
}

export class CacheManager {
  /** Pages that requests can hold: all but the null page. */
  readonly pageCountMax: number;
  readonly #tokensPerPage: number;
  readonly #pool: PagePool;
  readonly #group: CacheGroup;
  readonly #zeroList: ZeroList | null;
  readonly #onEvent: CacheEventHandler | undefined;
  /** Sequences that were admitted before, so that each counts once, however often it is preempted. */
  readonly #admitted = new WeakSet<TokenSequence>();
  #queriedTokens = 0;
  #hitTokens = 0;
  #readmittedTokens = 0;
  #readmittedHitTokens = 0;

  constructor(config: CacheConfig, options: CacheManagerOptions = {}) {
    const { onEvent } = options;
    this.#onEvent = onEvent;
    this.#pool =
      options.pool ??
      new PagePool(config.pages, { caching: config.prefixCaching, ...(onEvent && { onEvent }) });
    this.pageCountMax = config.pages - 1;
    this.#tokensPerPage = config.tokensPerPage;
    // With one group all pages have one format: stale rows are ordinary numbers there, which masking disposes of.
    this.#zeroList = config.zeroing === 'auto' ? null : new ZeroList(config.pages);
    this.#group = new FullAttentionGroup({
      id: groupId(0),
      tokensPerPage: config.tokensPerPage,
      pool: this.#pool,
      zeroList: this.#zeroList,
    });
  }

  /** Pages without a reference. Those that carry a key are among them. */
  get freePages(): number {
    return this.#pool.freeCount;
  }

  get statistics(): CacheStatistics {
    return {
      queriedTokens: this.#queriedTokens,
      hitTokens: this.#hitTokens,
      readmittedTokens: this.#readmittedTokens,
      readmittedHitTokens: this.#readmittedHitTokens,
      pagesAllocated: this.#pool.allocatedCount,
      pagesEvicted: this.#pool.evictedCount,
      pagesZeroed: this.#zeroList?.drainedCount ?? 0,
    };
  }

  /** Pages that hold this many tokens. */
  pagesNeeded(tokens: number): number {
    return this.#group.pagesNeeded(tokens);
  }

  /**
   * The longest run of full pages on the device that the prompt begins with. The last token is never part of it,
   * since computing it is what gives the next one. Changes nothing, and holds nothing: allocate before anything else.
   */
  lookup(request: CacheRequest): PrefixHit {
    this.#requireSequence(request);
    if (!this.#pool.caching || request.sequence.length === 0) return NO_HIT;
    return this.#group.findHit(request.sequence, request.sequence.length - 1);
  }

  /**
   * Room for the tokens of one step. Gives the pages added to the table, without those of the hit, or null if they do
   * not fit: then nothing has changed. Full pages are published at once, before they are computed: attention layers
   * write their rows before any later request of the step reads them. Work that is then cancelled must be `withdraw`n.
   *
   * Throws `ConfigError` for amounts that make no sense, `InvariantError` for a hit that is no longer cached and for
   * hit or external tokens of a request that has a table.
   */
  allocate(request: CacheRequest, options: AllocateOptions): readonly PageId[] | null {
    const { hit = NO_HIT, externalTokens = 0, newTokens, reservedPages = 0 } = options;
    this.#requireSequence(request);
    requireAmounts(request, options, this.#tokensPerPage);
    const isFirst = !this.#group.has(request.id);
    requirePlace(request, options, this.#group);
    const localTokens = options.computedTokens + hit.tokens;
    const total = localTokens + externalTokens;
    const lookahead = total + newTokens + (options.lookaheadTokens ?? 0);
    const tokens = Math.max(total + newTokens, Math.min(lookahead, options.tokensMax ?? lookahead));

    const taken = this.#group.pagesToTake(request, tokens, hit);
    // What takes no page cannot make a reservation worse, so it passes even where one is short already.
    if (taken > Math.max(0, this.#pool.freeCount - reservedPages)) return null;

    const added: PageId[] = [];
    if (isFirst) {
      // Every hit is touched before anything is allocated: an allocation must not evict what was just found.
      this.#group.install(request, hit);
      this.#countAdmission(request.sequence, hit);
    }
    if (externalTokens > 0) this.#group.extend(request, total, added);
    this.#group.extend(request, tokens, added);
    // Drafts lie beyond the sequence's end and are not published: they may still be rejected.
    const { publish = true } = options;
    if (publish) this.publish(request, Math.min(total + newTokens, request.sequence.length));
    return added;
  }

  /**
   * Publishes the full pages that cover the first `tokens` tokens, as after a load. Pages published already stay.
   * Throws `InvariantError` when the request holds no pages or too few.
   */
  publish(request: CacheRequest, tokens: number): void {
    if (this.#pool.caching) this.#group.publish(request, tokens);
  }

  /**
   * Takes back what was published beyond `fromToken`, for work that is cancelled in the step that scheduled it, and
   * for a load or a forward pass that failed. The pages that hold tokens from `fromToken` on lose their keys, and get
   * them again when they are published anew. The pages stay in the table, and on the zero list: what this step
   * allocated is still to be zeroed while somebody holds it. `free` takes a page off the list once nobody does.
   *
   * Gives the other requests that hold one of these pages: they found it in the same step, so what they compute on
   * top is void too. Nothing happens for an unknown request.
   */
  withdraw(request: CacheRequest, fromToken: number): RequestId[] {
    requireCount('fromToken', fromToken, request.id);
    const stripped = this.#group.withdraw(request, fromToken);
    if (stripped.length === 0) return [];
    return this.#group.holdersOf(new Set(stripped)).filter((id) => id !== request.id);
  }

  /** Gives a request's pages back, the tail to be evicted first. Nothing happens for an unknown request. */
  free(request: CacheRequest): void {
    const pages = this.#group.free(request.id);
    // Nobody reads them now, and whoever claims one in this step lists it again.
    if (this.#zeroList)
      for (const page of pages) if (this.#pool.refCount(page) === 0) this.#zeroList.remove(page);
  }

  /** The request's pages, empty if it holds none. A live view, which grows with the table: copy it to keep it. */
  pageTable(id: RequestId): readonly PageId[] {
    return this.#group.pageTable(id);
  }

  /** Leading pages of this request that all requests with pages share. */
  commonPrefixPages(id: RequestId): number {
    return this.#group.commonPrefixPages(id);
  }

  /** Pages allocated since the last call and still held, in the order of allocation. Call it once a step. */
  takeNewPageIdsToZero(): PageId[] {
    const pages = this.#zeroList?.drain() ?? [];
    if (pages.length > 0) this.#onEvent?.({ type: 'zeroed', pages });
    return pages;
  }

  /** What `takeNewPageIdsToZero` would give now; the list stays. */
  pendingPageIdsToZero(): PageId[] {
    return this.#zeroList?.pending() ?? [];
  }

  /**
   * Takes pages off the pending list that a load of this very step overwrites in full. It cannot recall a zeroing
   * that an earlier step has sent: the load must be ordered behind that one.
   */
  exemptFromZeroing(pages: Iterable<PageId>): void {
    if (this.#zeroList) for (const page of pages) this.#zeroList.remove(page);
  }

  /** Lists pages again, when the load that was to overwrite them failed. Free ones are left to their next owner. */
  relistForZeroing(pages: Iterable<PageId>): void {
    if (this.#zeroList) for (const page of pages) if (this.#pool.refCount(page) > 0) this.#zeroList.add(page);
  }

  /** Forgets every prefix key, if no request holds a page: true. Otherwise false, and nothing changes. */
  resetPrefixCache(): boolean {
    return this.#pool.resetPrefixCache();
  }

  /** Free pages in the order in which they will be allocated. */
  freeOrder(): PageId[] {
    return this.#pool.freeOrder();
  }

  /** Tables that hold this page. */
  refCount(page: PageId): number {
    return this.#pool.refCount(page);
  }

  keyOf(page: PageId): PrefixKey | null {
    return this.#pool.keyOf(page);
  }

  /** Throws `InvariantError` if pool, tables and zero list do not fit together. */
  checkIntegrity(): void {
    this.#pool.checkIntegrity();
    const references = new Int32Array(this.#pool.pages);
    this.#group.checkIntegrity(references);
    for (let i = NULL_PAGE + 1; i < references.length; i++) {
      const counted = this.#pool.refCount(pageId(i));
      invariant(
        counted === references[i],
        `page ${i}: ${counted} references, ${references[i]} places in tables`,
      );
    }
    for (const page of this.pendingPageIdsToZero()) {
      invariant(this.#pool.refCount(page) > 0, `page ${page} is listed for zeroing and nobody holds it`);
    }
  }

  #countAdmission(sequence: TokenSequence, hit: PrefixHit): void {
    if (!this.#pool.caching) return;
    if (this.#admitted.has(sequence)) {
      this.#readmittedTokens += sequence.length;
      this.#readmittedHitTokens += hit.tokens;
      return;
    }
    this.#admitted.add(sequence);
    this.#queriedTokens += sequence.length;
    this.#hitTokens += hit.tokens;
  }

  #requireSequence({ id, sequence }: CacheRequest): void {
    if (sequence.tokensPerPage !== this.#tokensPerPage || sequence.group !== this.#group.id) {
      throw new ConfigError(
        `request ${id}: keys of group ${sequence.group} for pages of ${sequence.tokensPerPage} tokens; ` +
          `this cache has group ${this.#group.id} and ${this.#tokensPerPage} tokens a page`,
      );
    }
  }
}
