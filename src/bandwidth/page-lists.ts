/** Which pages move: neighbours in their order, as a fresh pool hands them out, or scattered, as a busy one does. */
import { pageId, type PageId } from '../units.ts';

export type ListKind = 'neighbouring' | 'scattered';
export const LIST_KINDS: readonly ListKind[] = ['neighbouring', 'scattered'];

export interface PageLists {
  /** Read by copies and stores; zeroed. */
  readonly sources: readonly PageId[];
  /** Written by copies and loads; none of them is a source. */
  readonly destinations: readonly PageId[];
}

/** Two lists of `count` pages each, out of a pool of `2 * count` pages behind the null page. The same in every run. */
export function pageLists(kind: ListKind, count: number): PageLists {
  const pages = Array.from({ length: 2 * count }, (_, i) => pageId(i + 1));
  if (kind === 'scattered') shuffle(pages);
  return { sources: pages.slice(0, count), destinations: pages.slice(count) };
}

function shuffle(items: unknown[]): void {
  let state = 1;
  for (let i = items.length - 1; i > 0; i -= 1) {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (i + 1));
    [items[i], items[other]] = [items[other], items[i]];
  }
}
