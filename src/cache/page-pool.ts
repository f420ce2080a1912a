/**
 * All pages of one pool: who is free, how often each page is referenced, and which key it carries.
 *
 *   state              references   in the free queue   key
 *   null page (0)      -            never               never
 *   held, unpublished  >= 1         no                  no
 *   held, published    >= 1         no                  yes
 *   free, empty        0            near the front      no
 *   free, cached       0            towards the back    yes: a lookup may find and revive it
 *
 * A key leaves its page when the page is allocated anew (the only eviction), when it is withdrawn, or in a reset.
 */
import { ConfigError, invariant } from '../errors.ts';
import { NULL_PAGE, pageId, type PageId, type PrefixKey } from '../units.ts';
import type { CacheEventHandler, PageOwner, RemovalReason } from './events.ts';
import { FreeQueue } from './free-queue.ts';
import { PrefixIndex } from './prefix-index.ts';

export interface PagePoolOptions {
  /** Whether pages carry keys. Without, freed pages are reused at once. */
  readonly caching: boolean;
  readonly onEvent?: CacheEventHandler;
}

/** Full pages of one owner and the keys that they get. */
export interface Publication {
  readonly owner: PageOwner;
  /** Index in the owner's table of the first of `pages`. */
  readonly firstPage: number;
  readonly pages: readonly PageId[];
  readonly keys: readonly PrefixKey[];
  /** Key of the page before `firstPage`; null at the start of a prompt. */
  readonly parent: PrefixKey | null;
}

export class PagePool {
  /** Pages of the pool, the null page included. */
  readonly pages: number;
  readonly caching: boolean;
  readonly #onEvent: CacheEventHandler | undefined;
  readonly #free: FreeQueue;
  readonly #references: Int32Array;
  readonly #keyOfPage: (PrefixKey | null)[];
  readonly #index = new PrefixIndex();
  /** Pages that the current call of `free` brought to zero references. Kept, so that a call allocates nothing. */
  readonly #released: PageId[] = [];
  #allocatedCount = 0;
  #evictedCount = 0;

  /** A pool of `pages` pages, of which all but the null page are free, in ascending order. */
  constructor(pages: number, options: PagePoolOptions) {
    if (!Number.isInteger(pages) || pages < 1) {
      throw new ConfigError(
        `a pool of ${pages} pages is not possible; it needs the null page and at least one more`,
      );
    }
    this.pages = pages;
    this.caching = options.caching;
    this.#onEvent = options.onEvent;
    this.#free = new FreeQueue(pages);
    this.#references = new Int32Array(pages);
    this.#keyOfPage = new Array<PrefixKey | null>(pages).fill(null);
    for (let page = NULL_PAGE + 1; page < pages; page++) this.#free.append(pageId(page));
  }

  get freeCount(): number {
    return this.#free.size;
  }

  /** Fraction of the usable pages that is held, 0 for a pool without any. */
  get usage(): number {
    return this.pages === 1 ? 0 : 1 - this.#free.size / (this.pages - 1);
  }

  /** Different keys that can be found. */
  get keyCount(): number {
    return this.#index.size;
  }

  /** Pages handed out by `allocate` so far. */
  get allocatedCount(): number {
    return this.#allocatedCount;
  }

  /** Pages that lost a key because they were allocated anew. */
  get evictedCount(): number {
    return this.#evictedCount;
  }

  /** Free pages in the order in which they will be allocated. */
  freeOrder(): PageId[] {
    return [...this.#free];
  }

  refCount(page: PageId): number {
    this.#requirePage(page);
    return this.#references[page];
  }

  keyOf(page: PageId): PrefixKey | null {
    this.#requirePage(page);
    return this.#keyOfPage[page]!;
  }

  /** The page that carries the key, the one published first if there are several. Changes nothing. */
  lookup(key: PrefixKey): PageId | null {
    return this.#index.lookup(key);
  }

  /**
   * Takes pages from the front of the free queue, with one reference each and without the keys they had. Throws
   * `InvariantError`, and takes none, when there are too few: callers check first.
   */
  allocate(count: number, owner: PageOwner | null = null): PageId[] {
    const pages = this.#free.popMany(count);
    for (const page of pages) {
      if (this.#keyOfPage[page] !== null) {
        this.#strip(page, 'evicted');
        this.#evictedCount++;
      }
      this.#references[page] = 1;
    }
    this.#allocatedCount += count;
    if (count > 0) this.#onEvent?.({ type: 'allocated', owner, pages });
    return pages;
  }

  /** One more reference for each page; free ones leave the free queue. The null page is passed over. */
  touch(pages: readonly PageId[], owner: PageOwner | null = null): void {
    for (const page of pages) this.#requirePage(page);
    for (const page of pages) {
      if (page === NULL_PAGE) continue;
      if (this.#references[page] === 0) this.#free.remove(page);
      this.#references[page]++;
    }
    if (pages.length > 0) this.#onEvent?.({ type: 'touched', owner, pages });
  }

  /**
   * One reference less for each page, and for each time that it occurs. Those left without any become free, in the
   * given order: without a key to the front of the queue, with one to its back. So the first is evicted first, and
   * callers pass a table tail first. The null page is passed over. Throws `InvariantError`, and changes nothing, when
   * a page has fewer references than it is named times.
   */
  free(pages: readonly PageId[], owner: PageOwner | null = null): void {
    for (const page of pages) this.#requirePage(page);
    const released = this.#released;
    for (let i = 0; i < pages.length; i++) {
      const page = pages[i];
      if (page === NULL_PAGE) continue;
      if (this.#references[page] === 0) {
        this.#takeBackFree(pages, i);
        invariant(false, `page ${page} has fewer references than this call frees; free each reference once`);
      }
      this.#references[page]--;
      if (this.#references[page] === 0) released.push(page);
    }
    for (const page of released) if (this.#keyOfPage[page] !== null) this.#free.append(page);
    for (let i = released.length - 1; i >= 0; i--) {
      if (this.#keyOfPage[released[i]] === null) this.#free.prepend(released[i]);
    }
    released.length = 0;
    if (pages.length > 0) this.#onEvent?.({ type: 'freed', owner, pages });
  }

  /**
   * Gives held pages their keys. A page that carries its key already is passed over. Throws `InvariantError`, and
   * changes nothing, for a page that is free or carries another key. Does nothing without caching.
   */
  publish(publication: Publication): void {
    if (!this.caching) return;
    const { pages, keys } = publication;
    for (let i = 0; i < pages.length; i++) {
      const page = pages[i];
      this.#requirePage(page);
      invariant(
        page !== NULL_PAGE && this.#references[page] > 0,
        `page ${page} is not held and cannot get a key`,
      );
      const present = this.#keyOfPage[page]!;
      invariant(
        present === null || present === keys[i],
        `page ${page} carries ${present ?? ''} and cannot get ${keys[i]}`,
      );
    }
    const storedPages: PageId[] = [];
    const storedKeys: PrefixKey[] = [];
    for (let i = 0; i < pages.length; i++) {
      const page = pages[i];
      if (this.#keyOfPage[page] !== null) continue;
      this.#keyOfPage[page] = keys[i]!;
      this.#index.add(keys[i], page);
      storedPages.push(page);
      storedKeys.push(keys[i]);
    }
    if (storedPages.length === 0) return;
    const { owner, firstPage, parent } = publication;
    this.#onEvent?.({ type: 'stored', owner, firstPage, pages: storedPages, keys: storedKeys, parent });
  }

  /** Takes a held page's key away; true if it had one. References and place in the free queue stay. */
  withdrawKey(page: PageId): boolean {
    this.#requirePage(page);
    if (this.#keyOfPage[page] === null) return false;
    // A free page without a key would stand among the cached ones, where it is reused too late.
    invariant(this.#references[page] > 0, `page ${page} is free; its key leaves when the page is allocated`);
    this.#strip(page, 'withdrawn');
    return true;
  }

  /** Forgets all keys, if every usable page is free: true. Otherwise false, and nothing changes. */
  resetPrefixCache(): boolean {
    if (this.#free.size !== this.pages - 1) return false;
    this.#keyOfPage.fill(null);
    this.#index.clear();
    this.#onEvent?.({ type: 'cleared' });
    return true;
  }

  /** Throws `InvariantError` if queue, references, keys and index do not fit together. */
  checkIntegrity(): void {
    this.#free.checkIntegrity();
    invariant(!this.#free.has(NULL_PAGE), 'the null page is in the free queue');
    let keyed = 0;
    for (let i = 0; i < this.pages; i++) {
      const page = pageId(i);
      const references = this.#references[page];
      invariant(references >= 0, `page ${page} has ${references} references`);
      const isFree = references === 0 && page !== NULL_PAGE;
      invariant(this.#free.has(page) === isFree, `page ${page}: ${references} references, free: ${!isFree}`);
      const key = this.#keyOfPage[page]!;
      if (key === null) continue;
      keyed++;
      invariant(page !== NULL_PAGE, 'the null page has a key');
      invariant(this.#index.has(key, page), `page ${page} carries ${key}, which does not lead to it`);
    }
    let indexed = 0;
    for (const [key, page] of this.#index.entries()) {
      indexed++;
      invariant(this.#keyOfPage[page] === key, `${key} leads to page ${page}, which does not carry it`);
    }
    invariant(indexed === keyed, `${indexed} entries in the prefix index, ${keyed} pages with a key`);
  }

  #strip(page: PageId, reason: RemovalReason): void {
    const key = this.#keyOfPage[page]!;
    this.#index.remove(key, page);
    this.#keyOfPage[page] = null;
    this.#onEvent?.({ type: 'removed', page, key, reason });
  }

  #takeBackFree(pages: readonly PageId[], end: number): void {
    for (let i = 0; i < end; i++) if (pages[i] !== NULL_PAGE) this.#references[pages[i]]++;
    this.#released.length = 0;
  }

  #requirePage(page: PageId): void {
    invariant(
      Number.isInteger(page) && page >= 0 && page < this.pages,
      `page ${page} does not exist; the pool has pages 0 to ${this.pages - 1}`,
    );
  }
}
