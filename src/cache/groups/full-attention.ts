/** Full attention: every token is kept, and a prefix can be cut after any page, or inside one. */
import { floorTo, NULL_PAGE, type RequestId } from '../../units.ts';
import type { PageTable } from '../page-table.ts';
import type { CachedAt, HitBounds } from './group.ts';
import { PagedGroup } from './paged-group.ts';

export class FullAttentionGroup extends PagedGroup {
  longestHit(cachedAt: CachedAt, { tokensMax, cachedMax, step }: HitBounds): number {
    const { tokensPerPage, draft } = this.layout;
    let cached = 0;
    while (cached + tokensPerPage <= cachedMax && cachedAt(cached + tokensPerPage)) cached += tokensPerPage;
    if (step < tokensPerPage) cached = this.endInside(cachedAt, cached, cachedMax, step);
    // The drafter's rows at the end of a prefix depend on the token behind it, which may be another one now.
    const usable = draft ? cached - Math.min(step, tokensPerPage) : cached;
    return Math.max(0, floorTo(Math.min(usable, tokensMax), step));
  }

  firstPageOfHit(): number {
    return 0;
  }

  skippedTokens(): number {
    return 0;
  }

  override commonPrefixPages(id: RequestId): number {
    const pages = this.pageTable(id);
    let count = 0;
    while (count < pages.length && this.pool.refCount(pages[count]) === this.tables.size) count++;
    return count;
  }

  protected override publishTail(table: PageTable, boundary: number, finalTokens: number): void {
    const { tokensPerPage, id } = this.layout;
    const position = Math.floor(boundary / tokensPerPage);
    if (!this.endsInside(boundary) || finalTokens < boundary || position >= table.length) return;
    const page = table.pages[position];
    if (page === NULL_PAGE || this.pool.carries(page, table.sequence, boundary, id)) return;
    this.pool.publishPartial({
      owner: table.owner,
      page,
      index: position,
      sequence: table.sequence,
      tokens: boundary,
    });
    this.unwritten?.add(page);
  }

  /** The last boundary inside the page behind `cached` tokens that is cached. */
  private endInside(cachedAt: CachedAt, cached: number, cachedMax: number, step: number): number {
    const last = Math.min(cached + this.layout.tokensPerPage - step, floorTo(cachedMax, step));
    for (let tokens = last; tokens > cached; tokens -= step) if (cachedAt(tokens)) return tokens;
    return cached;
  }
}
