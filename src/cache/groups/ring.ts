/**
 * Ring: one page a request, from its first allocation to its last, overwritten in place. Never cached, never trimmed,
 * never found; what it needs behind a hit is the manager's to arrange (`after` in its configuration).
 */
import type { PageId, RequestId } from '../../units.ts';
import { PageTable } from '../page-table.ts';
import type { Amounts, CacheRequest } from './group.ts';
import { PagedGroup } from './paged-group.ts';

export class RingGroup extends PagedGroup {
  override pagesNeeded(): number {
    return 1;
  }

  longestHit(): number {
    return 0;
  }

  firstPageOfHit(): number {
    return 0;
  }

  skippedTokens(): number {
    return 0;
  }

  override pagesToTake({ id }: CacheRequest): number {
    return this.tables.has(id) ? 0 : 1;
  }

  override install(request: CacheRequest): void {
    const owner = { request: request.id, group: this.layout.id };
    this.tables.set(request.id, new PageTable(owner, request.sequence));
  }

  override extendExternal(request: CacheRequest, _amounts: Amounts, added: PageId[]): void {
    this.extend(request, _amounts, added);
  }

  override extend(request: CacheRequest, _amounts: Amounts, added: PageId[]): void {
    const table = this.table(request);
    this.append(table, 1 - table.length, added);
  }

  /** Each row overwrites the one a turn before, which the token of the row does not read any more. */
  override missingPage(_id: RequestId, tokens: number, writtenTokens = tokens): number | null {
    return writtenTokens > tokens + 1 ? 0 : null;
  }

  override publish(): void {
    // Its bytes change with every token: no key could stay true.
  }

  override withdraw(): PageId[] {
    return [];
  }

  override pagesToFork(): number {
    return 1;
  }

  override fork(parent: RequestId, child: CacheRequest): void {
    const table = new PageTable({ request: child.id, group: this.layout.id }, child.sequence);
    this.forkPage(this.pageTable(parent)[0], table);
    this.tables.set(child.id, table);
  }
}

/** Where a token's row stands, in rows from the start of the pool: a ring's page is addressed by this rule alone. */
export function ringSlot(page: PageId, capacityTokens: number, position: number): number {
  return page * capacityTokens + (position % capacityTokens);
}
