/**
 * The witness pattern: what every word of a page must hold, so that a page that is stale, zeroed, swapped or half
 * loaded is told from the right one. It stands in for keys and values, which depend on the same things: all tokens
 * before the page (through the seed, the start of the chained prefix hash), the token of the row, and the place.
 *
 * `shaders/shared/witness.wgsl` computes the same words on the device; a test compares the two.
 */

/** Words of a page that the first `rows` rows fill. Row boundaries are rounded down to words. */
export function wordsOfRows(rows: number, pageWords: number, tokensPerPage: number): number {
  return Math.floor((rows * pageWords) / tokensPerPage);
}

/** The row that word `word` belongs to: the only r with wordsOfRows(r) <= word < wordsOfRows(r + 1). */
export function rowOfWord(word: number, pageWords: number, tokensPerPage: number): number {
  return Math.floor(((word + 1) * tokensPerPage - 1) / pageWords);
}

/**
 * The word at index `word` of a page, in a row of token `token`, behind the prefix that `seed` stands for.
 * For one seed and one place, different tokens give different words: both multipliers are odd, and so is the mixing.
 */
export function witnessWord(seed: number, token: number, word: number): number {
  let x = (seed + Math.imul(token, 0x9e3779b9) + Math.imul(word, 0x85ebca6b)) | 0;
  x ^= x >>> 16;
  x = Math.imul(x, 0x7feb352d);
  x ^= x >>> 15;
  x = Math.imul(x, 0x846ca68b);
  x ^= x >>> 16;
  return x >>> 0;
}

/** What `zeroing: 'poison'` writes instead of zeros: a quiet NaN as f32 and two NaNs as f16, easy to spot in a dump. */
export const POISON_WORD = 0x7fc17fc1;
