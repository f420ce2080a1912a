/**
 * Chunked local attention: a token reads its own chunk, up to itself. What lies before the chunk that a hit ends in is
 * read by nobody, so it counts as found even if it was never computed.
 */
import { floorTo, ceilDiv } from '../../units.ts';
import type { CachedAt, HitBounds } from './group.ts';
import { PagedGroup, type GroupOptions } from './paged-group.ts';

export class ChunkedLocalGroup extends PagedGroup {
  readonly #chunkTokens: number;

  constructor(options: GroupOptions & { readonly chunkTokens: number }) {
    super(options);
    this.#chunkTokens = options.chunkTokens;
  }

  override pagesNeeded(tokens: number, inFlightTokens?: number): number {
    if (inFlightTokens === undefined) return super.pagesNeeded(tokens);
    return ceilDiv(Math.min(this.#chunkTokens + inFlightTokens, tokens), this.layout.tokensPerPage);
  }

  longestHit(cachedAt: CachedAt, { tokensMax, cachedMax, step }: HitBounds): number {
    for (let bound = floorTo(Math.min(tokensMax, cachedMax), step); bound > 0;) {
      const chunk = floorTo(bound, this.#chunkTokens);
      const found = floorTo(this.#run(cachedAt, chunk, bound), step);
      if (found >= chunk) return found;
      // No hit may end in what is cached of this chunk; the one before it is needed whole.
      bound = floorTo(chunk - 1, step);
    }
    return 0;
  }

  firstPageOfHit(tokens: number): number {
    return floorTo(tokens, this.#chunkTokens) / this.layout.tokensPerPage;
  }

  skippedTokens(tokens: number): number {
    return floorTo(tokens, this.#chunkTokens);
  }

  /** Tokens up to which pages are cached without a gap, from `start`. */
  #run(cachedAt: CachedAt, start: number, end: number): number {
    const { tokensPerPage } = this.layout;
    let tokens = start;
    while (tokens + tokensPerPage <= end && cachedAt(tokens + tokensPerPage)) tokens += tokensPerPage;
    return tokens;
  }
}
