/**
 * The free list: an intrusive doubly linked list over page ids, in two typed arrays.
 *
 * Order guarantee: pages leave at the front. What is appended leaves last, what is prepended leaves first, and a
 * list given to `appendMany` or `prependMany` keeps its order. Every operation on one page is O(1).
 *
 *   link arrays:   0 .. capacity - 1   pages
 *                  capacity            front sentinel
 *                  capacity + 1        back sentinel
 *
 * With the sentinels in place no operation has a case for an empty list or for an end of it.
 */
import { ConfigError, invariant, InvariantError } from '../errors.ts';
import { pageId, type PageId } from '../units.ts';

/** Both links of a page that is not in the list. */
const UNLINKED = -1;
/** Largest capacity whose sentinels still have 32-bit signed indices. */
const CAPACITY_MAX = 2 ** 31 - 2;

export class FreeQueue {
  readonly capacity: number;
  readonly #front: number;
  readonly #back: number;
  readonly #next: Int32Array;
  readonly #previous: Int32Array;
  #size = 0;

  /** An empty list for page ids 0 to `capacity` - 1. */
  constructor(capacity: number) {
    if (!Number.isInteger(capacity) || capacity < 1 || capacity > CAPACITY_MAX) {
      throw new ConfigError(`a free queue of ${capacity} pages is not possible; use 1 to ${CAPACITY_MAX}`);
    }
    this.capacity = capacity;
    this.#front = capacity;
    this.#back = capacity + 1;
    this.#next = new Int32Array(capacity + 2).fill(UNLINKED);
    this.#previous = new Int32Array(capacity + 2).fill(UNLINKED);
    this.#next[this.#front] = this.#back;
    this.#previous[this.#back] = this.#front;
  }

  get size(): number {
    return this.#size;
  }

  /** Bytes of the links. */
  get byteLength(): number {
    return this.#next.byteLength + this.#previous.byteLength;
  }

  has(page: PageId): boolean {
    return page < this.capacity && this.#next[page] !== UNLINKED;
  }

  append(page: PageId): void {
    this.#link(page, this.#previous[this.#back], this.#back);
  }

  prepend(page: PageId): void {
    this.#link(page, this.#front, this.#next[this.#front]);
  }

  /**
   * The first of `count` pages comes right behind what was last so far. Throws `InvariantError` at a page that is a
   * member or does not exist; those before it are in the list then.
   */
  appendMany(pages: ArrayLike<number>, count = pages.length): void {
    const next = this.#next;
    const previous = this.#previous;
    const capacity = this.capacity;
    let last = previous[this.#back];
    let i = 0;
    for (; i < count; i++) {
      const page = pages[i];
      if (next[page] !== UNLINKED || page >= capacity) break;
      next[last] = page;
      previous[page] = last;
      // A member at once, so that a page which is named twice is found out.
      next[page] = this.#back;
      last = page;
    }
    previous[this.#back] = last;
    this.#size += i;
    if (i < count) this.#refuse(pages[i]);
  }

  /**
   * The first of `count` pages becomes the front. Throws `InvariantError` at a page that is a member or does not exist;
   * those behind it are in the list then.
   */
  prependMany(pages: ArrayLike<number>, count = pages.length): void {
    const next = this.#next;
    const previous = this.#previous;
    const capacity = this.capacity;
    let first = next[this.#front];
    let i = count - 1;
    for (; i >= 0; i--) {
      const page = pages[i];
      if (next[page] !== UNLINKED || page >= capacity) break;
      next[page] = first;
      previous[first] = page;
      first = page;
    }
    next[this.#front] = first;
    previous[first] = this.#front;
    this.#size += count - 1 - i;
    if (i >= 0) this.#refuse(pages[i]);
  }

  /** Takes the front page. Throws `InvariantError` when empty. */
  pop(): PageId {
    invariant(this.#size > 0, 'the free queue is empty; check its size before taking a page');
    const page = pageId(this.#next[this.#front]);
    this.remove(page);
    return page;
  }

  /** Takes `count` pages from the front. Throws `InvariantError`, and takes none, when there are fewer. */
  popMany(count: number): PageId[] {
    if (!Number.isInteger(count) || count < 0 || count > this.#size) {
      invariant(false, `cannot take ${count} pages from a free queue of ${this.#size}; check its size first`);
    }
    const pages = new Array<PageId>(count);
    const next = this.#next;
    const previous = this.#previous;
    let page = next[this.#front];
    for (let i = 0; i < count; i++) {
      pages[i] = page as PageId;
      const following = next[page];
      next[page] = UNLINKED;
      previous[page] = UNLINKED;
      page = following;
    }
    next[this.#front] = page;
    previous[page] = this.#front;
    this.#size -= count;
    return pages;
  }

  /** Takes a member out, wherever it stands. Throws `InvariantError` when it is not in the list. */
  remove(page: PageId): void {
    if (!this.has(page))
      invariant(false, `page ${page} is not in the free queue and cannot be taken out of it`);
    const next = this.#next[page];
    const previous = this.#previous[page];
    this.#next[previous] = next;
    this.#previous[next] = previous;
    this.#next[page] = UNLINKED;
    this.#previous[page] = UNLINKED;
    this.#size--;
  }

  /** Front to back. The list must not change meanwhile. */
  *[Symbol.iterator](): IterableIterator<PageId> {
    for (let page = this.#next[this.#front]; page !== this.#back; page = this.#next[page]!) {
      yield pageId(page);
    }
  }

  /** Throws `InvariantError` unless forward walk, backward walk and counter agree and all links are mutual. */
  checkIntegrity(): void {
    let walked = 0;
    let at = this.#front;
    while (at !== this.#back) {
      const next = this.#next[at];
      invariant(next !== UNLINKED && next !== this.#front, `free queue: the link behind ${at} leads nowhere`);
      invariant(this.#previous[next] === at, `free queue: ${next} does not link back to ${at}`);
      at = next;
      walked++;
      invariant(walked <= this.#size + 1, `free queue: more members than its counter ${this.#size}`);
    }
    invariant(walked === this.#size + 1, `free queue: ${walked - 1} members, counter ${this.#size}`);
    let linked = 0;
    for (let page = 0; page < this.capacity; page++) {
      const isLinked = this.#next[page] !== UNLINKED;
      invariant(
        isLinked === (this.#previous[page] !== UNLINKED),
        `free queue: page ${page} has one link only`,
      );
      if (isLinked) linked++;
    }
    invariant(linked === this.#size, `free queue: ${linked} linked pages, counter ${this.#size}`);
  }

  #link(page: PageId, previous: number, next: number): void {
    this.#requireUnlinked(page);
    this.#next[previous] = page;
    this.#previous[page] = previous;
    this.#next[page] = next;
    this.#previous[next] = page;
    this.#size++;
  }

  #requireUnlinked(page: PageId): void {
    // One look in the usual case: what is no page of the queue has no link, not even a missing one.
    if (this.#next[page] === UNLINKED && page < this.capacity) return;
    this.#refuse(page);
  }

  #refuse(page: number): never {
    if (!Number.isInteger(page) || page < 0 || page >= this.capacity) {
      invariant(false, `page ${page} does not exist; the free queue holds pages 0 to ${this.capacity - 1}`);
    }
    throw new InvariantError(`page ${page} is in the free queue already`);
  }
}
