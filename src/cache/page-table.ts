/**
 * The pages of one request in one group: position i holds tokens i * tokensPerPage and following. The null page stands
 * where the group keeps nothing, or nothing any more.
 */
import { NULL_PAGE, type PageId } from '../units.ts';
import type { PageOwner } from './events.ts';
import type { TokenSequence } from './token-sequence.ts';

export class PageTable {
  readonly owner: PageOwner;
  readonly sequence: TokenSequence;
  readonly #pages: PageId[] = [];
  /** The leading positions that have been offered for publishing, or came with a key as a prefix hit. */
  publishedPages = 0;
  /** Position of a page that a hit ends inside: others read it, so this request needs a copy before it writes. */
  sharedTail: number | null = null;

  constructor(owner: PageOwner, sequence: TokenSequence) {
    this.owner = owner;
    this.sequence = sequence;
  }

  /** A live view. It never gets shorter, and stays as it is when the request is freed. */
  get pages(): readonly PageId[] {
    return this.#pages;
  }

  get length(): number {
    return this.#pages.length;
  }

  append(pages: readonly PageId[]): void {
    // Room for all of them at once: pushes would allocate several times as much on the way.
    const start = this.#pages.length;
    this.#pages.length += pages.length;
    for (let i = 0; i < pages.length; i++) this.#pages[start + i] = pages[i];
  }

  /** All pages but null pages, the last one first. */
  heldTailFirst(): PageId[] {
    const table = this.#pages;
    let count = 0;
    for (let i = 0; i < table.length; i++) if (table[i] !== NULL_PAGE) count++;
    const held = new Array<PageId>(count);
    for (let i = table.length - 1, at = 0; at < count; i--) if (table[i] !== NULL_PAGE) held[at++] = table[i];
    return held;
  }

  /** Null pages up to `length` positions. */
  pad(length: number): void {
    while (this.#pages.length < length) this.#pages.push(NULL_PAGE);
  }

  /** Puts another page at a position, and gives the one that stood there. */
  replace(position: number, page: PageId): PageId {
    const former = this.#pages[position];
    this.#pages[position] = page;
    return former;
  }
}
