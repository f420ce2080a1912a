/** CPU twin of `shaders/witness_fill.wgsl`. */
import { PAGE_OP_WORDS, type PageOps } from '../../witness/page-ops.ts';
import { rowOfWord, tokenOfRow, type PageShape } from '../../witness/page-shape.ts';
import { witnessWord } from '../../witness/pattern.ts';

/** Writes the witness pattern into the words that each operation names. */
export function witnessFill(pool: Uint32Array, shape: PageShape, ops: PageOps, tokens: Uint32Array): void {
  for (let op = 0; op < ops.count; op += 1) {
    const [page, seed, firstToken, wordStart, wordEnd] = ops.data.subarray(op * PAGE_OP_WORDS);
    const base = page * shape.strideWords;
    for (let word = wordStart; word < wordEnd; word += 1) {
      const token = tokens[firstToken + tokenOfRow(rowOfWord(word, shape), shape)];
      pool[base + word] = witnessWord(seed, token, word);
    }
  }
}
