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

/** One transfer from its creation until every worker acknowledged it. `keys`, `pages` and `slots` go together. */
export interface TransferJob {
  readonly id: JobId;
  readonly kind: 'store' | 'load';
  readonly owner: RequestState;
  readonly keys: readonly PrefixKey[];
  /**
   * Sources of a store, destinations of a load. The owner's references protect them; those of a store are fenced
   * once the owner has finished.
   */
  readonly pages: readonly PageId[];
  readonly slots: readonly SlotId[];
  /** One past the last of the owner's pages that it covers, as an index into the owner's page table. */
  readonly endPage: number;
  /** Workers that have not acknowledged yet. The job ends when it reaches 0. */
  workersLeft: number;
  /** One worker failed: the job fails when it ends. */
  failed: boolean;
}
