/**
 * What happened to pages, as plain data. The events of a run, replayed from an empty pool, give back which page each
 * request holds where, which pages are free and which keys each page carries:
 *
 *   allocated, touched   one more reference for each page; the pages stand in the owner's table from position `at` on,
 *                        where null pages keep their place. Without an owner, the reference belongs to a copy
 *   freed                one less for each page, which leaves the owner's table; at none a page is free
 *   replaced             a position of a table gets another page, or none; the references stay as they are
 *   stored, removed      pages get and lose keys, `cleared`: all of them; `moved`: from one page to another
 *   zeroed, copied       pages that this step overwrites before anything is computed
 *
 * Handlers run in the middle of the operation and must not call back into the cache.
 */
import type { GroupId, PageId, PrefixKey, RequestId } from '../units.ts';
import type { CborValue } from './canonical-cbor.ts';
import type { PageCopy } from './page-copies.ts';

/** Who holds pages: a request, for the layers of one group. */
export interface PageOwner {
  readonly request: RequestId;
  readonly group: GroupId;
}

/**
 * `evicted`: the page was allocated anew. `withdrawn`: its rows were announced and never computed. `replaced`: the page
 * gets a key for more tokens of the same prompt.
 */
export type RemovalReason = 'evicted' | 'withdrawn' | 'replaced';

/** Pages that somebody got a reference of. */
interface Referenced {
  readonly owner: PageOwner | null;
  readonly pages: readonly PageId[];
  /** Position of `pages[0]` in the owner's table; null without an owner. */
  readonly at: number | null;
}

export type CacheEvent =
  | ({ readonly type: 'allocated' } & Referenced)
  | ({ readonly type: 'touched' } & Referenced)
  /** In the order of the call: pages that come free are evicted first to last, those without a key before all others. */
  | { readonly type: 'freed'; readonly owner: PageOwner | null; readonly pages: readonly PageId[] }
  /** `page` stands at `position` now, instead of what stood there; the null page if nothing does. */
  | { readonly type: 'replaced'; readonly owner: PageOwner; readonly position: number; readonly page: PageId }
  | {
      readonly type: 'stored';
      readonly owner: PageOwner;
      /** Index in the owner's table of the first page of the range; null and unreachable pages in it are left out. */
      readonly firstPage: number;
      readonly pages: readonly PageId[];
      readonly keys: readonly PrefixKey[];
      /** Tokens that each page's key stands for. */
      readonly keyedTokens: readonly number[];
      /** Key of the tokens before the range, null for the start of a prompt. */
      readonly parent: PrefixKey | null;
      /** Tokens that one key covers beyond its parent: those of a page, or of a hash unit. */
      readonly blockTokens: number;
      /** All tokens of the range, those of pages that were left out as well. */
      readonly tokens: readonly number[];
      /** What was hashed beside the tokens, one entry a page. */
      readonly extras: readonly (readonly CborValue[] | null)[];
    }
  | {
      readonly type: 'removed';
      readonly page: PageId;
      readonly key: PrefixKey;
      readonly reason: RemovalReason;
    }
  /** All keys of `source` are on `destination` now. */
  | { readonly type: 'moved'; readonly source: PageId; readonly destination: PageId }
  | { readonly type: 'cleared' }
  | { readonly type: 'zeroed'; readonly group: GroupId; readonly pages: readonly PageId[] }
  | { readonly type: 'copied'; readonly copies: readonly PageCopy[] };

export type CacheEventHandler = (event: CacheEvent) => void;
