/** Neighbours become one command. */

/**
 * Splits entries 0 to `count` - 1 into the longest runs in which each entry joins the one before it, and calls
 * `emit` with the first entry and the length of each.
 */
export function forEachRun(
  count: number,
  joins: (entry: number) => boolean,
  emit: (first: number, length: number) => void,
): void {
  for (let first = 0; first < count;) {
    let next = first + 1;
    while (next < count && joins(next)) next += 1;
    emit(first, next - first);
    first = next;
  }
}

/** The same for a list of pages: a page joins the one before it in the pool, if both are in one segment. */
export function forEachPageRun(
  pages: ArrayLike<number>,
  pagesPerSegment: number,
  emit: (first: number, length: number) => void,
): void {
  const count = pages.length;
  for (let first = 0; first < count;) {
    let next = first + 1;
    while (next < count && pages[next] === pages[next - 1] + 1 && pages[next] % pagesPerSegment !== 0) {
      next += 1;
    }
    emit(first, next - first);
    first = next;
  }
}
