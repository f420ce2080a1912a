/**
 * What the cache manager needs from the layers that share one cache kind. Groups draw from one pool; a page belongs
 * to one group at a time. The manager decides the order of these calls, a group what its kind keeps and finds.
 */
import type { GroupLayout } from '../../config/layout.ts';
import type { PageId, RequestId } from '../../units.ts';
import type { TokenSequence } from '../token-sequence.ts';

/** A request as the cache sees it: a name, and the tokens with their keys. */
export interface CacheRequest {
  readonly id: RequestId;
  readonly sequence: TokenSequence;
  /** Tokens of the prompt; what the sequence has at the first allocation, unless given. */
  readonly promptTokens?: number;
  /** Tokens of the encoder's output, for cross attention. Default: 0. */
  readonly encoderTokens?: number;
}

/** Whether the rows, or the state, after `tokens` tokens are cached in the group. */
export type CachedAt = (tokens: number) => boolean;

export interface HitBounds {
  /** The hit is at most this long. */
  readonly tokensMax: number;
  /** What the search may look at: a drafter needs more cached than it may use. */
  readonly cachedMax: number;
  /** A hit is a multiple of this. */
  readonly step: number;
}

/** The tokens that an allocation is about, in the order in which they stand in the sequence. */
export interface Amounts {
  /** Computed before, or found on the device. */
  readonly local: number;
  /** `local`, and what a load brings. */
  readonly total: number;
  /** `total`, and what is computed in this step. */
  readonly main: number;
  /** `main`, and room beyond it. */
  readonly need: number;
}

/** Pages of a hit in one group, null pages where it needs none. */
export type HitPages = readonly PageId[];

/** What may be published, and what of it could ever serve a hit. */
export interface PublishLimits {
  /** Full pages up to here. */
  readonly tokens: number;
  /** Tokens that are final: a boundary inside a page may be published once they reach it. */
  readonly finalTokens: number;
  /** The last hash boundary of the prompt, if it may be published though it lies inside a page. */
  readonly tail: number | null;
  /** Positions that are passed over. */
  readonly masked?: (position: number) => boolean;
}

export interface CacheGroup {
  readonly layout: GroupLayout;

  /** Pages that a request of this length holds. With `inFlightTokens`, at most at once, over so many steps at a time. */
  pagesNeeded(tokens: number, inFlightTokens?: number, stepsInFlight?: number): number;

  /** The longest hit within the bounds; 0 if there is none. */
  longestHit(cachedAt: CachedAt, bounds: HitBounds): number;
  /** First position that a hit of this many tokens needs. */
  firstPageOfHit(tokens: number): number;
  /** Tokens at the beginning that nothing reads any more once `tokens` are computed. */
  skippedTokens(tokens: number): number;

  /**
   * Pages that leave the free queue when the request grows to these amounts, the revived pages of its hit included.
   * Never fewer than `install`, `extendExternal` and `extend` take.
   */
  pagesToTake(request: CacheRequest, amounts: Amounts, hit: HitPages): number;
  /** Starts a table with the pages of a hit, which get a reference each. */
  install(request: CacheRequest, amounts: Amounts, hit: HitPages): void;
  /** Allocates what a load fills, and adds it to `added`. */
  extendExternal(request: CacheRequest, amounts: Amounts, added: PageId[]): void;
  /** Allocates what the table lacks, copies before writes to a shared page, and adds both to `added`. */
  extend(request: CacheRequest, amounts: Amounts, added: PageId[]): void;
  /** Gives back what nothing reads once `tokens` are computed. Gives those pages, the last position first. */
  trim(id: RequestId, tokens: number): readonly PageId[];

  /**
   * The first position that the request reads behind `tokens` computed tokens, if that is not there: a window has let
   * go of it, it was never allocated, or the state stands for other tokens. Null if all is there. `writtenTokens`: how
   * far the request has written, if that is further: what is overwritten in place may stand for those by now.
   */
  missingPage(id: RequestId, tokens: number, writtenTokens?: number): number | null;

  publish(request: CacheRequest, limits: PublishLimits): void;
  /** Takes back the keys that stand for more than `fromToken` tokens. Gives the pages that had one. */
  withdraw(id: RequestId, fromToken: number): PageId[];
  /** Forgets the request; its pages lose a reference each, tail first. Gives them in that order. */
  free(id: RequestId): readonly PageId[];

  /** Pages that `fork` takes. */
  pagesToFork(parent: RequestId, tokens: number): number;
  /** A table that shares the parent's full pages among the first `tokens` tokens, and copies what comes after them. */
  fork(parent: RequestId, child: CacheRequest, tokens: number): void;

  /** Page table of a request, empty if it has none. */
  pageTable(id: RequestId): readonly PageId[];
  has(id: RequestId): boolean;
  /** Requests that hold one of these pages. */
  holdersOf(pages: ReadonlySet<PageId>): RequestId[];
  /** Leading pages of a request that every request of the group holds as well. */
  commonPrefixPages(id: RequestId): number;
  /** Adds each reference that the group holds to `references`. Throws `InvariantError` for a table that is wrong. */
  checkIntegrity(references: Int32Array): void;
}
