/**
 * Pages to overwrite before anything is computed in this step. They still hold what a former owner left, and kernels
 * read whole pages: a masked score does not help against a stale NaN, because 0 * NaN is NaN.
 */
import { NULL_PAGE, type PageId } from '../units.ts';

export class ZeroList {
  /** In the order of listing. A page taken off leaves the null page, which is never listed itself. */
  #entries: PageId[] = [];
  /** 1 + index of the page in `#entries`, 0 if it is not listed. */
  readonly #place: Int32Array;
  #drainedCount = 0;

  /** For page ids below `pages`. */
  constructor(pages: number) {
    this.#place = new Int32Array(pages);
  }

  /** Pages drained so far. */
  get drainedCount(): number {
    return this.#drainedCount;
  }

  has(page: PageId): boolean {
    return this.#place[page] !== 0;
  }

  /** A page that is listed already keeps its place. */
  add(page: PageId): void {
    if (page === NULL_PAGE || this.has(page)) return;
    this.#entries.push(page);
    this.#place[page] = this.#entries.length;
  }

  /** Takes a page off, if it is listed. */
  remove(page: PageId): void {
    const place = this.#place[page];
    if (place === 0) return;
    this.#entries[place - 1] = NULL_PAGE;
    this.#place[page] = 0;
  }

  /** What is listed, in order. */
  pending(): PageId[] {
    return this.#entries.filter((page) => page !== NULL_PAGE);
  }

  /** What is listed, in order; the list is empty afterwards. */
  drain(): PageId[] {
    const pages = this.pending();
    for (const page of pages) this.#place[page] = 0;
    this.#entries = [];
    this.#drainedCount += pages.length;
    return pages;
  }
}
