/** CPU twin of `shaders/witness_fill.wgsl`. */
import { PAGE_OP_WORDS, type PageOps, type PageShape } from '../../witness/page-ops.ts';
import { rowOfWord, witnessWord } from '../../witness/pattern.ts';

/** Writes the witness pattern into the words that each operation names. */
export function witnessFill(pool: Uint32Array, shape: PageShape, ops: PageOps, tokens: Uint32Array): void {
  const { pageWords, tokensPerPage } = shape;
  for (let op = 0; op < ops.count; op += 1) {
    const [page, seed, firstToken, wordStart, wordEnd] = ops.data.subarray(op * PAGE_OP_WORDS);
    const base = page * pageWords;
    for (let word = wordStart; word < wordEnd; word += 1) {
      const token = tokens[firstToken + rowOfWord(word, pageWords, tokensPerPage)];
      pool[base + word] = witnessWord(seed, token, word);
    }
  }
}
