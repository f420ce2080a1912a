/**
 * What the scheduler needs from an offloading connector, and what it tells it. `offload/connector` implements this;
 * the scheduler works without one.
 */
import type {
  BoundaryState,
  GroupPages,
  GroupTail,
  PageCopyBatch,
  PagesByGroup,
} from '../cache/cache-manager.ts';
import type { Acknowledgement, LoadJob, StoreJob } from './step-plan.ts';
import type { Request } from './request.ts';
import type { JobId, PageId, RequestId } from '../units.ts';

/** What a request holds. */
export interface Holdings {
  /** Its page tables by group. The live tables: copy them to keep them beyond the step. */
  readonly tables: PagesByGroup;
  /** Its recurrent states that stand exactly at the end of a page, those that this step computes included. */
  readonly states: readonly BoundaryState[];
}

/** A request that runs in this step. */
export interface ScheduledRequest {
  readonly request: Request;
  /** After this step's allocation. */
  readonly holdings: Holdings;
  /** Pages that it got since it was last scheduled, in any group; all of them when it starts or resumes. */
  readonly newPages: readonly PageId[];
  /** True when it was preempted since it last ran: its earlier pages are gone. */
  readonly resumed: boolean;
  /** Tokens computed before and in this step. */
  readonly computedBefore: number;
  readonly scheduledTokens: number;
}

/** All that one schedule pass decided, as the connector sees it. */
export interface SchedulerOutput {
  readonly step: number;
  readonly scheduled: readonly ScheduledRequest[];
  readonly preempted: readonly Request[];
  readonly newPageIdsToZero: readonly GroupPages[];
  /** Release it once the step has run. */
  readonly copies: PageCopyBatch;
  /** States inside pages that this step copies to pages of their own, of requests that run in it. */
  readonly tails: readonly GroupTail[];
}

export interface ConnectorMeta {
  readonly loads: readonly LoadJob[];
  readonly stores: readonly StoreJob[];
  readonly jobsToFlush: readonly JobId[];
}

/** Requests whose load ended in this step. */
export interface FinishedLoads {
  /** Every page holds its bytes. */
  readonly loaded: readonly RequestId[];
  /** At least one page does not: nothing of the loaded range may be used. */
  readonly failed: readonly RequestId[];
}

export interface Connector {
  /**
   * How many tokens beyond `localTokens` (units already on the device) the host tier can supply, as a multiple of
   * the unit, never covering the last token. `ask again`: transfers decide, look once more next step.
   * Changes no pins: between this call and `updateStateAfterAllocation` nothing else may run.
   */
  matchedTokens(request: Request, localTokens: number): number | 'ask again';
  /**
   * Pages were allocated for a request that starts. With `externalTokens` > 0 a load into the pages behind
   * `localTokens` is prepared (slots pinned) and goes out with the next `buildConnectorMeta`. Gives the pages that the
   * load writes in full, which need no zeroing.
   */
  updateStateAfterAllocation(
    request: Request,
    allocation: { tables: PagesByGroup; localTokens: number; externalTokens: number },
  ): readonly PageId[];
  /** Once a step, after scheduling: transfers of this step and the stores to flush before anything is written. */
  buildConnectorMeta(output: SchedulerOutput): ConnectorMeta;
  /** Ends of transfers. Publishes completed stores, unpins loads. Duplicate and unknown ids are ignored. */
  updateFromAcknowledgements(acknowledgements: readonly Acknowledgement[]): FinishedLoads;
  /** The request is over and its pages go back to the pool now. Its last stores are built in the next step. */
  requestFinished(request: Request, holdings: Holdings): void;
  /** True while a job is unacknowledged or a finished request still has stores to build. */
  readonly hasPendingWork: boolean;
  /** Forgets every host key. Jobs in flight are flushed next step and their acknowledgements add nothing. */
  reset(): void;
  /** Throws `InvariantError` if a rule of the connector or of the host tier is broken. */
  checkIntegrity(): void;
}
