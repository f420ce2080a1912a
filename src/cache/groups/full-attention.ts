/** Full attention: every token is kept, and a prefix can be cut after any page. */
import { invariant } from '../../errors.ts';
import { ceilDiv, NULL_PAGE, type GroupId, type PageId, type RequestId } from '../../units.ts';
import type { PagePool } from '../page-pool.ts';
import { groupOfKey } from '../prefix-key.ts';
import { PageTable } from '../page-table.ts';
import type { TokenSequence } from '../token-sequence.ts';
import type { ZeroList } from '../zero-list.ts';
import { NO_HIT, type CacheGroup, type CacheRequest, type PrefixHit } from './group.ts';

export interface FullAttentionOptions {
  readonly id: GroupId;
  readonly tokensPerPage: number;
  readonly pool: PagePool;
  /** Takes the allocated pages; null where they need no zeroing. */
  readonly zeroList: ZeroList | null;
}

export class FullAttentionGroup implements CacheGroup {
  readonly kind = 'full-attention';
  readonly id: GroupId;
  readonly #tokensPerPage: number;
  readonly #pool: PagePool;
  readonly #zeroList: ZeroList | null;
  readonly #tables = new Map<RequestId, PageTable>();

  constructor(options: FullAttentionOptions) {
    this.id = options.id;
    this.#tokensPerPage = options.tokensPerPage;
    this.#pool = options.pool;
    this.#zeroList = options.zeroList;
  }

  pagesNeeded(tokens: number): number {
    return ceilDiv(tokens, this.#tokensPerPage);
  }

  findHit(sequence: TokenSequence, tokensMax: number): PrefixHit {
    const pagesMax = Math.min(Math.floor(tokensMax / this.#tokensPerPage), sequence.pageCount);
    const pages: PageId[] = [];
    while (pages.length < pagesMax) {
      const page = this.#pool.lookup(sequence.key(pages.length));
      if (page === null) break;
      pages.push(page);
    }
    return pages.length === 0 ? NO_HIT : { pages, tokens: pages.length * this.#tokensPerPage };
  }

  requireHit(request: CacheRequest, hit: PrefixHit): void {
    const { id, sequence } = request;
    invariant(
      hit.tokens === hit.pages.length * this.#tokensPerPage &&
        (hit.tokens === 0 || hit.tokens < sequence.length),
      `request ${id}: a hit of ${hit.tokens} tokens in ${hit.pages.length} pages does not fit a prompt of ${sequence.length}`,
    );
    for (let i = 0; i < hit.pages.length; i++) {
      const page = hit.pages[i];
      invariant(
        this.#pool.keyOf(page) === sequence.key(i),
        `request ${id}: page ${page} no longer holds the prefix of its hit; look up again before allocating`,
      );
    }
  }

  pagesToTake(request: CacheRequest, tokens: number, hit: PrefixHit): number {
    const held = this.#tables.get(request.id)?.length ?? hit.pages.length;
    let taken = Math.max(0, this.pagesNeeded(tokens) - held);
    // A cached page without a reference counts as free until this request revives it.
    for (const page of hit.pages) if (this.#pool.refCount(page) === 0) taken++;
    return taken;
  }

  install(request: CacheRequest, hit: PrefixHit): void {
    const owner = { request: request.id, group: this.id };
    const table = new PageTable(owner, request.sequence);
    this.#pool.touch(hit.pages, owner);
    table.append(hit.pages);
    table.publishedPages = hit.pages.length;
    this.#tables.set(request.id, table);
  }

  extend(request: CacheRequest, tokens: number, added: PageId[]): void {
    const table = this.#table(request);
    const missing = this.pagesNeeded(tokens) - table.length;
    if (missing <= 0) return;
    const pages = this.#pool.allocate(missing, table.owner);
    table.append(pages);
    for (const page of pages) {
      added.push(page);
      this.#zeroList?.add(page);
    }
  }

  publish(request: CacheRequest, tokens: number): void {
    const table = this.#table(request);
    const start = table.publishedPages;
    const end = Math.floor(tokens / this.#tokensPerPage);
    if (end <= start) return;
    invariant(
      end <= table.length && end <= table.sequence.pageCount,
      `request ${request.id}: cannot publish ${end} full pages of ${table.length} pages and ${table.sequence.length} tokens`,
    );
    this.#pool.publish({
      owner: table.owner,
      firstPage: start,
      pages: table.pages.slice(start, end),
      keys: table.keys(start, end),
      parent: start === 0 ? null : table.sequence.key(start - 1),
    });
    table.publishedPages = end;
  }

  withdraw(request: CacheRequest, fromToken: number): PageId[] {
    const table = this.#tables.get(request.id);
    if (table === undefined) return [];
    const end = Math.floor(fromToken / this.#tokensPerPage);
    const stripped: PageId[] = [];
    // Tail first, so that no event leaves a key behind whose parent is gone.
    for (let i = table.publishedPages - 1; i >= end; i--) {
      const page = table.pages[i];
      if (this.#pool.withdrawKey(page)) stripped.push(page);
    }
    table.publishedPages = Math.min(table.publishedPages, end);
    return stripped;
  }

  free(id: RequestId): readonly PageId[] {
    const table = this.#tables.get(id);
    if (table === undefined) return [];
    const pages = table.pages.toReversed();
    this.#pool.free(pages, table.owner);
    this.#tables.delete(id);
    return pages;
  }

  pageTable(id: RequestId): readonly PageId[] {
    return this.#tables.get(id)?.pages ?? NO_HIT.pages;
  }

  has(id: RequestId): boolean {
    return this.#tables.has(id);
  }

  holdersOf(pages: ReadonlySet<PageId>): RequestId[] {
    const holders: RequestId[] = [];
    for (const [id, table] of this.#tables) if (table.pages.some((page) => pages.has(page))) holders.push(id);
    return holders;
  }

  commonPrefixPages(id: RequestId): number {
    const pages = this.pageTable(id);
    let count = 0;
    while (count < pages.length && this.#pool.refCount(pages[count]) === this.#tables.size) count++;
    return count;
  }

  checkIntegrity(references: Int32Array): void {
    const seen = new Set<PageId>();
    for (const [id, table] of this.#tables) {
      seen.clear();
      table.pages.forEach((page, i) => {
        invariant(
          page !== NULL_PAGE,
          `request ${id}: the null page stands at ${i} of a full-attention table`,
        );
        invariant(!seen.has(page), `request ${id}: page ${page} stands in its table twice`);
        seen.add(page);
        references[page]++;
        const key = this.#pool.keyOf(page);
        if (key === null) return;
        invariant(groupOfKey(key) === this.id, `page ${page} of group ${this.id} carries ${key}`);
        invariant(
          i < table.sequence.pageCount && key === table.sequence.key(i),
          `request ${id}: page ${page} at ${i} carries a key that is not the request's`,
        );
      });
      invariant(
        table.publishedPages <= Math.min(table.length, table.sequence.pageCount),
        `request ${id}: ${table.publishedPages} pages published of ${table.length}`,
      );
    }
  }

  #table({ id, sequence }: CacheRequest): PageTable {
    const table = this.#tables.get(id);
    invariant(table !== undefined, `request ${id} holds no pages; allocate before anything else`);
    invariant(
      table.sequence === sequence,
      `request ${id} holds pages for another sequence; ids must be unique`,
    );
    return table;
  }
}
