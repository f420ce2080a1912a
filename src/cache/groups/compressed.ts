/**
 * Full attention over compressed rows: a page of `tokensPerPage` tokens stores `tokensPerPage / ratio` rows. Which page
 * a token belongs to, and so everything here, goes by tokens; only the bytes of a page know the ratio.
 */
import { ceilDiv } from '../../units.ts';
import { FullAttentionGroup } from './full-attention.ts';

export class CompressedGroup extends FullAttentionGroup {}

/** Rows of a page that hold the first `tokens` tokens of it. The last of them may stand for fewer than `ratio`. */
export function rowsOf(tokens: number, ratio: number): number {
  return ceilDiv(tokens, ratio);
}
