/** CPU twin of `shaders/witness_check.wgsl`. */
import { PAGE_OP_WORDS, type PageOps } from '../../witness/page-ops.ts';
import { rowOfWord, tokenOfRow, type PageShape } from '../../witness/page-shape.ts';
import { witnessWord } from '../../witness/pattern.ts';

export interface WitnessFindings {
  /** Words that do not hold the pattern, over all operations: a page that two operations read counts twice. */
  readonly mismatches: number;
  /** Page ids with a mismatch, each once, ascending. */
  readonly pages: readonly number[];
}

/** Compares the words that each operation names with the witness pattern. */
export function witnessCheck(
  pool: Uint32Array,
  shape: PageShape,
  ops: PageOps,
  tokens: Uint32Array,
): WitnessFindings {
  const pages = new Set<number>();
  let mismatches = 0;
  for (let op = 0; op < ops.count; op += 1) {
    const [page, seed, firstToken, wordStart, wordEnd] = ops.data.subarray(op * PAGE_OP_WORDS);
    const base = page * shape.strideWords;
    for (let word = wordStart; word < wordEnd; word += 1) {
      const token = tokens[firstToken + tokenOfRow(rowOfWord(word, shape), shape)];
      if (pool[base + word] === witnessWord(seed, token, word)) continue;
      mismatches += 1;
      pages.add(page);
    }
  }
  return { mismatches, pages: [...pages].sort((a, b) => a - b) };
}
