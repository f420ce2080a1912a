/**
 * The witness pattern: what every word of a page must hold, so that a page that is stale, zeroed, swapped or half
 * loaded is told from the right one. It stands in for keys, values and states, which depend on the same things: all
 * tokens before the page (through the seed, the start of the chained prefix hash), the token of the row, and the place.
 *
 * `shaders/shared/witness.wgsl` computes the same words on the device; a test compares the two.
 */

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

/** The seed of a page: that of its prefix, told apart by group and rank. Group 0 of rank 0 has the prefix's own. */
export function pageSeed(prefixSeed: number, group: number, rank: number): number {
  return (prefixSeed ^ Math.imul(group, 0x9e3779b1) ^ Math.imul(rank, 0x85ebca77)) >>> 0;
}

/** The seed of a state after some tokens behind the last hashed unit: a chain over each of them. */
export function stateSeed(unitSeed: number, tokens: Iterable<number>): number {
  let seed = unitSeed;
  for (const token of tokens) seed = witnessWord(seed, token, 0);
  return seed;
}

/** What `zeroing: 'poison'` writes instead of zeros: a quiet NaN as f32 and two NaNs as f16, easy to spot in a dump. */
export const POISON_WORD = 0x7fc17fc1;
