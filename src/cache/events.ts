/**
 * What happened to pages, as plain data. The events of a run, replayed from an empty pool, give back which page each
 * request holds, which pages are free and which key each page carries:
 *
 *   allocated, touched   one more reference for each page; the pages join the owner's table in this order
 *   freed                one less for each page, which leaves the owner's table; at none a page is free
 *   stored, removed      pages get and lose their keys, `cleared`: all of them
 *   zeroed               pages that this step overwrites before anything is computed
 *
 * Handlers run in the middle of the operation and must not call back into the cache.
 */
import type { GroupId, PageId, PrefixKey, RequestId } from '../units.ts';

/** Who holds pages: a request, for the layers of one group. */
export interface PageOwner {
  readonly request: RequestId;
  readonly group: GroupId;
}

/** `evicted`: the page was allocated anew. `withdrawn`: its rows were announced and never computed. */
export type RemovalReason = 'evicted' | 'withdrawn';

export type CacheEvent =
  | { readonly type: 'allocated'; readonly owner: PageOwner | null; readonly pages: readonly PageId[] }
  | { readonly type: 'touched'; readonly owner: PageOwner | null; readonly pages: readonly PageId[] }
  /** In the order of the call: pages that come free are evicted first to last, those without a key before all others. */
  | { readonly type: 'freed'; readonly owner: PageOwner | null; readonly pages: readonly PageId[] }
  | {
      readonly type: 'stored';
      readonly owner: PageOwner;
      /** Index in the owner's table of `pages[0]`. `pages[i]` carries `keys[i]`; neighbours need not be adjacent. */
      readonly firstPage: number;
      readonly pages: readonly PageId[];
      readonly keys: readonly PrefixKey[];
      /** Key of the page before `firstPage`, null for the start of a prompt. */
      readonly parent: PrefixKey | null;
    }
  | {
      readonly type: 'removed';
      readonly page: PageId;
      readonly key: PrefixKey;
      readonly reason: RemovalReason;
    }
  | { readonly type: 'cleared' }
  | { readonly type: 'zeroed'; readonly pages: readonly PageId[] };

export type CacheEventHandler = (event: CacheEvent) => void;
