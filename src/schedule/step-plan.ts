/**
 * One step as data: what a worker does, in which order, and what came of it. Plan and outcome are plain objects,
 * so that a run can be logged, replayed on another worker and drawn. Both workers, WebGPU and simulated, agree on
 * every byte of the same sequence of plans.
 *
 * A worker works a plan off in this order:
 *
 *   1. move this step's own stores that are named in `jobsToFlush` to the tail of the store queue
 *   2. submit queued stores in order, as budget and staging ring allow
 *   3. release every job in `jobsToFlush`: ring, else overflow buffer, else the store fails; never wait
 *   4. zero `newPageIdsToZero`
 *   5. copy `copies`
 *   6. load `loads`
 *   7. forward
 *   8. queue this step's other stores
 *   9. poll: admit acknowledgements
 */
import type { GroupPages, PageCopy } from '../cache/cache-manager.ts';
import type { JobId, PageId, RequestId, SlotId } from '../units.ts';

export type { GroupPages, PageCopy } from '../cache/cache-manager.ts';

/** Device to host. Page `pages[i]` goes to slot `slots[i]`. */
export interface StoreJob {
  readonly id: JobId;
  readonly pages: readonly PageId[];
  readonly slots: readonly SlotId[];
  /**
   * Built after its request was over: the bytes come from earlier steps, and whatever this step writes to its pages,
   * somebody else does.
   */
  readonly isLast?: true;
}

/** Host to device. Slot `slots[i]` goes to page `pages[i]`. */
export interface LoadJob {
  readonly id: JobId;
  readonly slots: readonly SlotId[];
  readonly pages: readonly PageId[];
}

/** The part of the forward pass that concerns one request: rows `start` to `end` are computed, all before `end` read. */
export interface ForwardRequest {
  readonly requestId: RequestId;
  /** First token computed in this step. */
  readonly start: number;
  /** One past the last token computed in this step. */
  readonly end: number;
  /** First token that the request computed itself since it was admitted: what stands before it was found or loaded. */
  readonly computedFrom: number;
  /**
   * Page tables by group, with null pages where nothing is kept. Page i of a paged group holds tokens
   * i * tokensPerPage and following. At least as long as `end` needs. The live tables,
   * unless another step is in flight.
   */
  readonly tables: readonly (readonly PageId[])[];
  /** Token ids 0 to `end`. A view: copy it to keep it beyond the step. */
  readonly tokens: Uint32Array;
  /** How many tokens at the end are drafts, which the sequence may turn out not to have. Default: 0. */
  readonly drafts?: number;
  /** Word i: the start of the chained hash of the first i hash units, for all that begin before `end`. A view. */
  readonly unitSeeds: Uint32Array;
}

export interface StepPlan {
  readonly step: number;
  /** Built this step. Unless it is a last one, its bytes come from this step's forward pass: it is submitted later. */
  readonly stores: readonly StoreJob[];
  /** Stores that must be released before anything is written. Unknown and finished ids mean nothing. */
  readonly jobsToFlush: readonly JobId[];
  /** By group: of each page, the bytes that belong to the group are overwritten and no others. */
  readonly newPageIdsToZero: readonly GroupPages[];
  /** Copy-on-write: the bytes of the group. Sources are never destinations of the same step. */
  readonly copies: readonly PageCopy[];
  readonly loads: readonly LoadJob[];
  readonly forward: readonly ForwardRequest[];
}

/** The end of a transfer as the scheduler sees it. */
export interface Acknowledgement {
  readonly job: JobId;
  /** `true`: the bytes are where they belong. `false`: they are not, see `error`. */
  readonly ok: boolean;
  readonly error?: string;
}

export interface StepOutcome {
  readonly step: number;
  /** Stores whose last copy was submitted in this step: their pages may be written from here on. */
  readonly released: readonly JobId[];
  /** Those of `released` that a flush forced out, ahead of their turn. */
  readonly flushed: readonly JobId[];
  /** Page copies of flushed stores that went into the overflow buffer because the ring was full. */
  readonly overflowedPages: number;
  readonly acknowledgements: readonly Acknowledgement[];
}

export const EMPTY_OUTCOME: Omit<StepOutcome, 'step'> = {
  released: [],
  flushed: [],
  overflowedPages: 0,
  acknowledgements: [],
};

/** What the witness found since it was last reset. */
export interface WitnessReport {
  /** Words (4 bytes) that were read and did not hold what they must. */
  readonly mismatches: number;
  /** Words that were read. */
  readonly checkedWords: number;
  /** The first pages with a mismatch, at most a few dozen, in no particular order. */
  readonly pages: readonly { readonly page: PageId; readonly step: number }[];
}

/** Carries out step plans. One worker owns one set of page buffers and the rings that serve it. */
export interface Worker {
  readonly kind: 'webgpu' | 'simulated';
  /**
   * Works one plan off. Everything up to the poll phase happens before the first await, unless the plan before it has not
   * come back: then it begins when that one does, since where a store finds room depends on what was acknowledged.
   */
  execute(plan: StepPlan): Promise<StepOutcome>;
  /** True while a store is queued or a transfer is not yet acknowledged. */
  readonly busy: boolean;
  /** Copies the bytes of a page out, after everything submitted so far. */
  readPage(page: PageId): Promise<Uint8Array<ArrayBuffer>>;
  /** Overwrites bytes of a page behind the cache's back. For tests and the demo's "damage" button. */
  damagePage(page: PageId, byteOffset: number, bytes: Uint8Array): void;
  readWitness(): Promise<WitnessReport>;
  /** Waits for what is in flight, then gives buffers back. Twice is harmless. */
  close(): Promise<void>;
}
