/**
 * Several lists over one range of dense ids; an id is in one of them or in none. All state is in flat arrays, and
 * moving an id is a few writes. Oldest first: `push` adds at the recent end, `oldest` is the least recent.
 *
 *   next: 0 .. ids - 1 the id after it; ids + k (the sentinel of list k) its oldest id
 *   previous: likewise backwards; the sentinel's is the most recent id
 */
export class IdLists {
  private readonly ids: number;
  private readonly next: Uint32Array;
  private readonly previous: Uint32Array;
  /** 0: in no list; k + 1: in list k. */
  private readonly membership: Uint8Array;
  private readonly sizes: Uint32Array;

  constructor(options: { ids: number; lists: number }) {
    this.ids = options.ids;
    this.next = new Uint32Array(options.ids + options.lists);
    this.previous = new Uint32Array(options.ids + options.lists);
    this.membership = new Uint8Array(options.ids);
    this.sizes = new Uint32Array(options.lists);
    for (let sentinel = options.ids; sentinel < this.next.length; sentinel += 1) {
      this.next[sentinel] = sentinel;
      this.previous[sentinel] = sentinel;
    }
  }

  has(list: number, id: number): boolean {
    return this.membership[id] === list + 1;
  }

  size(list: number): number {
    return this.sizes[list];
  }

  /** The least recent id of a list that is not empty. */
  oldest(list: number): number {
    return this.next[this.ids + list];
  }

  /** Adds an id that is in no list. */
  push(list: number, id: number): void {
    const sentinel = this.ids + list;
    const last = this.previous[sentinel];
    this.next[last] = id;
    this.previous[id] = last;
    this.next[id] = sentinel;
    this.previous[sentinel] = id;
    this.membership[id] = list + 1;
    this.sizes[list] += 1;
  }

  /** Takes an id out of the list that it is in. */
  remove(id: number): void {
    const before = this.previous[id];
    const after = this.next[id];
    this.next[before] = after;
    this.previous[after] = before;
    this.sizes[this.membership[id] - 1] -= 1;
    this.membership[id] = 0;
  }

  /** From whichever list it is in to the recent end of `list`. */
  move(list: number, id: number): void {
    this.remove(id);
    this.push(list, id);
  }
}
