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
 * Keys leave their page when the page is allocated anew (the only eviction), when they are withdrawn or give way to one
 * for more tokens, or in a reset. A page may have several: one for each boundary inside it that prompts have ended at.
 */
import { ConfigError, invariant } from '../errors.ts';
import { NULL_PAGE, pageId, type GroupId, type PageId, type PrefixKey } from '../units.ts';
import type { CacheEventHandler, PageOwner, RemovalReason } from './events.ts';
import { FreeQueue } from './free-queue.ts';
import { HASH_WORDS, PrefixIndex } from './prefix-index.ts';
import { prefixKeyOf } from './prefix-key.ts';
import type { TokenSequence } from './token-sequence.ts';

export interface PagePoolOptions {
  /** Whether pages carry keys. Without, freed pages are reused at once. */
  readonly caching: boolean;
  readonly onEvent?: CacheEventHandler;
}

/** Full pages of one owner, which get the keys of its tokens. */
export interface Publication {
  readonly owner: PageOwner;
  /** Index in the owner's table of the first of `pages`. Null pages are passed over. */
  readonly firstPage: number;
  readonly pages: readonly PageId[];
  readonly sequence: TokenSequence;
  /** A multiple of the sequence's unit. */
  readonly tokensPerPage: number;
  /** Positions of the table that are passed over as well. */
  readonly masked?: ((position: number) => boolean) | undefined;
}

/** A page that is known up to a boundary inside it. */
export interface PartialPublication {
  readonly owner: PageOwner;
  readonly page: PageId;
  /** Index of the page in the owner's table. */
  readonly index: number;
  readonly sequence: TokenSequence;
  /** Tokens up to the boundary: a multiple of the sequence's unit. */
  readonly tokens: number;
}

/** Pages freed at once before the scratch lists grow. */
const SCRATCH_PAGES = 512;

export class PagePool {
  /** Pages of the pool, the null page included. */
  readonly pages: number;
  readonly caching: boolean;
  readonly #onEvent: CacheEventHandler | undefined;
  readonly #free: FreeQueue;
  readonly #references: Int32Array;
  /** Tokens that the first key of each page stands for, 0 for pages without a key. */
  readonly #keyedTokens: Uint32Array;
  /** Entries in the index of further keys; few pages have any. */
  readonly #extraKeys = new Map<PageId, number[]>();
  readonly #index: PrefixIndex;
  /** Pages that the current call of `free` brought to zero references. Kept, so that a call allocates nothing. */
  #releasedEmpty = new Int32Array(SCRATCH_PAGES);
  #releasedCached = new Int32Array(SCRATCH_PAGES);
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
    this.#keyedTokens = new Uint32Array(this.caching ? pages : 0);
    this.#index = new PrefixIndex(this.caching ? pages : 0);
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

  /** Bytes of bookkeeping, without what further keys of a page need. */
  get byteLength(): number {
    const keys = this.#keyedTokens.byteLength + this.#index.byteLength;
    return this.#free.byteLength + this.#references.byteLength + keys;
  }

  /** The page's first key, or null. */
  keyOf(page: PageId): PrefixKey | null {
    this.#requirePage(page);
    return this.#hasKey(page) ? this.#keyOfEntry(page) : null;
  }

  /** All keys of a page: the first one, then those for fewer tokens in the order in which they came. */
  keysOf(page: PageId): PrefixKey[] {
    this.#requirePage(page);
    return this.#hasKey(page) ? this.#entriesOf(page).map((entry) => this.#keyOfEntry(entry)) : [];
  }

  /** Tokens that the page's first key stands for, or null without one. */
  keyedTokens(page: PageId): number | null {
    this.#requirePage(page);
    return this.#hasKey(page) ? this.#keyedTokens[page] : null;
  }

  /** Whether the page carries the key of the sequence's first `tokens` tokens in a group. */
  carries(page: PageId, sequence: TokenSequence, tokens: number, group: GroupId): boolean {
    this.#requirePage(page);
    if (!this.#hasKey(page)) return false;
    const units = tokens / sequence.unitTokens;
    const words = sequence.hashesAfter(units);
    const at = units * HASH_WORDS;
    if (this.#index.carries(page, words, at, group)) return true;
    const extras = this.#extraKeys.get(page);
    return extras !== undefined && extras.some((entry) => this.#index.carries(entry, words, at, group));
  }

  /**
   * The page that carries the key of the sequence's first `tokens` tokens in a group, the one published first if there
   * are several; null if none does. Changes nothing.
   */
  lookup(sequence: TokenSequence, tokens: number, group: GroupId): PageId | null {
    if (!this.caching) return null;
    const units = tokens / sequence.unitTokens;
    const entry = this.#index.first(sequence.hashesAfter(units), units * HASH_WORDS, group);
    return entry < 0 ? null : this.#index.pageOf(entry);
  }

  /**
   * Takes pages from the front of the free queue, with one reference each and without the keys they had. Throws
   * `InvariantError`, and takes none, when there are too few: callers check first.
   */
  allocate(count: number, owner: PageOwner | null = null, at: number | null = null): PageId[] {
    const pages = this.#free.popMany(count);
    const keyed = this.#keyedTokens;
    const references = this.#references;
    for (let i = 0; i < pages.length; i++) {
      const page = pages[i];
      if (keyed[page] > 0) {
        this.#strip(page, 'evicted');
        this.#evictedCount++;
      }
      references[page] = 1;
    }
    this.#allocatedCount += count;
    if (count > 0) this.#onEvent?.({ type: 'allocated', owner, pages, at });
    return pages;
  }

  /** One more reference for each page; free ones leave the free queue. The null page is passed over. */
  touch(pages: readonly PageId[], owner: PageOwner | null = null, at: number | null = null): void {
    const references = this.#references;
    for (let i = 0; i < pages.length; i++)
      if (references[pages[i]] === undefined) this.#requirePage(pages[i]);
    for (let i = 0; i < pages.length; i++) {
      const page = pages[i];
      if (page === NULL_PAGE) continue;
      if (references[page] === 0) this.#free.remove(page);
      references[page]++;
    }
    if (pages.length > 0) this.#onEvent?.({ type: 'touched', owner, pages, at });
  }

  /**
   * One reference less for each page, and for each time that it occurs. Those left without any become free, in the
   * given order: without a key to the front of the queue, with one to its back. So the first is evicted first, and
   * callers pass a table tail first. The null page is passed over. Throws `InvariantError`, and changes nothing, when
   * a page has fewer references than it is named times.
   */
  free(pages: readonly PageId[], owner: PageOwner | null = null): void {
    const references = this.#references;
    const keyed = this.#keyedTokens;
    if (pages.length > this.#releasedEmpty.length) this.#growScratch(pages.length);
    const empty = this.#releasedEmpty;
    const cached = this.#releasedCached;
    let emptyCount = 0;
    let cachedCount = 0;
    for (let i = 0; i < pages.length; i++) {
      const page = pages[i];
      if (page === NULL_PAGE) continue;
      const count = references[page];
      if (count === undefined || count === 0) {
        this.#takeBackFree(pages, i);
        this.#requirePage(page);
        invariant(false, `page ${page} has fewer references than this call frees; free each reference once`);
      }
      references[page] = count - 1;
      if (count > 1) continue;
      if (keyed[page] > 0) cached[cachedCount++] = page;
      else empty[emptyCount++] = page;
    }
    this.#free.appendMany(cached, cachedCount);
    this.#free.prependMany(empty, emptyCount);
    if (pages.length > 0) this.#onEvent?.({ type: 'freed', owner, pages });
  }

  /**
   * Gives held pages their keys. A page that carries its key already is passed over; one whose key stands for fewer
   * tokens of the same page gets the new key instead. Throws `InvariantError`, and changes nothing, for a page that is
   * free or carries another key. Does nothing without caching.
   */
  publish(publication: Publication): void {
    if (!this.caching) return;
    const { owner, firstPage, pages, sequence, tokensPerPage, masked } = publication;
    const unitsPerPage = tokensPerPage / sequence.unitTokens;
    const words = sequence.hashWords((firstPage + pages.length) * unitsPerPage);
    for (let i = 0; i < pages.length; i++) {
      if (pages[i] === NULL_PAGE || masked?.(firstPage + i)) continue;
      this.#requireKeyable(
        pages[i],
        owner,
        (firstPage + i + 1) * tokensPerPage,
        words,
        unitsPerPage,
        firstPage + i,
      );
    }
    const stored: PageId[] | null = this.#onEvent ? [] : null;
    for (let i = 0; i < pages.length; i++) {
      const page = pages[i];
      if (page === NULL_PAGE || masked?.(firstPage + i)) continue;
      const tokens = (firstPage + i + 1) * tokensPerPage;
      if (this.#keyedTokens[page] === tokens) continue;
      if (this.#keyedTokens[page] > 0) this.#strip(page, 'replaced');
      this.#index.add(page, words, ((firstPage + i + 1) * unitsPerPage - 1) * HASH_WORDS, owner.group);
      this.#keyedTokens[page] = tokens;
      stored?.push(page);
    }
    if (stored === null || stored.length === 0) return;
    this.#reportStored({
      owner,
      firstPage,
      pages: stored,
      sequence,
      start: firstPage * tokensPerPage,
      blockTokens: tokensPerPage,
      end: (firstPage + pages.length) * tokensPerPage,
    });
  }

  /**
   * Gives a held page the key of a boundary inside it. It stands beside a key for more tokens, and takes the place of one
   * for fewer. Throws `InvariantError` for a free page. Does nothing without caching, and for a key that is there.
   */
  publishPartial(publication: PartialPublication): void {
    if (!this.caching) return;
    const { owner, page, index, sequence, tokens } = publication;
    this.#requireHeld(page);
    if (this.carries(page, sequence, tokens, owner.group)) return;
    const units = tokens / sequence.unitTokens;
    const words = sequence.hashWords(units);
    const at = (units - 1) * HASH_WORDS;
    if (this.#keyedTokens[page] > tokens) {
      const entry = this.#index.addExtra(page, words, at, owner.group);
      const extras = this.#extraKeys.get(page);
      if (extras) extras.push(entry);
      else this.#extraKeys.set(page, [entry]);
    } else {
      if (this.#keyedTokens[page] > 0) this.#strip(page, 'replaced');
      this.#index.add(page, words, at, owner.group);
      this.#keyedTokens[page] = tokens;
    }
    if (!this.#onEvent) return;
    const start = tokens - sequence.unitTokens;
    this.#reportStored({
      owner,
      firstPage: index,
      pages: [page],
      sequence,
      start,
      blockTokens: sequence.unitTokens,
      end: tokens,
      keyed: tokens,
    });
  }

  /** Takes all keys of a held page away; true if it had one. References and place in the free queue stay. */
  withdrawKeys(page: PageId): boolean {
    this.#requirePage(page);
    if (!this.#hasKey(page)) return false;
    // A free page without a key would stand among the cached ones, where it is reused too late.
    invariant(this.#references[page] > 0, `page ${page} is free; its key leaves when the page is allocated`);
    this.#strip(page, 'withdrawn');
    return true;
  }

  /** Puts all keys of one page on another one, which must be held and have none. */
  moveKeys(source: PageId, destination: PageId): void {
    this.#requirePage(source);
    this.#requireHeld(destination);
    invariant(
      !this.#hasKey(destination),
      `page ${destination} has a key and cannot take those of page ${source}`,
    );
    if (!this.#hasKey(source)) return;
    const tokens = this.#keyedTokens[source];
    const moved = this.#entriesOf(source).map((entry) => ({
      words: this.#index.wordsOf(entry).slice(),
      group: this.#index.groupOf(entry),
    }));
    for (const entry of this.#entriesOf(source)) this.#index.remove(entry);
    this.#extraKeys.delete(source);
    this.#keyedTokens[source] = 0;
    const [first, ...extras] = moved;
    this.#index.add(destination, first.words, 0, first.group);
    this.#keyedTokens[destination] = tokens;
    const entries = extras.map(({ words, group }) => this.#index.addExtra(destination, words, 0, group));
    if (entries.length > 0) this.#extraKeys.set(destination, entries);
    this.#onEvent?.({ type: 'moved', source, destination });
  }

  /** Takes the keys of pages away wherever they stand, as when their bytes are lost. References and order stay. */
  evictKeys(pages: Iterable<PageId>): void {
    for (const page of pages) {
      this.#requirePage(page);
      if (this.#hasKey(page)) this.#strip(page, 'evicted');
    }
  }

  /** Forgets all keys, if every usable page is free: true. Otherwise false, and nothing changes. */
  resetPrefixCache(): boolean {
    if (this.#free.size !== this.pages - 1) return false;
    this.#keyedTokens.fill(0);
    this.#extraKeys.clear();
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
      if (!this.#hasKey(page)) {
        invariant(!this.#extraKeys.has(page), `page ${page} has further keys and no first one`);
        continue;
      }
      keyed += this.#entriesOf(page).length;
      invariant(page !== NULL_PAGE, 'the null page has a key');
      for (const entry of this.#entriesOf(page)) {
        invariant(
          this.#index.isUsed(entry) && this.#index.pageOf(entry) === page,
          `page ${page} carries ${this.#keyOfEntry(entry)}, which does not lead to it`,
        );
      }
    }
    this.#index.checkIntegrity();
    let indexed = 0;
    for (const head of this.#index.heads())
      for (const entry of this.#index.ring(head)) indexed += entry >= 0 ? 1 : 0;
    invariant(indexed === keyed, `${indexed} entries in the prefix index, ${keyed} keys on pages`);
  }

  #hasKey(page: PageId): boolean {
    return this.#keyedTokens[page] > 0;
  }

  #entriesOf(page: PageId): number[] {
    return [page, ...(this.#extraKeys.get(page) ?? [])];
  }

  #keyOfEntry(entry: number): PrefixKey {
    return prefixKeyOf(this.#index.wordsOf(entry), 0, this.#index.groupOf(entry));
  }

  #strip(page: PageId, reason: RemovalReason): void {
    const extras = this.#extraKeys.size > 0 ? this.#extraKeys.get(page) : undefined;
    if (this.#onEvent) {
      for (const key of this.keysOf(page)) this.#onEvent({ type: 'removed', page, key, reason });
    }
    this.#index.remove(page);
    this.#keyedTokens[page] = 0;
    if (extras === undefined) return;
    for (const entry of extras) this.#index.remove(entry);
    this.#extraKeys.delete(page);
  }

  #requireHeld(page: PageId): void {
    if (page !== NULL_PAGE && this.#references[page] > 0) return;
    this.#requirePage(page);
    invariant(false, `page ${page} is not held and cannot get a key`);
  }

  /** Throws unless the page is held and has no key, the key that it is to get, or one for fewer tokens inside it. */
  #requireKeyable(
    page: PageId,
    owner: PageOwner,
    tokens: number,
    words: Uint32Array,
    unitsPerPage: number,
    position: number,
  ): void {
    this.#requireHeld(page);
    const keyed = this.#keyedTokens[page];
    if (keyed === 0) return;
    const at = ((position + 1) * unitsPerPage - 1) * HASH_WORDS;
    const isSame = keyed === tokens && this.#index.carries(page, words, at, owner.group);
    const perPage = tokens / (position + 1);
    const isShorter = keyed < tokens && keyed > tokens - perPage && this.#index.groupOf(page) === owner.group;
    if (isSame || isShorter) return;
    invariant(
      false,
      `page ${page} carries a key for ${keyed} tokens and cannot get another one for ${tokens}`,
    );
  }

  #reportStored(stored: {
    readonly owner: PageOwner;
    readonly firstPage: number;
    readonly pages: readonly PageId[];
    readonly sequence: TokenSequence;
    readonly start: number;
    readonly end: number;
    readonly blockTokens: number;
    readonly keyed?: number;
  }): void {
    const { owner, firstPage, pages, sequence, start, end, blockTokens, keyed } = stored;
    const keyedTokens = pages.map((page) => keyed ?? this.#keyedTokens[page]);
    this.#onEvent?.({
      type: 'stored',
      owner,
      firstPage,
      pages,
      keys: keyedTokens.map((tokens) => sequence.prefixKey(tokens, owner.group)),
      keyedTokens,
      parent: start === 0 ? null : sequence.prefixKey(start, owner.group),
      blockTokens,
      tokens: [...sequence.tokens(end).subarray(start)],
      extras: keyedTokens.map((tokens) => sequence.extras(tokens / sequence.unitTokens - 1)),
    });
  }

  #takeBackFree(pages: readonly PageId[], end: number): void {
    for (let i = 0; i < end; i++) if (pages[i] !== NULL_PAGE) this.#references[pages[i]]++;
  }

  #growScratch(pages: number): void {
    this.#releasedEmpty = new Int32Array(2 * pages);
    this.#releasedCached = new Int32Array(2 * pages);
  }

  #requirePage(page: PageId): void {
    if (Number.isInteger(page) && page >= 0 && page < this.pages) return;
    // The text is made only where it is needed: this is asked for every page.
    invariant(false, `page ${page} does not exist; the pool has pages 0 to ${this.pages - 1}`);
  }
}
