/**
 * Tails: what a prompt has beyond its last whole unit, where states stand inside pages. A tail of t tokens is the page
 * of each group that holds token t - 1, under the key of t tokens. It is stored when its state gets a page of its own,
 * since whoever goes on overwrites the state where it stood.
 */
import type { CacheLayout } from '../config/layout.ts';
import type { TokenSequence } from '../cache/token-sequence.ts';
import type { GroupTail, PagesByGroup } from '../cache/cache-manager.ts';
import { ceilDiv, floorTo, NULL_PAGE, type PageId, type PrefixKey } from '../units.ts';
import { chunkKey, type OffloadGroup } from './groups.ts';
import type { LookupResult } from './lookup.ts';

/** One page of a tail. */
export interface TailPage {
  /** Its group, as an index into the offloaded ones. */
  readonly group: number;
  readonly key: PrefixKey;
  readonly page: PageId;
}

/** Whether tails are stored: with one page a slot, and no windows or drafters, which go by whole chunks. */
export function keepsTails(
  layout: CacheLayout,
  groups: readonly OffloadGroup[],
  pagesPerSlot: number,
): boolean {
  const isPlain = ({ draft, windowChunks, isState }: OffloadGroup) =>
    !draft && (windowChunks === null || isState);
  return layout.partialHits && pagesPerSlot === 1 && groups.every(isPlain);
}

/**
 * The pages of a tail of one request whose states have got pages of their own. Null if a page of it is missing. Groups
 * whose page ends with the tail store that one anyway.
 */
export function tailPages(
  sequence: TokenSequence,
  groups: readonly OffloadGroup[],
  tables: PagesByGroup,
  states: readonly GroupTail[],
): TailPage[] | null {
  const [{ tokens }] = states;
  const pages: TailPage[] = [];
  for (const [index, group] of groups.entries()) {
    if (tokens % group.tokensPerPage === 0) continue;
    const page = group.isState
      ? states.find((state) => state.group === group.id)?.page
      : tables[group.id].at(Math.floor(tokens / group.tokensPerPage));
    if (page === undefined || page === NULL_PAGE) return null;
    pages.push({ group: index, key: sequence.prefixKey(tokens, group.id), page });
  }
  return pages;
}

/**
 * The longest tail behind `tokens`, which every group can serve already, within the unit that follows; `tokens` if there
 * is none.
 */
export function extendByTail(
  sequence: TokenSequence,
  groups: readonly OffloadGroup[],
  lookup: (key: PrefixKey) => LookupResult,
  bounds: {
    readonly tokens: number;
    readonly tokensMax: number;
    readonly unitTokens: number;
    readonly hashTokens: number;
  },
): number | 'ask again' {
  const { tokens, tokensMax, unitTokens, hashTokens } = bounds;
  const keyed = sequence.unitCount * sequence.unitTokens;
  const longest = Math.min(tokensMax, keyed, tokens + unitTokens - hashTokens);
  for (let end = floorTo(longest, hashTokens); end > tokens; end -= hashTokens) {
    const answers = keysBehind(sequence, groups, tokens, end).map(lookup);
    if (answers.includes('MISS')) continue;
    return answers.every((answer) => answer === 'HIT') ? end : 'ask again';
  }
  return tokens;
}

/** Keys of all pages from one length, a whole unit, to another one within the next unit. */
export function keysBehind(
  sequence: TokenSequence,
  groups: readonly OffloadGroup[],
  tokens: number,
  end: number,
): PrefixKey[] {
  return groups.flatMap((group) => {
    // Of states only the last one is needed.
    const first = group.isState ? ceilDiv(end, group.tokensPerPage) - 1 : tokens / group.tokensPerPage;
    const keys: PrefixKey[] = [];
    for (let at = first; at * group.tokensPerPage < end; at += 1)
      keys.push(keyOfPage(sequence, group, at, end));
    return keys;
  });
}

/** Key of a page of a prompt that is used up to `end`: the last one may end inside. */
export function keyOfPage(
  sequence: TokenSequence,
  group: OffloadGroup,
  position: number,
  end: number,
): PrefixKey {
  const isWhole = (position + 1) * group.tokensPerPage <= end;
  return isWhole ? chunkKey(sequence, group, position) : sequence.prefixKey(end, group.id);
}
