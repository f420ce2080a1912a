import { invariant } from '../../errors.ts';
import type { PrefixKey } from '../../units.ts';
import { LinkedList } from '../linked-list.ts';
import type { HostEntry, Policy } from './policy.ts';

/**
 * Least recently used. The list holds idle entries only, so the victim is its oldest one; an entry enters at the
 * recent end when its bytes arrive or its last reader leaves.
 */
export class LruPolicy implements Policy {
  readonly name = 'lru';
  readonly #idle = new LinkedList<HostEntry>();

  /** Keys of idle entries, oldest first. */
  get order(): PrefixKey[] {
    return [...this.#idle].map((entry) => entry.key);
  }

  inserted(): void {
    // Enters when it becomes idle.
  }

  becameIdle(entry: HostEntry): void {
    this.#idle.append(entry);
  }

  becamePinned(entry: HostEntry): void {
    this.#idle.remove(entry);
  }

  touch(entry: HostEntry): void {
    if (entry.references === 0) this.#idle.append(entry);
  }

  touchAbsent(): void {
    // LRU remembers nothing of what it gave up.
  }

  evict(count: number, keep: ReadonlySet<PrefixKey>): HostEntry[] | null {
    const victims: HostEntry[] = [];
    for (let entry = this.#idle.oldest; entry !== null && victims.length < count; entry = entry.newer) {
      if (!keep.has(entry.key)) victims.push(entry);
    }
    if (victims.length < count) return null;
    for (const victim of victims) this.#idle.remove(victim);
    return victims;
  }

  removed(entry: HostEntry): void {
    this.#idle.remove(entry);
  }

  clear(): void {
    this.#idle.clear();
  }

  checkIntegrity(entries: ReadonlyMap<PrefixKey, HostEntry>): void {
    let idle = 0;
    for (const entry of entries.values()) {
      if (entry.references === 0) idle += 1;
      const linked = entry.list === this.#idle;
      invariant(
        linked === (entry.references === 0),
        `lru: ${entry.key} has ${entry.references} references and linked = ${linked}`,
      );
    }
    invariant(idle === this.#idle.size, `lru: ${this.#idle.size} entries linked, ${idle} are idle`);
  }
}
