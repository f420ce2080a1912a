/**
 * The hit that all groups agree on: the longest one that is valid in each of them at once.
 *
 * A prefix that full attention finds can be cut anywhere, but windowed and recurrent groups may be able to serve a
 * long hit and no shorter one. So the groups take turns: each lowers the length to the longest that it can serve
 * itself, until one round changes nothing. Every length that was passed over is invalid in some group, so what is left
 * is the longest common one, whatever the order of the groups.
 */
import type { CacheLayout } from '../config/layout.ts';
import { InvariantError } from '../errors.ts';
import { floorTo, NULL_PAGE, type PageId } from '../units.ts';
import { FullAttentionGroup } from './groups/full-attention.ts';
import type { CachedAt, CacheGroup, HitPages } from './groups/group.ts';
import type { PagePool } from './page-pool.ts';
import type { TokenSequence } from './token-sequence.ts';

/** Cached pages that a prompt begins with. */
export interface PrefixHit {
  /** Tokens that need not be computed. */
  readonly tokens: number;
  /** By group: the pages up to there, null pages where the group needs none. Empty for groups that are not cached. */
  readonly pages: readonly HitPages[];
  /**
   * The longest hit of any single group, if it is longer than what they agree on, else 0: up to there the prompt was
   * seen before, and states kept at that point would have served.
   */
  readonly sharedPrefixTokens: number;
}

export const NO_HIT: PrefixHit = Object.freeze({
  tokens: 0,
  pages: Object.freeze([]),
  sharedPrefixTokens: 0,
});

export class Coordinator {
  readonly #layout: CacheLayout;
  readonly #pool: PagePool;
  readonly #groups: readonly CacheGroup[];
  readonly #cacheable: readonly CacheGroup[];
  /** What rings need computed again behind a hit. */
  readonly #historyTokens: number;

  constructor(layout: CacheLayout, groups: readonly CacheGroup[], pool: PagePool) {
    this.#layout = layout;
    this.#pool = pool;
    this.#groups = groups;
    this.#cacheable = groups.filter((group) => group.layout.cacheable);
    this.#historyTokens = Math.max(
      0,
      ...layout.groups.map(({ config }) =>
        config.kind === 'ring' && config.after === 'history' ? config.capacityTokens : 0,
      ),
    );
  }

  /** The longest hit of at most `tokensMax` tokens. Changes nothing. */
  findHit(sequence: TokenSequence, tokensMax: number): PrefixHit {
    if (this.#cacheable.length === 0) return NO_HIT;
    const searches = this.#cacheable.map((group) => this.#search(group, sequence, tokensMax));
    const longest = Math.max(...searches.map((search) => search(tokensMax)));
    let tokens = agree(searches, tokensMax);
    const { hitTokens } = this.#layout;
    if (tokens > 0 && this.#historyTokens > 0) {
      tokens = agree(searches, floorTo(Math.max(0, tokens - this.#historyTokens), hitTokens));
    }
    const sharedPrefixTokens = longest > tokens ? longest : 0;
    if (tokens === 0 && sharedPrefixTokens === 0) return NO_HIT;
    return {
      tokens,
      pages: this.#groups.map((group) => this.#pagesOf(group, sequence, tokens)),
      sharedPrefixTokens,
    };
  }

  /** True if each page of the hit still carries a key of this sequence that covers what the hit uses of it. */
  isValid(sequence: TokenSequence, hit: PrefixHit): boolean {
    if (hit.tokens % this.#layout.hitTokens !== 0) return false;
    return this.#groups.every((group, index) => {
      const pages = hit.pages[index] ?? [];
      const length = group.layout.cacheable ? Math.ceil(hit.tokens / group.layout.tokensPerPage) : 0;
      if (pages.length !== length) return false;
      const first = Math.min(length, length > 0 ? group.firstPageOfHit(hit.tokens) : 0);
      return pages.every((page, position) =>
        position < first ? page === NULL_PAGE : this.#isCached(group, sequence, hit.tokens, position, page),
      );
    });
  }

  /** The group's own longest hit up to a length; full attention, which can be cut anywhere, is searched once. */
  #search(group: CacheGroup, sequence: TokenSequence, cachedMax: number): (tokensMax: number) => number {
    const { id } = group.layout;
    const step = this.#layout.hitTokens;
    const cachedAt: CachedAt = (tokens) => this.#pool.lookup(sequence, tokens, id) !== null;
    if (!(group instanceof FullAttentionGroup)) {
      return (tokensMax) => group.longestHit(cachedAt, { tokensMax, cachedMax, step });
    }
    const longest = group.longestHit(cachedAt, { tokensMax: cachedMax, cachedMax, step });
    return (tokensMax) => floorTo(Math.min(longest, tokensMax), step);
  }

  #pagesOf(group: CacheGroup, sequence: TokenSequence, tokens: number): HitPages {
    if (!group.layout.cacheable || tokens === 0) return [];
    const { tokensPerPage } = group.layout;
    const length = Math.ceil(tokens / tokensPerPage);
    const first = Math.min(length, group.firstPageOfHit(tokens));
    const pages: PageId[] = new Array<PageId>(length).fill(NULL_PAGE, 0, first);
    for (let position = first; position < length; position++) {
      pages[position] = this.#pageAt(group, sequence, tokens, position);
    }
    return pages;
  }

  #pageAt(group: CacheGroup, sequence: TokenSequence, tokens: number, position: number): PageId {
    const { id, tokensPerPage, kind } = group.layout;
    const end = (position + 1) * tokensPerPage;
    let page: PageId | null = null;
    if (end <= tokens || kind === 'recurrent') {
      page = this.#pool.lookup(sequence, Math.min(end, tokens), id);
    } else {
      // Where the hit ends inside the page, any boundary behind it will do, the longest first.
      for (
        let at = this.#lastBoundary(sequence, end);
        at >= tokens && page === null;
        at -= this.#layout.hashTokens
      ) {
        page = this.#pool.lookup(sequence, at, id);
      }
    }
    if (page !== null) return page;
    // A group that gave this length said that the page is cached.
    throw new InvariantError(`group ${id} found a hit of ${tokens} tokens without page ${position}`);
  }

  #isCached(
    group: CacheGroup,
    sequence: TokenSequence,
    tokens: number,
    position: number,
    page: PageId,
  ): boolean {
    const { id, tokensPerPage, kind } = group.layout;
    const end = (position + 1) * tokensPerPage;
    if (page === NULL_PAGE) return false;
    if (end <= tokens || kind === 'recurrent')
      return this.#pool.carries(page, sequence, Math.min(end, tokens), id);
    for (let at = this.#lastBoundary(sequence, end); at >= tokens; at -= this.#layout.hashTokens) {
      if (this.#pool.carries(page, sequence, at, id)) return true;
    }
    return false;
  }

  /** The last boundary with a key, at most `end`. */
  #lastBoundary(sequence: TokenSequence, end: number): number {
    return Math.min(end, sequence.unitCount * sequence.unitTokens);
  }
}

/** The longest length, at most `tokensMax`, that every search gives back unchanged. */
function agree(searches: readonly ((tokensMax: number) => number)[], tokensMax: number): number {
  let tokens = tokensMax;
  for (;;) {
    const before = tokens;
    for (const search of searches) {
      tokens = search(tokens);
      if (tokens === 0) return 0;
    }
    if (tokens === before) return tokens;
  }
}
