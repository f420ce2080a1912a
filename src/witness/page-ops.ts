/**
 * Takes the forward part of a step plan apart into work on single pages: words to fill, and words to check.
 * Both workers run the same list.
 */
import type { ForwardRequest } from '../schedule/step-plan.ts';
import { ceilDiv } from '../units.ts';
import { wordsOfRows } from './pattern.ts';

/** Words a page operation takes in `PageOps.data`: the layout that the kernels read. */
export const PAGE_OP_WORDS = 5;

/**
 * Page operations as flat 32-bit words, five an operation:
 * page id, seed, index of the page's first token in `tokens`, first word, one past the last word.
 */
export interface PageOps {
  readonly data: Uint32Array;
  readonly count: number;
  /** Words over all operations. */
  readonly words: number;
}

export interface WitnessOps {
  /** Token ids of all requests of the step, one after the other. */
  readonly tokens: Uint32Array;
  readonly fill: PageOps;
  readonly check: PageOps;
}

export interface PageShape {
  readonly pageWords: number;
  readonly tokensPerPage: number;
}

/** Fill: rows `start` to `end` of each request. Check: all rows before `end`, which is what attention reads. */
export function witnessOps(forward: readonly ForwardRequest[], shape: PageShape): WitnessOps {
  const { tokensPerPage } = shape;
  let tokenCount = 0;
  let fillCount = 0;
  let checkCount = 0;
  for (const { start, end } of forward) {
    tokenCount += end;
    checkCount += ceilDiv(end, tokensPerPage);
    fillCount += ceilDiv(end, tokensPerPage) - Math.floor(start / tokensPerPage);
  }
  const tokens = new Uint32Array(tokenCount);
  const fill = new OpList(fillCount);
  const check = new OpList(checkCount);
  let firstToken = 0;
  for (const request of forward) {
    tokens.set(request.tokens.subarray(0, request.end), firstToken);
    addOps(fill, request, request.start, firstToken, shape);
    addOps(check, request, 0, firstToken, shape);
    firstToken += request.end;
  }
  return { tokens, fill, check };
}

function addOps(
  list: OpList,
  request: ForwardRequest,
  start: number,
  firstToken: number,
  shape: PageShape,
): void {
  const { pages, pageSeeds, end } = request;
  const { pageWords, tokensPerPage } = shape;
  const lastPage = ceilDiv(end, tokensPerPage);
  for (let index = Math.floor(start / tokensPerPage); index < lastPage; index += 1) {
    const pageStart = index * tokensPerPage;
    const rowStart = Math.max(start - pageStart, 0);
    const rowEnd = Math.min(end - pageStart, tokensPerPage);
    list.push(
      pages[index],
      pageSeeds[index],
      firstToken + pageStart,
      wordsOfRows(rowStart, pageWords, tokensPerPage),
      wordsOfRows(rowEnd, pageWords, tokensPerPage),
    );
  }
}

class OpList implements PageOps {
  readonly data: Uint32Array;
  count = 0;
  words = 0;

  constructor(countMax: number) {
    this.data = new Uint32Array(countMax * PAGE_OP_WORDS);
  }

  push(page: number, seed: number, firstToken: number, wordStart: number, wordEnd: number): void {
    const at = this.count * PAGE_OP_WORDS;
    this.data[at] = page;
    this.data[at + 1] = seed;
    this.data[at + 2] = firstToken;
    this.data[at + 3] = wordStart;
    this.data[at + 4] = wordEnd;
    this.count += 1;
    this.words += wordEnd - wordStart;
  }
}
