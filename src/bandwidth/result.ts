/** What was measured. */
import type { Strategies } from '../gpu/strategies.ts';
import type { TunedOperation } from '../gpu/tuning.ts';
import type { Runtime } from '../runtime/detect.ts';
import type { Measured } from './interleave.ts';
import type { LimitName, MachineLimit } from './limits.ts';
import type { ListKind } from './page-lists.ts';

/** Pages of one size that moved, and how they lie in the pool. */
export interface PageList {
  readonly pageBytes: number;
  readonly list: ListKind;
}

/** One way of one operation. */
export interface BandwidthRow extends PageList, Measured {
  readonly operation: TunedOperation;
  readonly way: Strategies[TunedOperation];
  /** Whether this is the way for the adapter where nothing was asked for and nothing tuned. */
  readonly isDefault: boolean;
  /** Bytes that a run moves. */
  readonly bytes: number;
  /** The rate as a share of the machine's limit: see `LIMIT_OF`. Null where the clock is too coarse for either. */
  readonly ofLimit: number | null;
}

/** Stores and loads at once, by the default ways. */
export interface BothDirectionsRow extends PageList, Measured {
  /** Of both directions together. */
  readonly bytes: number;
  /** Milliseconds of the same store and the same load, one after the other. */
  readonly oneAfterTheOther: number;
  /** How many times faster both at once are. Null where the clock is too coarse. */
  readonly gain: number | null;
}

/** Time on the CPU from the decision to store pages until other work may overwrite them. */
export interface ReleaseRow extends PageList, Measured {
  readonly pages: number;
}

export interface BandwidthResult {
  readonly runtime: Runtime;
  /** Name and version of the runtime. */
  readonly agent: string;
  readonly adapter: string;
  /** Whether the adapter computes on the CPU. */
  readonly software: boolean;
  readonly stagingBuffers: number;
  /** Of one buffer; one page where that is more. */
  readonly stagingBytes: number;
  readonly limits: readonly MachineLimit[];
  readonly rows: readonly BandwidthRow[];
  readonly bothDirections: readonly BothDirectionsRow[];
  readonly release: readonly ReleaseRow[];
  readonly seconds: number;
}

/** What 100 percent of each operation are. */
export const LIMIT_OF: Readonly<Record<TunedOperation, LimitName>> = {
  zero: 'clear',
  copy: 'copy',
  store: 'memcpy',
  load: 'memcpy',
};

export const OPERATIONS: readonly TunedOperation[] = ['zero', 'copy', 'store', 'load'];
