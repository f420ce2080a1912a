/** Which chunks of a request are offered to the host tier, from its page tables and from how far it is computed. */
import type { Holdings } from '../schedule/connector-interface.ts';
import type { Request } from '../schedule/request.ts';
import { NULL_PAGE, type PageId, type PrefixKey } from '../units.ts';
import { chunkKey, chunksIn, isReachable, keepsEverything, type OffloadGroup } from './groups.ts';

/** One chunk of one group, with the pages that hold it. */
export interface Chunk {
  /** Its group, as an index into the offloaded ones, and its place in the request. */
  readonly group: number;
  readonly index: number;
  readonly key: PrefixKey;
  /** `pages[i]` is the chunk's page `firstPage + i`: a state stands for the whole chunk, where its last page would. */
  readonly pages: readonly PageId[];
  readonly firstPage: number;
  /** For a chunk that ends inside its page: tokens that its key stands for. Else null. */
  readonly tailTokens: number | null;
  /** Its pages may be given back while the request runs, so they are fenced at once. */
  readonly isImmediate: boolean;
}

export interface StoreOffer {
  readonly chunks: readonly Chunk[];
  /** By offloaded group: where the cursor goes once the offer is accepted. */
  readonly cursors: readonly number[];
}

export interface ChoiceOptions {
  readonly groups: readonly OffloadGroup[];
  readonly pagesPerSlot: number;
}

interface Source {
  readonly request: Request;
  readonly holdings: Holdings;
  /** By offloaded group. */
  readonly cursors: readonly number[];
  /** Tokens whose rows are there once this step has run, as far as they may be stored. */
  readonly computedTokens: number;
}

/** States that stand at chunk ends and were not offered yet: an offer each, since each has a page of its own. */
export function stateOffers(source: Source, { groups, pagesPerSlot }: ChoiceOptions): StoreOffer[] {
  const { request, holdings, cursors, computedTokens } = source;
  const offers: StoreOffer[] = [];
  for (const [index, group] of groups.entries()) {
    if (!group.isState) continue;
    for (const { group: id, page, tokens } of holdings.states) {
      if (id !== group.id || tokens > computedTokens || tokens % group.tokensPerChunk !== 0) continue;
      const chunk = tokens / group.tokensPerChunk - 1;
      if (chunk < cursors[index]) continue;
      const key = chunkKey(request.sequence, group, chunk);
      offers.push({
        chunks: [
          {
            group: index,
            index: chunk,
            key,
            pages: [page],
            firstPage: pagesPerSlot - 1,
            tailTokens: null,
            isImmediate: true,
          },
        ],
        cursors: cursors.map((cursor, i) => (i === index ? chunk + 1 : cursor)),
      });
    }
  }
  return offers;
}

/** Rows: the chunks that are full, still held, and of use to somebody. Null if there is nothing new. */
export function rowOffer(source: Source, { groups, pagesPerSlot }: ChoiceOptions): StoreOffer | null {
  const { request, holdings, cursors, computedTokens } = source;
  // Most steps fill no chunk.
  const isNew = (group: OffloadGroup, i: number) =>
    !group.isState && chunksIn(computedTokens, group) > cursors[i];
  if (!groups.some(isNew)) return null;
  const chunks: Chunk[] = [];
  const next = [...cursors];
  for (const [index, group] of groups.entries()) {
    if (group.isState) continue;
    const table = holdings.tables[group.id];
    let end = Math.min(chunksIn(computedTokens, group), Math.floor(table.length / pagesPerSlot));
    // What a drafter guessed of a token that is not confirmed changes when it is.
    if (group.draft && computedTokens > request.promptTokens) end -= 1;
    for (let chunk = cursors[index]; chunk < end; chunk += 1) {
      if (!isReachable(chunk, end, group)) continue;
      const pages = table.slice(chunk * pagesPerSlot, (chunk + 1) * pagesPerSlot);
      // A key promises the whole chunk: a window that has moved on leaves none.
      if (pages.includes(NULL_PAGE)) continue;
      const key = chunkKey(request.sequence, group, chunk);
      chunks.push({
        group: index,
        index: chunk,
        key,
        pages,
        firstPage: 0,
        tailTokens: null,
        isImmediate: !keepsEverything(group),
      });
    }
    next[index] = Math.max(cursors[index], end);
  }
  if (next.every((cursor, index) => cursor === cursors[index])) return null;
  return { chunks, cursors: next };
}
