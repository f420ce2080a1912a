import { invariant } from '../../errors.ts';
import type { PrefixKey } from '../../units.ts';
import { LinkedList, type Linked } from '../linked-list.ts';
import { WRITING, type HostEntry, type Policy } from './policy.ts';

interface Ghost extends Linked<Ghost> {
  readonly key: PrefixKey;
}

/** Keys that were evicted, oldest first. */
class GhostList {
  readonly list = new LinkedList<Ghost>();
  readonly #byKey = new Map<PrefixKey, Ghost>();

  get size(): number {
    return this.list.size;
  }

  has(key: PrefixKey): boolean {
    return this.#byKey.has(key);
  }

  /** Enters at the recent end, or moves there. */
  refresh(key: PrefixKey): void {
    let ghost = this.#byKey.get(key);
    if (ghost === undefined) {
      ghost = { key, list: null, older: null, newer: null };
      this.#byKey.set(key, ghost);
    }
    this.list.append(ghost);
  }

  delete(key: PrefixKey): void {
    const ghost = this.#byKey.get(key);
    if (ghost === undefined) return;
    this.list.remove(ghost);
    this.#byKey.delete(key);
  }

  trim(sizeMax: number): void {
    while (this.size > sizeMax) this.delete(this.list.oldest!.key);
  }

  clear(): void {
    this.list.clear();
    this.#byKey.clear();
  }
}

const isVictim = (entry: HostEntry, keep: ReadonlySet<PrefixKey>): boolean =>
  entry.references === 0 && !keep.has(entry.key);

/**
 * The host tier's ARC. Entries live in T1 (used once) or T2 (used again), evicted keys in B1 or B2; `target` is the
 * size that T1 aims at, moved by hits on evicted keys.
 *
 * It differs from the textbook rule on purpose: a key that returns after its eviction enters T1 again and not T2,
 * and when T1 is below its target and T2 has no victim, eviction fails rather than falling back on T1.
 */
export class ArcTierPolicy implements Policy {
  readonly name = 'arc-tier';
  readonly #capacity: number;
  readonly #once = new LinkedList<HostEntry>();
  readonly #again = new LinkedList<HostEntry>();
  readonly #onceGhosts = new GhostList();
  readonly #againGhosts = new GhostList();
  #target: number;

  /** `capacity` in slots; `target` is where p starts, from 0 to the capacity. */
  constructor(capacity: number, target = 0) {
    this.#capacity = capacity;
    this.#target = target;
  }

  /** p, the target size of T1: a real number from 0 to the capacity. */
  get target(): number {
    return this.#target;
  }

  /** Keys of the four lists, oldest first. */
  get lists(): { t1: PrefixKey[]; t2: PrefixKey[]; b1: PrefixKey[]; b2: PrefixKey[] } {
    const keys = (list: Iterable<{ readonly key: PrefixKey }>): PrefixKey[] =>
      [...list].map((node) => node.key);
    return {
      t1: keys(this.#once),
      t2: keys(this.#again),
      b1: keys(this.#onceGhosts.list),
      b2: keys(this.#againGhosts.list),
    };
  }

  inserted(entry: HostEntry): void {
    this.#onceGhosts.delete(entry.key);
    this.#againGhosts.delete(entry.key);
    this.#once.append(entry);
  }

  becameIdle(): void {
    // Place and order do not depend on pins; eviction skips what is not idle.
  }

  becamePinned(): void {
    // As above.
  }

  touch(entry: HostEntry, reused: boolean): void {
    const staysInT1 = entry.list === this.#once && (entry.references === WRITING || !reused);
    (staysInT1 ? this.#once : this.#again).append(entry);
  }

  touchAbsent(key: PrefixKey): void {
    const b1 = this.#onceGhosts;
    const b2 = this.#againGhosts;
    if (b1.has(key)) {
      this.#target = Math.min(this.#capacity, this.#target + Math.max(1, b2.size / b1.size));
      b1.refresh(key);
    } else if (b2.has(key)) {
      this.#target = Math.max(0, this.#target - Math.max(1, b1.size / b2.size));
      b2.refresh(key);
    }
  }

  evict(count: number, keep: ReadonlySet<PrefixKey>): HostEntry[] | null {
    const target = Math.floor(this.#target);
    const victims: HostEntry[] = [];
    // Counts pinned and unwritten entries too: the target is about what T1 occupies.
    let onceSize = this.#once.size;
    let once = this.#once.oldest;
    let again = this.#again.oldest;
    while (victims.length < count) {
      let victim: HostEntry | null = null;
      if (onceSize >= target) {
        while (once !== null && !isVictim(once, keep)) once = once.newer;
        if (once !== null) {
          victim = once;
          once = once.newer;
          onceSize -= 1;
        }
      }
      if (victim === null) {
        while (again !== null && !isVictim(again, keep)) again = again.newer;
        if (again === null) return null;
        victim = again;
        again = again.newer;
      }
      victims.push(victim);
    }
    for (const victim of victims) {
      (victim.list === this.#once ? this.#onceGhosts : this.#againGhosts).refresh(victim.key);
      this.removed(victim);
    }
    this.#onceGhosts.trim(this.#capacity);
    this.#againGhosts.trim(this.#capacity);
    return victims;
  }

  removed(entry: HostEntry): void {
    entry.list?.remove(entry);
  }

  clear(): void {
    this.#once.clear();
    this.#again.clear();
    this.#onceGhosts.clear();
    this.#againGhosts.clear();
    this.#target = 0;
  }

  checkIntegrity(entries: ReadonlyMap<PrefixKey, HostEntry>): void {
    const { t1, t2, b1, b2 } = this.lists;
    const all = new Set([...t1, ...t2, ...b1, ...b2]);
    invariant(
      all.size === t1.length + t2.length + b1.length + b2.length,
      `arc-tier: a key is in two of T1, T2, B1 and B2 (sizes ${t1.length}, ${t2.length}, ${b1.length}, ${b2.length})`,
    );
    const resident = t1.length + t2.length;
    invariant(resident === entries.size, `arc-tier: ${resident} entries linked, ${entries.size} in the tier`);
    for (const key of [...t1, ...t2])
      invariant(entries.has(key), `arc-tier: ${key} is linked but not in the tier`);
    const ghosts = Math.max(b1.length, b2.length);
    invariant(ghosts <= this.#capacity, `arc-tier: ${ghosts} ghosts exceed the capacity ${this.#capacity}`);
    invariant(
      this.#target >= 0 && this.#target <= this.#capacity,
      `arc-tier: target ${this.#target} is not within 0 to ${this.#capacity}`,
    );
  }
}
