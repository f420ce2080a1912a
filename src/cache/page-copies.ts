/**
 * Copies that a step makes before its forward pass. Both ends of a copy keep a reference until the step has run:
 * nobody may write the source before it is read, nor take the destination before it is written.
 */
import type { GroupId, PageId } from '../units.ts';
import type { CacheEventHandler } from './events.ts';
import type { PagePool } from './page-pool.ts';

/** The first bytes of `source`, as many as a page of the group has, onto those of `destination`. */
export interface PageCopy {
  readonly group: GroupId;
  readonly source: PageId;
  readonly destination: PageId;
}

/** The copies of one step, with the references that hold their ends. */
export interface PageCopyBatch {
  readonly copies: readonly PageCopy[];
}

export class PageCopies {
  readonly #pool: PagePool;
  readonly #onEvent: CacheEventHandler | undefined;
  readonly #onRelease: (group: GroupId, pages: readonly PageId[]) => void;
  #pending: PageCopy[] = [];
  /** Batches that were taken and are not released. */
  readonly #taken = new Set<PageCopyBatch>();

  /** `onRelease` hears of the pages that lost a copy's reference, which may have been their last. */
  constructor(
    pool: PagePool,
    onEvent?: CacheEventHandler,
    onRelease: (group: GroupId, pages: readonly PageId[]) => void = () => undefined,
  ) {
    this.#pool = pool;
    this.#onEvent = onEvent;
    this.#onRelease = onRelease;
  }

  /** Lists a copy. The caller hands over one reference of each end. */
  add(copy: PageCopy): void {
    this.#pending.push(copy);
  }

  /**
   * Where the bytes of a page are before this step's copies: in the page itself, or in the source of a listed copy onto
   * it. A copy of a page that a copy has yet to fill must read there, since copies of one step run in any order.
   */
  originOf(page: PageId): PageId {
    return this.#pending.find(({ destination }) => destination === page)?.source ?? page;
  }

  /**
   * Takes the copies off the list whose destination is one of these, and gives their references back. Nothing fills the
   * destination now, so it loses the keys that it got for what was to be copied.
   */
  cancel(destinations: ReadonlySet<PageId>): void {
    if (this.#pending.length === 0) return;
    const kept: PageCopy[] = [];
    for (const copy of this.#pending) {
      if (destinations.has(copy.destination)) {
        this.#pool.withdrawKeys(copy.destination);
        this.#unpin(copy);
      } else {
        kept.push(copy);
      }
    }
    this.#pending = kept;
  }

  pending(): readonly PageCopy[] {
    return this.#pending;
  }

  /** The copies listed since the last call; the list is empty afterwards. */
  take(): PageCopyBatch {
    const batch = { copies: this.#pending };
    if (batch.copies.length > 0) {
      this.#taken.add(batch);
      this.#onEvent?.({ type: 'copied', copies: batch.copies });
    }
    this.#pending = [];
    return batch;
  }

  /** Gives the references of a batch back once its step has run. Twice is harmless. */
  release(batch: PageCopyBatch): void {
    if (!this.#taken.delete(batch)) return;
    for (const copy of batch.copies) this.#unpin(copy);
  }

  /** Adds the references that copies hold to `references`. */
  countReferences(references: Int32Array): void {
    for (const list of [this.#pending, ...[...this.#taken].map(({ copies }) => copies)]) {
      for (const { source, destination } of list) {
        references[source]++;
        references[destination]++;
      }
    }
  }

  #unpin({ group, source, destination }: PageCopy): void {
    // The destination first: if both come free, what was read outlives what was made of it.
    const ends = [destination, source];
    this.#pool.free(ends);
    this.#onRelease(group, ends);
  }
}
