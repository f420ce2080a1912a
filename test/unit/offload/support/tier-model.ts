/** The host tier with arrays and loops: nothing fast, nothing shared with what it checks. */

type Ref = number;

interface Prepared {
  keys: number[];
  slots: number[];
  evicted: number[];
}

export class TierModel {
  /** Key, references (-1: no bytes yet) and slot. */
  entries: { key: number; ref: Ref; slot: number }[] = [];
  /** LRU: idle keys. ARC: the four lists. All oldest first. */
  order: number[] = [];
  t1: number[] = [];
  t2: number[] = [];
  b1: number[] = [];
  b2: number[] = [];
  p = 0;
  readonly #capacity: number;
  readonly #arc: boolean;
  #fresh = 0;
  #free: number[] = [];

  constructor(capacity: number, policy: 'lru' | 'arc-tier') {
    this.#capacity = capacity;
    this.#arc = policy === 'arc-tier';
  }

  ref(key: number): Ref | undefined {
    return this.entries.find((entry) => entry.key === key)?.ref;
  }

  get freeCount(): number {
    return this.#capacity - this.#fresh + this.#free.length;
  }

  prepareStore(input: number[]): Prepared | null {
    const keys = input.filter((key, i) => this.ref(key) === undefined && input.indexOf(key) === i);
    if (keys.length === 0) return { keys: [], slots: [], evicted: [] };
    const need = Math.max(0, keys.length - this.freeCount);
    const evicted = this.#arc ? this.#arcVictims(need, input) : this.#lruVictims(need, input);
    if (evicted === null) return null;
    for (const key of evicted) {
      if (this.#arc) (this.t1.includes(key) ? this.b1 : this.b2).push(key);
      this.#drop(key);
    }
    this.b1 = this.b1.slice(-this.#capacity);
    this.b2 = this.b2.slice(-this.#capacity);
    const slots: number[] = [];
    for (const key of keys) {
      const slot = this.#fresh < this.#capacity ? this.#fresh++ : this.#free.pop()!;
      slots.push(slot);
      this.entries.push({ key, ref: -1, slot });
      this.b1 = without(this.b1, key);
      this.b2 = without(this.b2, key);
      if (this.#arc) this.t1.push(key);
    }
    return { keys, slots, evicted };
  }

  completeStore(keys: number[], success: boolean): void {
    for (const key of keys) {
      if (this.ref(key) !== -1) continue;
      if (!success) this.#drop(key);
      else {
        this.#setRef(key, 0);
        this.order.push(key);
      }
    }
  }

  prepareLoad(keys: number[]): number[] {
    return keys.map((key) => {
      this.#setRef(key, this.ref(key)! + 1);
      this.order = without(this.order, key);
      return this.entries.find((entry) => entry.key === key)!.slot;
    });
  }

  completeLoad(keys: number[]): void {
    for (const key of keys) {
      this.#setRef(key, this.ref(key)! - 1);
      if (this.ref(key) === 0) this.order.push(key);
    }
  }

  touch(keys: number[]): void {
    for (const key of [...keys].reverse()) {
      if (!this.#arc) {
        if (this.order.includes(key)) this.order = [...without(this.order, key), key];
      } else if (this.t1.includes(key)) {
        this.t1 = without(this.t1, key);
        (this.ref(key) === -1 ? this.t1 : this.t2).push(key);
      } else if (this.t2.includes(key)) this.t2 = [...without(this.t2, key), key];
      else if (this.b1.includes(key)) {
        this.p = Math.min(this.#capacity, this.p + Math.max(1, this.b2.length / this.b1.length));
        this.b1 = [...without(this.b1, key), key];
      } else if (this.b2.includes(key)) {
        this.p = Math.max(0, this.p - Math.max(1, this.b1.length / this.b2.length));
        this.b2 = [...without(this.b2, key), key];
      }
    }
  }

  reset(): void {
    this.entries = [];
    [this.t1, this.t2, this.b1, this.b2, this.order] = [[], [], [], [], []];
    this.p = 0;
    this.#fresh = 0;
    this.#free = [];
  }

  #lruVictims(need: number, keep: number[]): number[] | null {
    const idle = this.order.filter((key) => !keep.includes(key));
    return need > idle.length ? null : idle.slice(0, need);
  }

  #arcVictims(need: number, keep: number[]): number[] | null {
    const usable = (key: number): boolean => this.ref(key) === 0 && !keep.includes(key);
    const t1 = this.t1.filter(usable);
    const t2 = this.t2.filter(usable);
    const victims: number[] = [];
    let size = this.t1.length;
    while (victims.length < need) {
      const fromT1 = size >= Math.floor(this.p) && t1.length > 0;
      const victim = fromT1 ? t1.shift() : t2.shift();
      if (victim === undefined) return null;
      if (fromT1) size -= 1;
      victims.push(victim);
    }
    return victims;
  }

  #setRef(key: number, ref: Ref): void {
    this.entries.find((entry) => entry.key === key)!.ref = ref;
  }

  #drop(key: number): void {
    this.#free.push(this.entries.find((entry) => entry.key === key)!.slot);
    this.entries = this.entries.filter((entry) => entry.key !== key);
    this.order = without(this.order, key);
    this.t1 = without(this.t1, key);
    this.t2 = without(this.t2, key);
  }
}

function without(list: number[], key: number): number[] {
  return list.filter((other) => other !== key);
}
