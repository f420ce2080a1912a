/**
 * What the cache manager needs from the layers that share one cache kind. Groups draw from one pool; a page belongs
 * to one group at a time. The manager decides the order of these calls, a group what its kind keeps and finds.
 */
import type { GroupId, PageId, RequestId } from '../../units.ts';
import type { TokenSequence } from '../token-sequence.ts';

/** Cached pages that a prompt begins with. */
export interface PrefixHit {
  readonly pages: readonly PageId[];
  /** Tokens that need not be computed: a multiple of the page size. */
  readonly tokens: number;
}

export const NO_HIT: PrefixHit = Object.freeze({ pages: Object.freeze([]), tokens: 0 });

/** A request as the cache sees it: a name, and the tokens with their keys. */
export interface CacheRequest {
  readonly id: RequestId;
  readonly sequence: TokenSequence;
}

export interface CacheGroup {
  readonly id: GroupId;
  readonly kind: 'full-attention';

  /** Pages that a request of this length holds. */
  pagesNeeded(tokens: number): number;
  /** The longest usable run of cached pages, at most `tokensMax` tokens. Changes nothing. */
  findHit(sequence: TokenSequence, tokensMax: number): PrefixHit;
  /** Throws `InvariantError` unless the pages of a hit still are what a lookup of this request gives. */
  requireHit(request: CacheRequest, hit: PrefixHit): void;
  /**
   * Pages that leave the free queue when the request grows to `tokens` tokens, the revived pages of its hit included.
   * Never fewer than `install` and `extend` take.
   */
  pagesToTake(request: CacheRequest, tokens: number, hit: PrefixHit): number;
  /** Starts a table with the pages of a hit, which get a reference each. */
  install(request: CacheRequest, hit: PrefixHit): void;
  /** Allocates what the table lacks for `tokens` tokens, adds it to `added`, and lists it for zeroing. */
  extend(request: CacheRequest, tokens: number, added: PageId[]): void;
  /** Publishes the full pages among the first `tokens` tokens that have not been published. */
  publish(request: CacheRequest, tokens: number): void;
  /** Takes back the keys of pages that hold tokens from `fromToken` on. Gives the pages that had one. */
  withdraw(request: CacheRequest, fromToken: number): PageId[];
  /** Forgets the request; its pages lose a reference each, tail first. Gives them in that order. */
  free(id: RequestId): readonly PageId[];

  /** Page table of a request, empty if it has none. */
  pageTable(id: RequestId): readonly PageId[];
  has(id: RequestId): boolean;
  /** Requests that hold one of these pages. */
  holdersOf(pages: ReadonlySet<PageId>): RequestId[];
  /** Leading pages of a request that every request of the group holds as well. */
  commonPrefixPages(id: RequestId): number;
  /** Adds each reference that a table holds to `references`. Throws `InvariantError` for a table that is wrong. */
  checkIntegrity(references: Int32Array): void;
}
