/**
 * Prefix key to pages, in typed arrays: nothing is allocated when a key comes or goes.
 *
 * An entry is one key on one page. Entry p, for a page id p, is the page's first key; further keys of pages are rare
 * and have entries behind those. Entries with the same key form a ring in the order in which they came; the table,
 * open addressing with linear probing, leads to the first of each ring:
 *
 *   table   [ .  3+1  .  .  7+1  . ]     entry + 1, 0 for an empty place
 *                 |          |
 *   steps   [ 0   0   0  0   1   0 ]     places between where the search for the entry begins and where it stands
 *   ring          3 <-> 5    7          next, previous
 *
 * The steps tell, mostly without a look at the far larger words, which entries on the way of a search cannot be meant
 * and which may move. Removing closes the gap in the table by moving entries back, so no tombstones gather.
 */
import { ConfigError, invariant } from '../errors.ts';
import type { GroupId, PageId } from '../units.ts';

/** 32-bit words of a hash. */
export const HASH_WORDS = 8;
/** Places of the table for each entry: more are faster, fewer are smaller. */
const PLACES_PER_ENTRY = 1.38;
const LOAD_MAX = 0.8;
/** That many steps or more. */
const STEPS_MAX = 255;
const UNUSED = -1;
export const GROUPS_MAX = 256;

export class PrefixIndex {
  /** Keys, 8 words an entry. */
  #words: Uint32Array;
  #groups: Uint8Array;
  #next: Int32Array;
  #previous: Int32Array;
  #table: Int32Array;
  #steps: Uint8Array;
  #size = 0;
  readonly #pages: number;
  /** Page of each entry behind the pages' own. */
  readonly #extraPages: PageId[] = [];
  readonly #freeExtras: number[] = [];

  /** For page ids below `pages`. */
  constructor(pages: number) {
    this.#pages = pages;
    this.#words = new Uint32Array(pages * HASH_WORDS);
    this.#groups = new Uint8Array(pages);
    this.#next = new Int32Array(pages).fill(UNUSED);
    this.#previous = new Int32Array(pages);
    this.#table = new Int32Array(Math.ceil(pages * PLACES_PER_ENTRY) + 1);
    this.#steps = new Uint8Array(this.#table.length);
  }

  /** Different keys. */
  get size(): number {
    return this.#size;
  }

  /** Bytes that the index holds. */
  get byteLength(): number {
    const arrays = [this.#words, this.#groups, this.#next, this.#previous, this.#table, this.#steps];
    return arrays.reduce((sum, { byteLength }) => sum + byteLength, 0);
  }

  /** The entry that came first under the key in words `at` to `at + 7`, or -1. */
  first(words: Uint32Array, at: number, group: GroupId): number {
    const table = this.#table;
    const allSteps = this.#steps;
    let place = this.#home(words, at, group);
    for (let steps = 0; ; steps = nextStep(steps)) {
      const entry = table[place] - 1;
      if (entry < 0) return -1;
      if (allSteps[place] === steps && this.#equals(entry, words, at, group)) return entry;
      place = place + 1 === table.length ? 0 : place + 1;
    }
  }

  /** Whether the entry carries this key. */
  carries(entry: number, words: Uint32Array, at: number, group: GroupId): boolean {
    return this.#next[entry] !== UNUSED && this.#equals(entry, words, at, group);
  }

  isUsed(entry: number): boolean {
    return this.#next[entry] !== UNUSED;
  }

  pageOf(entry: number): PageId {
    return entry < this.#pages ? (entry as PageId) : this.#extraPages[entry - this.#pages];
  }

  groupOf(entry: number): GroupId {
    return this.#groups[entry] as GroupId;
  }

  /** View of an entry's 8 words, valid until it is removed. */
  wordsOf(entry: number): Uint32Array {
    return this.#words.subarray(entry * HASH_WORDS, (entry + 1) * HASH_WORDS);
  }

  /** Entries with the same key as this one, itself included, in the order in which they came. */
  *ring(entry: number): IterableIterator<number> {
    const first = this.first(this.#words, entry * HASH_WORDS, this.groupOf(entry));
    let at = first;
    do {
      yield at;
      at = this.#next[at];
    } while (at !== first);
  }

  /** Every entry that is first under its key. */
  *heads(): IterableIterator<number> {
    for (const place of this.#table) if (place > 0) yield place - 1;
  }

  /** An entry for a further key of a page. */
  addExtra(page: PageId, words: Uint32Array, at: number, group: GroupId): number {
    let entry = this.#freeExtras.pop();
    if (entry === undefined) {
      entry = this.#pages + this.#extraPages.length;
      if (entry === this.#next.length) this.#growEntries();
      this.#extraPages.push(page);
    } else {
      this.#extraPages[entry - this.#pages] = page;
    }
    this.add(entry, words, at, group);
    return entry;
  }

  /** Puts an entry behind those with the same key. Throws `InvariantError` if it has a key. */
  add(entry: number, words: Uint32Array, at: number, group: GroupId): void {
    if (this.#next[entry] !== UNUSED) {
      invariant(false, `entry ${entry} of the prefix index has a key already; remove that first`);
    }
    if (group >= GROUPS_MAX) {
      throw new ConfigError(`group ${group} cannot have prefix keys; there are at most ${GROUPS_MAX} groups`);
    }
    const own = entry * HASH_WORDS;
    for (let i = 0; i < HASH_WORDS; i++) this.#words[own + i] = words[at + i];
    this.#groups[entry] = group;
    const table = this.#table;
    const allSteps = this.#steps;
    let place = this.#home(words, at, group);
    for (let steps = 0; ; steps = nextStep(steps)) {
      const first = table[place] - 1;
      if (first < 0) {
        table[place] = entry + 1;
        allSteps[place] = steps;
        this.#next[entry] = entry;
        this.#previous[entry] = entry;
        this.#size++;
        if (this.#size > table.length * LOAD_MAX) this.#growTable();
        return;
      }
      if (allSteps[place] === steps && this.#equals(first, words, at, group)) {
        const last = this.#previous[first];
        this.#next[last] = entry;
        this.#previous[entry] = last;
        this.#next[entry] = first;
        this.#previous[first] = entry;
        return;
      }
      place = place + 1 === table.length ? 0 : place + 1;
    }
  }

  /** Forgets an entry. Throws `InvariantError` if it has no key. */
  remove(entry: number): void {
    const next = this.#next[entry];
    if (next === UNUSED) invariant(false, `entry ${entry} of the prefix index has no key to remove`);
    const table = this.#table;
    if (next === entry) {
      this.#closeGap(this.#placeOf(entry));
      this.#size--;
    } else {
      const previous = this.#previous[entry];
      const place = this.#firstPlace(entry);
      if (table[place] === entry + 1) table[place] = next + 1;
      this.#next[previous] = next;
      this.#previous[next] = previous;
    }
    this.#next[entry] = UNUSED;
    if (entry >= this.#pages) this.#freeExtras.push(entry);
  }

  /** Forgets everything. */
  clear(): void {
    this.#next.fill(UNUSED);
    this.#table.fill(0);
    this.#size = 0;
    this.#extraPages.length = 0;
    this.#freeExtras.length = 0;
  }

  /** Throws `InvariantError` unless table, rings and counter fit together. */
  checkIntegrity(): void {
    let keys = 0;
    let entries = 0;
    for (const head of this.heads()) {
      keys++;
      const at = head * HASH_WORDS;
      invariant(
        this.first(this.#words, at, this.groupOf(head)) === head,
        `entry ${head} cannot be found by its key`,
      );
      for (const entry of this.ring(head)) {
        entries++;
        invariant(this.#previous[this.#next[entry]] === entry, `entry ${entry} is linked one way only`);
        invariant(
          this.carries(entry, this.#words, at, this.groupOf(head)),
          `entry ${entry} is in the ring of another key`,
        );
        invariant(entries <= this.#next.length, 'a ring of the prefix index does not end');
      }
    }
    for (const [place, entry] of this.#table.entries()) {
      const steps = entry === 0 ? this.#steps[place] : Math.min(this.#countSteps(place), STEPS_MAX);
      invariant(this.#steps[place] === steps, `place ${place} of the prefix index has the wrong steps`);
    }
    invariant(keys === this.#size, `${keys} keys in the prefix index, counted are ${this.#size}`);
    const used = this.#next.reduce((sum, next) => sum + (next === UNUSED ? 0 : 1), 0);
    invariant(used === entries, `${used} entries have a key, ${entries} can be found`);
  }

  /** Hashes are evenly spread already: their first word says where to look. */
  #home(words: Uint32Array, at: number, group: number): number {
    const mixed = (words[at] + Math.imul(group, 0x9e3779b1)) >>> 0;
    return Math.floor((mixed / 2 ** 32) * this.#table.length);
  }

  #equals(entry: number, words: Uint32Array, at: number, group: number): boolean {
    const own = entry * HASH_WORDS;
    const mine = this.#words;
    for (let i = 0; i < HASH_WORDS; i++) if (mine[own + i] !== words[at + i]) return false;
    return this.#groups[entry] === group;
  }

  /** Where the table holds this very entry. */
  #placeOf(entry: number): number {
    const table = this.#table;
    let place = this.#home(this.#words, entry * HASH_WORDS, this.#groups[entry]);
    while (table[place] !== entry + 1) place = place + 1 === table.length ? 0 : place + 1;
    return place;
  }

  /** Where the table holds the first entry of this one's ring. */
  #firstPlace(entry: number): number {
    const first = this.first(this.#words, entry * HASH_WORDS, this.#groups[entry] as GroupId);
    return this.#placeOf(first);
  }

  #closeGap(gap: number): void {
    const table = this.#table;
    const steps = this.#steps;
    let place = gap;
    for (let distance = 1; ; distance++) {
      place = place + 1 === table.length ? 0 : place + 1;
      if (table[place] === 0) break;
      // An entry may move back to the gap unless its search begins behind it.
      const own = steps[place] < STEPS_MAX ? steps[place] : this.#countSteps(place);
      if (own < distance) continue;
      table[gap] = table[place];
      steps[gap] = Math.min(own - distance, STEPS_MAX);
      gap = place;
      distance = 0;
    }
    table[gap] = 0;
  }

  /** Steps to an entry, however many. */
  #countSteps(place: number): number {
    const entry = this.#table[place] - 1;
    const steps = place - this.#home(this.#words, entry * HASH_WORDS, this.#groups[entry]);
    return steps < 0 ? steps + this.#table.length : steps;
  }

  #growTable(): void {
    const heads = [...this.heads()];
    this.#table = new Int32Array(2 * this.#table.length);
    this.#steps = new Uint8Array(this.#table.length);
    for (const head of heads) {
      let steps = 0;
      let place = this.#home(this.#words, head * HASH_WORDS, this.#groups[head]);
      while (this.#table[place] !== 0) {
        place = place + 1 === this.#table.length ? 0 : place + 1;
        steps = nextStep(steps);
      }
      this.#table[place] = head + 1;
      this.#steps[place] = steps;
    }
  }

  #growEntries(): void {
    const entries = this.#next.length;
    const more = Math.max(64, entries - this.#pages);
    const grow = <T extends Uint32Array | Uint8Array | Int32Array>(array: T, longer: T): T => {
      longer.set(array);
      return longer;
    };
    this.#words = grow(this.#words, new Uint32Array((entries + more) * HASH_WORDS));
    this.#groups = grow(this.#groups, new Uint8Array(entries + more));
    this.#next = grow(this.#next, new Int32Array(entries + more).fill(UNUSED));
    this.#previous = grow(this.#previous, new Int32Array(entries + more));
  }
}

function nextStep(steps: number): number {
  return steps < STEPS_MAX ? steps + 1 : STEPS_MAX;
}
