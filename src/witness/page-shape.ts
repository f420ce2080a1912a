/**
 * How the rows of a group lie in its pages on one rank, and which token each of them stands for.
 *
 * With several ranks, tokens are dealt out in runs of `interleave`: with 2 ranks and runs of 4, rank 0 has tokens 0 to 3,
 * 8 to 11 and so on. Rings and recurrent states are whole on every rank.
 */
import type { CacheLayout, GroupLayout } from '../config/layout.ts';
import { WORD_BYTES } from '../units.ts';

export interface PageShape {
  /** Words from one page to the next. */
  readonly strideWords: number;
  /** Words at the front of the page that belong to the group. */
  readonly pageWords: number;
  /** Rows of a page. At most as many as words, or some have none. */
  readonly rows: number;
  /** Tokens of this rank that a row stands for. */
  readonly ratio: number;
  /** Consecutive tokens on one rank. */
  readonly interleave: number;
  readonly ranks: number;
  readonly rank: number;
}

/** The shape of a group's pages on a rank. */
export function pageShape(layout: CacheLayout, group: GroupLayout, rank: number): PageShape {
  const { config } = group;
  const isWhole = config.kind === 'ring' || config.kind === 'recurrent';
  const ratio = config.kind === 'compressed' ? config.ratio : 1;
  return {
    strideWords: layout.strideBytes / WORD_BYTES,
    pageWords: group.pageBytes / WORD_BYTES,
    rows: rowsOfPage(group, ratio),
    ratio,
    interleave: isWhole ? 1 : layout.interleaveTokens,
    ranks: isWhole ? 1 : layout.contextParallel,
    rank: isWhole ? 0 : rank,
  };
}

function rowsOfPage({ config }: GroupLayout, ratio: number): number {
  if (config.kind === 'recurrent') return 1;
  return (config.kind === 'ring' ? config.capacityTokens : config.tokensPerPage) / ratio;
}

/** Words of a page that its first `rows` rows fill. Row boundaries are rounded down to words. */
export function wordsOfRows(
  rows: number,
  { pageWords, rows: all }: Pick<PageShape, 'pageWords' | 'rows'>,
): number {
  return Math.floor((rows * pageWords) / all);
}

/** The row that a word belongs to: the only r with wordsOfRows(r) <= word < wordsOfRows(r + 1). */
export function rowOfWord(word: number, { pageWords, rows }: Pick<PageShape, 'pageWords' | 'rows'>): number {
  return Math.floor(((word + 1) * rows - 1) / pageWords);
}

/** The last token that a row stands for, counted from the first token of its page over all ranks. */
export function tokenOfRow(row: number, { ratio, interleave, ranks, rank }: PageShape): number {
  const local = (row + 1) * ratio - 1;
  const run = Math.floor(local / interleave);
  return (run * ranks + rank) * interleave + (local - run * interleave);
}

/** Rows of this rank that are complete once the first `tokens` tokens of a sequence are computed. */
export function rowsBefore(tokens: number, { ratio, interleave, ranks, rank }: PageShape): number {
  const turn = interleave * ranks;
  const rest = (tokens % turn) - rank * interleave;
  const local = Math.floor(tokens / turn) * interleave + Math.min(interleave, Math.max(0, rest));
  return Math.floor(local / ratio);
}
