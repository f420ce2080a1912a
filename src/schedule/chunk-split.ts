/**
 * Where a chunk of a prompt has to end so that recurrent states stand where they can be found again. A state exists
 * only at the end of a chunk, so chunks end at page borders, at the last boundary that a later request can reuse, and
 * at the point up to which the prompt was seen before.
 */
import type { CacheLayout } from '../config/layout.ts';
import { floorTo } from '../units.ts';

export interface ChunkBounds {
  /** Tokens computed before. */
  readonly start: number;
  /** Where the chunk would end by budget alone. */
  readonly end: number;
  /** Tokens of the request so far. */
  readonly length: number;
  readonly promptTokens: number;
  /** What the prompt shares with others beyond the agreed hit, 0 if nothing. */
  readonly sharedPrefixTokens: number;
  /** The most that one step can compute. */
  readonly stepTokensMax: number;
}

/** The end of the chunk, at most `end`; `start` if nothing can be computed under these bounds. */
export function chunkEnd(layout: CacheLayout, bounds: ChunkBounds): number {
  const pageTokens = alignedPageTokens(layout);
  if (pageTokens === null) return bounds.end;
  const { start, length, promptTokens } = bounds;
  const prefillEnd = Math.max(promptTokens, length - 1);
  if (start >= prefillEnd) return bounds.end;
  let end = bounds.end;
  if (end < prefillEnd) {
    const floored = end - (end % pageTokens);
    // A page that no step can fill in one go is filled in several, which begin and end inside it.
    if (floored > start || pageTokens <= bounds.stepTokensMax) end = Math.max(start, floored);
  }
  for (const stop of stops(layout, bounds, pageTokens)) if (stop > start && stop < end) end = stop;
  return end;
}

function* stops(layout: CacheLayout, bounds: ChunkBounds, pageTokens: number): Generator<number> {
  const { start, length, promptTokens, sharedPrefixTokens } = bounds;
  if (start % pageTokens !== 0) yield start - (start % pageTokens) + pageTokens;
  const hasDraft = layout.groups.some(({ draft }) => draft);
  const lastCacheable = length - (length % pageTokens) - (hasDraft ? pageTokens : 0);
  yield lastCacheable;
  if (layout.partialHits) {
    const tail = promptTokens - (promptTokens % layout.hashTokens);
    if (tail > lastCacheable && tail < promptTokens) yield tail;
  }
  if (sharedPrefixTokens > start) yield start + floorTo(sharedPrefixTokens - start, pageTokens);
}

/** Page size of the aligned recurrent groups, or null if there is none: then chunks may end anywhere. */
function alignedPageTokens({ groups }: CacheLayout): number | null {
  let largest: number | null = null;
  for (const { config, tokensPerPage, cacheable } of groups) {
    if (config.kind !== 'recurrent' || config.states !== 'aligned' || !cacheable) continue;
    largest = Math.max(largest ?? 0, tokensPerPage);
  }
  return largest;
}
