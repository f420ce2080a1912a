/** Transfers in flight, as the scheduler's side sees them. */
import { jobId, type JobId, type PageId, type PrefixKey, type SlotId } from '../units.ts';
import type { RequestState } from './request-state.ts';

/** Numbers transfers in the order in which they are made. One counter serves loads and stores. */
export class JobIdCounter {
  #upcoming: number;

  constructor(first = 0) {
    this.#upcoming = first;
  }

  next(): JobId {
    this.#upcoming += 1;
    return jobId(this.#upcoming - 1);
  }
}

/** One transfer from its creation until every worker acknowledged it. */
export interface TransferJob {
  readonly id: JobId;
  readonly kind: 'store' | 'load';
  readonly owner: RequestState;
  /** Chunk `keys[i]` is in slot `chunkSlots[i]`. */
  readonly keys: readonly PrefixKey[];
  readonly chunkSlots: readonly SlotId[];
  /**
   * Sources of a store, destinations of a load. Page `pages[i]` goes with place `slots[i]` of the host memory; a slot
   * of the tier has as many places as a chunk has pages.
   */
  readonly pages: readonly PageId[];
  readonly slots: readonly SlotId[];
  /** Sources that the pool may reclaim while the owner runs: fenced from the start. The others once it has finished. */
  readonly immediatePages: readonly PageId[];
  /** By offloaded group: one past the last of the owner's chunks that it covers. */
  readonly endChunks: readonly number[];
  /** Milliseconds, by the connector's clock. */
  readonly createdAt: number;
  /** Workers that have not acknowledged yet. The job ends when it reaches 0. */
  workersLeft: number;
  /** One worker failed: the job fails when it ends. */
  failed: boolean;
}
