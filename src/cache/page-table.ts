/** The pages of one request in one group: page i holds tokens i * tokensPerPage and following. */
import type { PageId, PrefixKey } from '../units.ts';
import type { PageOwner } from './events.ts';
import type { TokenSequence } from './token-sequence.ts';

export class PageTable {
  readonly owner: PageOwner;
  readonly sequence: TokenSequence;
  readonly #pages: PageId[] = [];
  /** The leading pages that have been published, or came with a key as a prefix hit. */
  publishedPages = 0;

  constructor(owner: PageOwner, sequence: TokenSequence) {
    this.owner = owner;
    this.sequence = sequence;
  }

  /** A live view. It only grows, and stays as it is when the request is freed. */
  get pages(): readonly PageId[] {
    return this.#pages;
  }

  get length(): number {
    return this.#pages.length;
  }

  append(pages: readonly PageId[]): void {
    for (const page of pages) this.#pages.push(page);
  }

  /** Keys of full pages `start` to `end`. */
  keys(start: number, end: number): PrefixKey[] {
    const keys: PrefixKey[] = [];
    for (let page = start; page < end; page++) keys.push(this.sequence.key(page));
    return keys;
  }
}
