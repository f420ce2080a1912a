/**
 * Prefix key to page. Several pages may carry the same key, because requests that compute the same prompt side by
 * side each fill pages of their own; a lookup then gives the one that was entered first.
 */
import { invariant } from '../errors.ts';
import type { PageId, PrefixKey } from '../units.ts';

export class PrefixIndex {
  /** A set only where a key has several pages: it keeps their order and forgets one in O(1). */
  readonly #pagesOfKey = new Map<PrefixKey, PageId | Set<PageId>>();

  /** Different keys. */
  get size(): number {
    return this.#pagesOfKey.size;
  }

  /** The page entered first, or null. */
  lookup(key: PrefixKey): PageId | null {
    const found = this.#pagesOfKey.get(key);
    if (found === undefined) return null;
    if (typeof found === 'number') return found;
    for (const page of found) return page;
    return null;
  }

  has(key: PrefixKey, page: PageId): boolean {
    const found = this.#pagesOfKey.get(key);
    return typeof found === 'object' ? found.has(page) : found === page;
  }

  add(key: PrefixKey, page: PageId): void {
    const found = this.#pagesOfKey.get(key);
    if (found === undefined) this.#pagesOfKey.set(key, page);
    else if (typeof found === 'number') this.#pagesOfKey.set(key, new Set([found, page]));
    else found.add(page);
  }

  /** Forgets one page of a key. Throws `InvariantError` when it is not there. */
  remove(key: PrefixKey, page: PageId): void {
    invariant(this.has(key, page), `page ${page} is not in the prefix index under ${key}`);
    const found = this.#pagesOfKey.get(key)!;
    if (typeof found === 'number') {
      this.#pagesOfKey.delete(key);
      return;
    }
    found.delete(page);
    if (found.size === 1) for (const last of found) this.#pagesOfKey.set(key, last);
  }

  clear(): void {
    this.#pagesOfKey.clear();
  }

  /** Every pair of key and page, pages of one key in the order of entry. */
  *entries(): IterableIterator<[PrefixKey, PageId]> {
    for (const [key, found] of this.#pagesOfKey) {
      if (typeof found === 'number') yield [key, found];
      else for (const page of found) yield [key, page];
    }
  }
}
