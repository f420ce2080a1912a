import type { PageId, PrefixKey } from '../../../../src/units.ts';
import { pageId } from '../../../../src/units.ts';

/** The least that a page pool can be: first in, first out, references, and keys that last until a page is claimed. */
export class SmallPool {
  readonly size: number;
  #free: PageId[];
  readonly #references = new Map<PageId, number>();
  readonly #pageOf = new Map<PrefixKey, PageId>();

  constructor(size: number) {
    this.size = size;
    this.#free = Array.from({ length: size }, (_, i) => pageId(i + 1));
  }

  get freeCount(): number {
    return this.#free.length;
  }

  allocate(count: number): PageId[] | null {
    if (count > this.#free.length) return null;
    const pages = this.#free.splice(0, count);
    for (const page of pages) {
      this.#references.set(page, 1);
      for (const [key, keyed] of this.#pageOf) if (keyed === page) this.#pageOf.delete(key);
    }
    return pages;
  }

  /** One more reference; a free page leaves the free list. */
  touch(pages: readonly PageId[]): void {
    for (const page of pages) {
      this.#references.set(page, (this.#references.get(page) ?? 0) + 1);
      this.#free = this.#free.filter((other) => other !== page);
    }
  }

  free(pages: readonly PageId[]): void {
    for (const page of [...pages].reverse()) {
      const left = this.#references.get(page)! - 1;
      this.#references.set(page, left);
      if (left === 0) this.#free.push(page);
    }
  }

  lookup(key: PrefixKey): PageId | undefined {
    return this.#pageOf.get(key);
  }

  isFree(page: PageId): boolean {
    return (this.#references.get(page) ?? 0) === 0;
  }

  publish(key: PrefixKey, page: PageId): void {
    if (!this.#pageOf.has(key)) this.#pageOf.set(key, page);
  }

  clearKeys(): void {
    this.#pageOf.clear();
  }
}
