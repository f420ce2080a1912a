/**
 * Sliding window: token q reads the last `windowTokens` tokens, itself included. A hit needs the pages that the first
 * token behind it reads, and nothing before them; so a longer hit may be possible where a shorter one is not.
 */
import { floorTo, ceilDiv } from '../../units.ts';
import type { CachedAt, HitBounds } from './group.ts';
import { PagedGroup, type GroupOptions } from './paged-group.ts';

export class SlidingWindowGroup extends PagedGroup {
  readonly #windowTokens: number;

  constructor(options: GroupOptions & { readonly windowTokens: number }) {
    super(options);
    this.#windowTokens = options.windowTokens;
  }

  /** Alone it needs every page; with a bound on what is in flight, what the window spans at most, cut anywhere. */
  override pagesNeeded(tokens: number, inFlightTokens?: number): number {
    if (inFlightTokens === undefined) return super.pagesNeeded(tokens);
    const spanned = Math.min(this.#windowTokens - 1 + inFlightTokens, tokens);
    return Math.min(super.pagesNeeded(tokens), ceilDiv(spanned, this.layout.tokensPerPage) + 1);
  }

  longestHit(cachedAt: CachedAt, { tokensMax, cachedMax, step }: HitBounds): number {
    const { tokensPerPage } = this.layout;
    const beyond = this.layout.draft ? 1 : 0;
    const pagesMax = Math.min(
      Math.floor(tokensMax / tokensPerPage) + beyond,
      Math.floor(cachedMax / tokensPerPage),
    );
    const needed = pagesOfWindow(this.#windowTokens, tokensPerPage) + beyond;
    let end = 0; // One past the run's last page, 0 where there is no run.
    for (let page = pagesMax - 1; page >= 0; page--) {
      if (!cachedAt((page + 1) * tokensPerPage)) {
        end = 0;
        continue;
      }
      if (end === 0) {
        // A run may be used where a hit may end; a page to the right of that is no use.
        if (((page + 1 - beyond) * tokensPerPage) % step !== 0) continue;
        end = page + 1;
      }
      if (end - page === needed) return (end - beyond) * tokensPerPage;
    }
    // The run that begins with the prompt needs nothing before it, however short it is.
    return Math.max(0, floorTo((end - beyond) * tokensPerPage, step));
  }

  firstPageOfHit(tokens: number): number {
    const { tokensPerPage } = this.layout;
    return Math.max(0, tokens / tokensPerPage - pagesOfWindow(this.#windowTokens, tokensPerPage));
  }

  skippedTokens(tokens: number): number {
    return Math.max(0, tokens - this.#windowTokens + 1);
  }
}

/** Pages before a page border that the first token behind it reads. At least one, so that a hit has something. */
export function pagesOfWindow(windowTokens: number, tokensPerPage: number): number {
  return Math.max(1, ceilDiv(windowTokens - 1, tokensPerPage));
}
