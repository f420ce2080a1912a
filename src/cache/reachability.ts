/**
 * Which pages of a windowed or recurrent group can ever serve a hit. A hit ends at a boundary and needs a short tail of
 * pages before it, so a page that is in no boundary's tail gets no key: it would only keep others out of the cache.
 *
 *   boundary          B = 4 pages, window of 2 pages              with a drafter: one page more
 *   0   1   2   3 | 4   5                                          2 and 3, and 4 besides
 *           ^   ^
 */
import type { GroupLayout } from '../config/layout.ts';
import { ceilDiv } from '../units.ts';
import { pagesOfWindow } from './groups/sliding-window.ts';

export interface Boundaries {
  /** Boundaries stand at every multiple of this; 0: nowhere; null: at the end of every page. */
  readonly interval: number | null;
  /** Further boundaries, in tokens. */
  readonly extra: readonly number[];
}

/** A function that says which positions are passed over when pages are published, or undefined if none are. */
export function unreachablePages(
  group: GroupLayout,
  { interval, extra }: Boundaries,
): ((position: number) => boolean) | undefined {
  const { config, tokensPerPage } = group;
  if (interval === null) return undefined;
  if (config.kind !== 'sliding-window' && config.kind !== 'recurrent') return undefined;
  const before = config.kind === 'recurrent' ? 1 : pagesOfWindow(config.windowTokens, tokensPerPage);
  const beyond = group.draft && config.kind === 'sliding-window' ? 1 : 0;
  if (interval > 0 && (before + beyond) * tokensPerPage >= interval) return undefined;

  const isInTail = (position: number, boundary: number): boolean => {
    const end = ceilDiv(boundary, tokensPerPage);
    return boundary > 0 && position >= end - before && position < end + beyond;
  };
  return (position) => {
    // The next boundary of the interval behind the page, the page of a drafter counted to the one before it.
    const next =
      interval > 0 ? (Math.floor(((position - beyond) * tokensPerPage) / interval) + 1) * interval : 0;
    return !isInTail(position, next) && !extra.some((boundary) => isInTail(position, boundary));
  };
}
