/** Work on single pages as flat words: what the witness kernels and their twins read. */

/** Words that a page operation takes in `PageOps.data`. */
export const PAGE_OP_WORDS = 5;

/**
 * Operations of one group, five words each: page id, seed, index of the page's first token in the tokens of the step,
 * first word, one past the last word.
 */
export interface PageOps {
  readonly data: Uint32Array;
  readonly count: number;
  /** Words over all operations. */
  readonly words: number;
}

const NO_WORDS = new Uint32Array();
const OPS_INITIAL = 8;

export class OpList implements PageOps {
  data: Uint32Array = NO_WORDS;
  count = 0;
  words = 0;

  /** Operations on no word are left out. */
  push(page: number, seed: number, firstToken: number, wordStart: number, wordEnd: number): void {
    if (wordEnd <= wordStart) return;
    const at = this.count * PAGE_OP_WORDS;
    if (at === this.data.length) {
      const longer = new Uint32Array(Math.max(2 * at, OPS_INITIAL * PAGE_OP_WORDS));
      longer.set(this.data);
      this.data = longer;
    }
    this.data[at] = page;
    this.data[at + 1] = seed;
    this.data[at + 2] = firstToken;
    this.data[at + 3] = wordStart;
    this.data[at + 4] = wordEnd;
    this.count += 1;
    this.words += wordEnd - wordStart;
  }
}
