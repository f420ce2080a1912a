/** The host tier's bookkeeping: which key is in which slot, who reads it, and what goes when room is needed. */
import { ConfigError, InvariantError, invariant } from '../errors.ts';
import { slotId, type PrefixKey, type SlotId } from '../units.ts';
import type { TierEvent } from './events.ts';
import type { LookupResult } from './lookup.ts';
import { createPolicy } from './policies/create-policy.ts';
import { WRITING, type HostEntry, type Policy } from './policies/policy.ts';
import { ReuseFilter } from './reuse-filter.ts';

export interface PreparedStore {
  /** Keys to store, in the order offered; those already present are left out. */
  readonly keys: readonly PrefixKey[];
  /** Slot `slots[i]` is for `keys[i]`. */
  readonly slots: readonly SlotId[];
  /** Keys that gave up their slots for it, in that order. */
  readonly evicted: readonly PrefixKey[];
}

export interface OffloadManagerOptions {
  /** Capacity in slots. */
  slots: number;
  /** A policy by name, or one that is set up already for `slots` entries. */
  policy?: Policy['name'] | Policy;
  /** Lookups after which a key may be stored; below 2 every key may. */
  reuseThreshold?: number;
  /** Keys whose lookups are counted. */
  reuseTrackedMax?: number;
  onEvent?: ((event: TierEvent) => void) | undefined;
}

/** Slots by state; the four counts add up to `slots`. */
export interface SlotCounts {
  readonly slots: number;
  readonly free: number;
  readonly evictable: number;
  readonly writing: number;
  readonly pinned: number;
}

/** What was counted since the last reading. */
export interface TierStatistics {
  /** Sizes of the stores asked for, in slots, taken before room was made, so that refusals count. */
  readonly allocations: { readonly count: number; readonly sum: number; readonly max: number };
  /** Keys that the reuse filter held back. */
  readonly storesSkipped: number;
}

/**
 * Keys to slots, without a byte. An entry is being written, ready, or ready and pinned by readers; only ready,
 * unpinned entries are evicted. Every operation takes all of its keys or none.
 *
 * Slots are given out in key order: fresh ones by ascending id, then those that came back, last in first out.
 */
export class OffloadManager {
  readonly slots: number;
  readonly policy: Policy;
  readonly reuseFilter: ReuseFilter | null;
  readonly #onEvent: ((event: TierEvent) => void) | undefined;
  readonly #entries = new Map<PrefixKey, HostEntry>();
  readonly #returned: SlotId[] = [];
  #fresh = 0;
  #evictable = 0;
  #writing = 0;
  #allocations = { count: 0, sum: 0, max: 0 };
  #storesSkipped = 0;

  constructor(options: OffloadManagerOptions) {
    const { slots, policy = 'lru', reuseThreshold = 0, reuseTrackedMax = 64_000, onEvent } = options;
    if (!Number.isSafeInteger(slots) || slots < 0) {
      throw new ConfigError(`slots: ${slots} is not a count; give the host tier 0 or more slots`);
    }
    this.slots = slots;
    this.policy = typeof policy === 'string' ? createPolicy(policy, slots) : policy;
    this.reuseFilter =
      reuseThreshold < 2 ? null : new ReuseFilter({ threshold: reuseThreshold, trackedMax: reuseTrackedMax });
    this.#onEvent = onEvent;
  }

  get evictableCount(): number {
    return this.#evictable;
  }

  get counts(): SlotCounts {
    return {
      slots: this.slots,
      free: this.#freeCount,
      evictable: this.#evictable,
      writing: this.#writing,
      pinned: this.#entries.size - this.#evictable - this.#writing,
    };
  }

  /** Shares of the slots, 0 to 1, that cannot be evicted: being written, being read, and both. */
  get usage(): { readonly write: number; readonly read: number; readonly total: number } {
    if (this.slots === 0) return { write: 0, read: 0, total: 0 };
    const { writing, pinned } = this.counts;
    return { write: writing / this.slots, read: pinned / this.slots, total: (writing + pinned) / this.slots };
  }

  /** Whether the key has a slot, ready or not. Not a sighting. */
  has(key: PrefixKey): boolean {
    return this.#entries.has(key);
  }

  /** The slot of a key, ready or not. */
  slotOf(key: PrefixKey): SlotId | undefined {
    return this.#entries.get(key)?.slot;
  }

  /** Every entry with its references: -1 while being written, otherwise the number of its readers. */
  *entries(): IterableIterator<{
    readonly key: PrefixKey;
    readonly slot: SlotId;
    readonly references: number;
  }> {
    for (const { key, slot, references } of this.#entries.values()) yield { key, slot, references };
  }

  lookup(key: PrefixKey): LookupResult {
    this.reuseFilter?.see(key);
    const entry = this.#entries.get(key);
    if (entry === undefined) return 'MISS';
    return entry.references === WRITING ? 'HIT_PENDING' : 'HIT';
  }

  /** Pins ready keys for one reader. Slots come in key order. Throws `InvariantError` where a key is not ready. */
  prepareLoad(keys: readonly PrefixKey[]): SlotId[] {
    const entries = keys.map((key) => this.#ready(key, 'loaded'));
    for (const entry of entries) {
      entry.references += 1;
      if (entry.references > 1) continue;
      this.#evictable -= 1;
      this.policy.becamePinned(entry);
    }
    return entries.map((entry) => entry.slot);
  }

  /** One reader of each key is done, whatever came of it. */
  completeLoad(keys: readonly PrefixKey[]): void {
    for (const key of keys) {
      const entry = this.#ready(key, 'unpinned');
      invariant(entry.references > 0, `${key} is unpinned more often than it was pinned`);
      entry.references -= 1;
      if (entry.references === 0) this.#becameIdle(entry);
    }
  }

  /**
   * Reserves slots for those of `keys` that are not present, evicting where it must. `null`: there is no room now,
   * nothing has changed. An empty answer means that nothing needs storing.
   */
  prepareStore(keys: readonly PrefixKey[]): PreparedStore | null {
    const offered = this.#filter(keys);
    const absent = [...new Set(offered.filter((key) => !this.#entries.has(key)))];
    if (absent.length === 0) return { keys: [], slots: [], evicted: [] };
    this.#allocations.count += 1;
    this.#allocations.sum += absent.length;
    this.#allocations.max = Math.max(this.#allocations.max, absent.length);

    const victims = this.#makeRoom(absent.length, offered);
    if (victims === null) return null;
    const evicted = victims.map((victim) => victim.key);
    if (evicted.length > 0) this.#onEvent?.({ type: 'tier-removed', keys: evicted });
    const slots = absent.map((key) => {
      const slot = this.#takeSlot();
      const entry: HostEntry = { key, slot, references: WRITING, list: null, older: null, newer: null };
      this.#entries.set(key, entry);
      this.policy.inserted(entry);
      return slot;
    });
    this.#writing += absent.length;
    return { keys: absent, slots, evicted };
  }

  /**
   * The bytes of these keys arrived, or (`success` false) never will. Keys that are absent or were ready before are
   * ignored, so that a failure cannot delete what somebody else stored.
   */
  completeStore(keys: readonly PrefixKey[], success = true): void {
    const ended: PrefixKey[] = [];
    for (const key of keys) {
      const entry = this.#entries.get(key);
      if (entry?.references !== WRITING) continue;
      ended.push(key);
      this.#writing -= 1;
      if (success) {
        entry.references = 0;
        this.#becameIdle(entry);
      } else {
        this.#forget(entry);
        this.policy.removed(entry);
      }
    }
    if (success && ended.length > 0) this.#onEvent?.({ type: 'tier-stored', keys: ended });
  }

  /**
   * The keys were used; afterwards the first of them is the most recent. Keys in `own` were stored by the user
   * itself: their use orders them but is no reuse.
   */
  touch(keys: readonly PrefixKey[], own?: ReadonlySet<PrefixKey>): void {
    for (let i = keys.length - 1; i >= 0; i -= 1) {
      const key = keys[i];
      const isOwn = own?.has(key) ?? false;
      const entry = this.#entries.get(key);
      if (entry !== undefined) this.policy.touch(entry, !isOwn);
      else if (!isOwn) this.policy.touchAbsent(key);
    }
  }

  /** Drops every entry whatever its state, and what the policy remembers. Counts of lookups stay. */
  reset(): void {
    this.policy.clear();
    this.#entries.clear();
    this.#returned.length = 0;
    this.#fresh = 0;
    this.#evictable = 0;
    this.#writing = 0;
    this.#onEvent?.({ type: 'tier-reset' });
  }

  /** Reads the statistics and starts them anew. */
  takeStatistics(): TierStatistics {
    const statistics = { allocations: this.#allocations, storesSkipped: this.#storesSkipped };
    this.#allocations = { count: 0, sum: 0, max: 0 };
    this.#storesSkipped = 0;
    return statistics;
  }

  checkIntegrity(): void {
    const taken = new Set<SlotId>(this.#returned);
    invariant(taken.size === this.#returned.length, 'host tier: a slot is in the free list twice');
    let evictable = 0;
    let writing = 0;
    for (const [key, entry] of this.#entries) {
      invariant(entry.references >= WRITING, `host tier: ${key} has ${entry.references} references`);
      invariant(
        !taken.has(entry.slot),
        `host tier: slot ${entry.slot} of ${key} is free or has a second owner`,
      );
      taken.add(entry.slot);
      if (entry.references === 0) evictable += 1;
      if (entry.references === WRITING) writing += 1;
    }
    invariant(
      evictable === this.#evictable,
      `host tier: ${this.#evictable} evictable counted, ${evictable} found`,
    );
    invariant(
      writing === this.#writing,
      `host tier: ${this.#writing} being written counted, ${writing} found`,
    );
    invariant(
      taken.size === this.#fresh,
      `host tier: ${taken.size} of ${this.#fresh} slots given out are accounted for`,
    );
    this.policy.checkIntegrity(this.#entries);
  }

  get #freeCount(): number {
    return this.slots - this.#fresh + this.#returned.length;
  }

  #filter(keys: readonly PrefixKey[]): readonly PrefixKey[] {
    const filter = this.reuseFilter;
    if (filter === null) return keys;
    const admitted = keys.filter((key) => filter.admits(key));
    this.#storesSkipped += keys.length - admitted.length;
    return admitted;
  }

  #makeRoom(count: number, keep: readonly PrefixKey[]): HostEntry[] | null {
    const need = count - this.#freeCount;
    if (need <= 0) return [];
    if (need > this.#evictable) return null;
    const victims = this.policy.evict(need, new Set(keep));
    for (const victim of victims ?? []) this.#forget(victim);
    this.#evictable -= victims?.length ?? 0;
    return victims;
  }

  #takeSlot(): SlotId {
    if (this.#fresh < this.slots) {
      this.#fresh += 1;
      return slotId(this.#fresh - 1);
    }
    const slot = this.#returned.pop();
    if (slot === undefined) throw new InvariantError(`host tier: none of ${this.slots} slots is free`);
    return slot;
  }

  #forget(entry: HostEntry): void {
    this.#entries.delete(entry.key);
    this.#returned.push(entry.slot);
  }

  #becameIdle(entry: HostEntry): void {
    this.#evictable += 1;
    this.policy.becameIdle(entry);
  }

  #ready(key: PrefixKey, verb: string): HostEntry {
    const entry = this.#entries.get(key);
    if (entry === undefined) throw new InvariantError(`${key} cannot be ${verb}: it is not in the host tier`);
    invariant(entry.references !== WRITING, `${key} cannot be ${verb}: its bytes are still on their way`);
    return entry;
  }
}
