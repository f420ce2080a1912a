/** What decides which host slot is given up, behind one interface. */
import type { Linked } from '../linked-list.ts';
import type { PrefixKey, SlotId } from '../../units.ts';

/** `references` of an entry whose bytes are not there yet. */
export const WRITING = -1;

/** One key in the host tier and the slot that holds, or will hold, its bytes. */
export interface HostEntry extends Linked<HostEntry> {
  readonly key: PrefixKey;
  readonly slot: SlotId;
  /** `WRITING`; 0: ready and evictable; n > 0: ready and pinned by n readers. */
  references: number;
}

/**
 * The order among entries. The manager tells it about every change of an entry's state and asks it for victims;
 * it owns the entries' links.
 */
export interface Policy {
  readonly name: 'lru' | 'arc-tier';
  /** A new entry, being written. */
  inserted(entry: HostEntry): void;
  /** `references` became 0: the bytes arrived, or the last reader left. */
  becameIdle(entry: HostEntry): void;
  /** `references` went from 0 to 1. */
  becamePinned(entry: HostEntry): void;
  /** The entry was used. `reused` is false where the user is the one who stored it. */
  touch(entry: HostEntry, reused: boolean): void;
  /** A key was wanted that has no entry. */
  touchAbsent(key: PrefixKey): void;
  /**
   * Takes `count` idle entries out, none of them with a key in `keep`, in the order in which they go.
   * `null`, with nothing changed, where it cannot name that many.
   */
  evict(count: number, keep: ReadonlySet<PrefixKey>): HostEntry[] | null;
  /** An entry goes without having been evicted. */
  removed(entry: HostEntry): void;
  clear(): void;
  /** Throws `InvariantError` unless the lists agree with the entries of the tier. */
  checkIntegrity(entries: ReadonlyMap<PrefixKey, HostEntry>): void;
}
