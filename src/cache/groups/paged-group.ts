/** What all kinds share: tables over one pool, from the first allocation to the last reference. */
import type { GroupLayout } from '../../config/layout.ts';
import { invariant } from '../../errors.ts';
import { ceilDiv, NULL_PAGE, type PageId, type RequestId } from '../../units.ts';
import type { CacheEventHandler } from '../events.ts';
import type { PageCopies } from '../page-copies.ts';
import type { PagePool } from '../page-pool.ts';
import { PageTable } from '../page-table.ts';
import type { ZeroList } from '../zero-list.ts';
import type {
  Amounts,
  CachedAt,
  CacheGroup,
  CacheRequest,
  HitBounds,
  HitPages,
  PublishLimits,
} from './group.ts';

export interface GroupOptions {
  readonly layout: GroupLayout;
  readonly onEvent?: CacheEventHandler | undefined;
  readonly pool: PagePool;
  readonly copies: PageCopies;
  /** Takes the allocated pages; null where they need no zeroing. */
  readonly zeroList: ZeroList | null;
  /** Takes pages that get a key for what this step computes; null where no hit ever copies or continues from a page. */
  readonly unwritten: Set<PageId> | null;
}

const NO_PAGES: readonly PageId[] = Object.freeze([]);

export abstract class PagedGroup implements CacheGroup {
  readonly layout: GroupLayout;
  protected readonly pool: PagePool;
  protected readonly copies: PageCopies;
  protected readonly zeroList: ZeroList | null;
  protected readonly unwritten: Set<PageId> | null;
  protected readonly tables = new Map<RequestId, PageTable>();

  constructor(options: GroupOptions) {
    this.layout = options.layout;
    this.pool = options.pool;
    this.copies = options.copies;
    this.zeroList = options.zeroList;
    this.unwritten = options.unwritten;
  }

  abstract longestHit(cachedAt: CachedAt, bounds: HitBounds): number;
  abstract firstPageOfHit(tokens: number): number;
  abstract skippedTokens(tokens: number): number;

  pagesNeeded(tokens: number, _inFlightTokens?: number): number {
    return this.positions(tokens);
  }

  pagesToTake(request: CacheRequest, amounts: Amounts, hit: HitPages): number {
    const required = this.positions(amounts.need);
    const table = this.tables.get(request.id);
    if (table !== undefined) return Math.max(0, required - table.length);
    const skipped = this.skippedPages(amounts.total);
    return Math.max(0, required - Math.max(skipped, hit.length)) + this.pagesOfInstall(amounts, hit);
  }

  install(request: CacheRequest, amounts: Amounts, hit: HitPages): void {
    const owner = { request: request.id, group: this.layout.id };
    const table = new PageTable(owner, request.sequence);
    const skipped = Math.min(this.skippedPages(amounts.total), hit.length);
    const used = skipped === 0 ? hit : hit.slice(skipped);
    this.pool.touch(used, owner, skipped);
    table.pad(skipped);
    table.append(used);
    table.publishedPages = table.length;
    if (this.endsInside(amounts.local) && hit.length > skipped) {
      table.sharedTail = hit.length - 1;
      table.publishedPages = table.sharedTail;
    }
    this.tables.set(request.id, table);
  }

  extendExternal(request: CacheRequest, amounts: Amounts, added: PageId[]): void {
    const table = this.table(request);
    table.pad(this.skippedPages(amounts.total));
    this.append(table, this.positions(amounts.total) - table.length, added);
  }

  extend(request: CacheRequest, amounts: Amounts, added: PageId[]): void {
    const table = this.table(request);
    this.copySharedTail(table, added);
    this.append(table, this.positions(amounts.need) - table.length, added);
  }

  trim(id: RequestId, tokens: number): readonly PageId[] {
    const table = this.tables.get(id);
    if (table === undefined) return NO_PAGES;
    const trimmed: PageId[] = [];
    for (let i = Math.min(this.skippedPages(tokens), table.length) - 1; i >= 0; i--) {
      if (table.pages[i] === NULL_PAGE) break;
      trimmed.push(table.replace(i, NULL_PAGE));
    }
    if (trimmed.length > 0) this.pool.free(trimmed, table.owner);
    return trimmed;
  }

  missingPage(id: RequestId, tokens: number): number | null {
    // Null pages stand before all others, so the first page that is read tells.
    const first = this.skippedPages(tokens);
    const isMissing = first < this.positions(tokens) && this.pageTable(id)[first] === NULL_PAGE;
    return isMissing ? first : null;
  }

  publish(request: CacheRequest, limits: PublishLimits): void {
    const table = this.table(request);
    const start = table.publishedPages;
    const end = Math.floor(limits.tokens / this.layout.tokensPerPage);
    if (end > start) {
      invariant(
        end <= table.length,
        `request ${request.id}: cannot publish ${end} full pages of ${table.length} pages and ${table.sequence.length} tokens`,
      );
      this.publishPages(table, start, end, limits.masked);
      table.publishedPages = end;
    }
    if (limits.tail !== null) this.publishTail(table, limits.tail, limits.finalTokens);
  }

  withdraw(id: RequestId, fromToken: number): PageId[] {
    const table = this.tables.get(id);
    if (table === undefined) return [];
    const first = Math.floor(fromToken / this.layout.tokensPerPage);
    const stripped: PageId[] = [];
    // Tail first, so that no event leaves a key behind whose parent is gone.
    for (let i = table.length - 1; i >= first; i--) {
      const page = table.pages[i];
      if (page === NULL_PAGE || i === table.sharedTail) continue;
      if ((this.pool.keyedTokens(page) ?? 0) > fromToken && this.pool.withdrawKeys(page)) stripped.push(page);
    }
    table.publishedPages = Math.min(table.publishedPages, first);
    return stripped;
  }

  free(id: RequestId): readonly PageId[] {
    const table = this.tables.get(id);
    if (table === undefined) return NO_PAGES;
    const pages = table.heldTailFirst();
    if (this.copies.pending().length > 0) this.copies.cancel(new Set(pages));
    this.pool.free(pages, table.owner);
    this.tables.delete(id);
    return pages;
  }

  pagesToFork(parent: RequestId, tokens: number): number {
    const page = this.tables.get(parent)?.pages[Math.floor(tokens / this.layout.tokensPerPage)];
    return this.endsInside(tokens) && page !== undefined && page !== NULL_PAGE ? 1 : 0;
  }

  fork(parent: RequestId, child: CacheRequest, tokens: number): void {
    const source = this.tables.get(parent);
    invariant(source !== undefined, `request ${parent} holds no pages; fork a request that has run`);
    const owner = { request: child.id, group: this.layout.id };
    const table = new PageTable(owner, child.sequence);
    const full = Math.floor(tokens / this.layout.tokensPerPage);
    const shared = source.pages.slice(0, full);
    this.pool.touch(shared, owner, 0);
    table.append(shared);
    if (this.pagesToFork(parent, tokens) === 1) this.forkPage(source.pages[full], table);
    else table.pad(this.positions(tokens));
    table.publishedPages = Math.min(source.publishedPages, full);
    this.tables.set(child.id, table);
  }

  pageTable(id: RequestId): readonly PageId[] {
    return this.tables.get(id)?.pages ?? NO_PAGES;
  }

  has(id: RequestId): boolean {
    return this.tables.has(id);
  }

  holdersOf(pages: ReadonlySet<PageId>): RequestId[] {
    const holders: RequestId[] = [];
    for (const [id, table] of this.tables) if (table.pages.some((page) => pages.has(page))) holders.push(id);
    return holders;
  }

  commonPrefixPages(_id: RequestId): number {
    return 0;
  }

  checkIntegrity(references: Int32Array): void {
    const seen = new Set<PageId>();
    for (const [id, table] of this.tables) {
      seen.clear();
      for (const [position, page] of table.pages.entries()) {
        if (page === NULL_PAGE) continue;
        invariant(!seen.has(page), `request ${id}: page ${page} stands in its table twice`);
        seen.add(page);
        references[page]++;
        this.checkPage(table, position, page);
      }
      invariant(
        table.publishedPages <= table.length,
        `request ${id}: ${table.publishedPages} pages published of ${table.length}`,
      );
    }
  }

  /** A key stands for the request's own tokens, up to somewhere inside the page. */
  protected checkPage(table: PageTable, position: number, page: PageId): void {
    const { tokensPerPage, id } = this.layout;
    const tokens = this.pool.keyedTokens(page);
    if (tokens === null) return;
    const { request } = table.owner;
    invariant(
      this.layout.cacheable && tokens > position * tokensPerPage && tokens <= (position + 1) * tokensPerPage,
      `request ${request}: page ${page} at ${position} of group ${id} carries a key for ${tokens} tokens`,
    );
    // A shared tail may be keyed for tokens that this request does not have.
    if (position === table.sharedTail || tokens > table.sequence.length) return;
    invariant(
      this.pool.carries(page, table.sequence, tokens, id),
      `request ${request}: page ${page} at ${position} carries a key that is not the request's`,
    );
  }

  /** Publishes full pages `start` to `end`. */
  protected publishPages(
    table: PageTable,
    start: number,
    end: number,
    masked?: (position: number) => boolean,
  ): void {
    this.pool.publish({
      owner: table.owner,
      firstPage: start,
      pages: table.pages.slice(start, end),
      sequence: table.sequence,
      tokensPerPage: this.layout.tokensPerPage,
      masked,
    });
    if (!this.unwritten) return;
    for (let i = start; i < end; i++) {
      if (table.pages[i] !== NULL_PAGE && !masked?.(i)) this.unwritten.add(table.pages[i]);
    }
  }

  /** Publishes the end of a prompt inside a page. Kinds that cannot be cut inside a page have none. */
  protected publishTail(_table: PageTable, _boundary: number, _finalTokens: number): void {
    // Nothing to publish.
  }

  /** Length of a table for this many tokens. */
  protected positions(tokens: number): number {
    return ceilDiv(tokens, this.layout.tokensPerPage);
  }

  protected skippedPages(tokens: number): number {
    return Math.floor(this.skippedTokens(tokens) / this.layout.tokensPerPage);
  }

  protected endsInside(tokens: number): boolean {
    return tokens % this.layout.tokensPerPage !== 0;
  }

  /** Pages of a hit that leave the free queue, and the private copy of a tail that it ends inside. */
  protected pagesOfInstall(amounts: Amounts, hit: HitPages): number {
    const skipped = this.skippedPages(amounts.total);
    let taken = 0;
    for (let i = skipped; i < hit.length; i++) {
      // A cached page without a reference counts as free until this request revives it.
      if (hit[i] !== NULL_PAGE && this.pool.refCount(hit[i]) === 0) taken++;
    }
    return this.endsInside(amounts.local) && hit.length > skipped ? taken + 1 : taken;
  }

  protected append(table: PageTable, count: number, added: PageId[]): void {
    if (count <= 0) return;
    const pages = this.pool.allocate(count, table.owner, table.length);
    table.append(pages);
    for (const page of pages) {
      added.push(page);
      this.zeroList?.add(page);
    }
  }

  /** Replaces a page that others read by a copy, before this request writes to it. */
  protected copySharedTail(table: PageTable, added: PageId[]): void {
    const position = table.sharedTail;
    if (position === null) return;
    const [own] = this.pool.allocate(1, table.owner, position);
    // The table's reference to the source goes over to the copy.
    const source = table.replace(position, own);
    this.pool.touch([own]);
    this.copies.add({ group: this.layout.id, source, destination: own });
    table.sharedTail = null;
    added.push(own);
    this.zeroList?.add(own);
  }

  /** Appends a copy of the parent's page. */
  protected forkPage(page: PageId, table: PageTable): void {
    const source = this.copies.originOf(page);
    const [own] = this.pool.allocate(1, table.owner, table.length);
    table.append([own]);
    this.pool.touch([own]);
    this.pool.touch([source]);
    this.copies.add({ group: this.layout.id, source, destination: own });
    this.zeroList?.add(own);
  }

  protected table({ id, sequence }: CacheRequest): PageTable {
    const table = this.tables.get(id);
    invariant(table !== undefined, `request ${id} holds no pages; allocate before anything else`);
    invariant(
      table.sequence === sequence,
      `request ${id} holds pages for another sequence; ids must be unique`,
    );
    return table;
  }
}
