/** What a run amounted to. Each request and each transfer counts once. */
import type { SchedulerOutput } from './schedule/connector-interface.ts';
import type { FinishedRequest } from './schedule/request.ts';
import type { StepOutcome, StepPlan } from './schedule/step-plan.ts';
import type { JobId } from './units.ts';

export interface EngineStatistics {
  readonly steps: number;
  readonly requests: { readonly finished: number; readonly aborted: number; readonly preemptions: number };
  /** Prompt tokens of finished requests, and those of them that were not computed, by tier. */
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly hitTokens: { readonly device: number; readonly host: number };
  /** Rows computed, work done again after a preemption included. */
  readonly computedTokens: number;
  /** Speculative decoding: drafted tokens that steps computed, and those that were right. */
  readonly drafts: { readonly proposed: number; readonly accepted: number };
  readonly pages: { readonly allocated: number; readonly zeroed: number; readonly evicted: number };
  /** Store jobs whose keys were published, and those that ended without. */
  readonly stores: number;
  readonly storesFailed: number;
  readonly loads: number;
  readonly loadsFailed: number;
  readonly pagesStored: number;
  readonly pagesLoaded: number;
  readonly bytesStored: number;
  readonly bytesLoaded: number;
  /** Stores that a flush forced out ahead of their turn. */
  readonly flushes: number;
  /** Pages of those that went through the overflow buffer. */
  readonly flushOverflows: number;
  /** Stores that were named in a flush and neither released nor failed within that step. A correct run has none. */
  readonly flushWaits: number;
}

export class RunStatistics {
  private steps = 0;
  private finished = 0;
  private aborted = 0;
  private preemptions = 0;
  private promptTokens = 0;
  private outputTokens = 0;
  private readonly hitTokens = { device: 0, host: 0 };
  private computedTokens = 0;
  private readonly drafts = { proposed: 0, accepted: 0 };
  private flushes = 0;
  private flushOverflows = 0;
  private flushWaits = 0;
  private readonly unreleased = new Set<JobId>();

  record(output: SchedulerOutput, plan: StepPlan, outcome: StepOutcome): void {
    this.steps += 1;
    this.preemptions += output.preempted.length;
    for (const { scheduledTokens } of output.scheduled) this.computedTokens += scheduledTokens;
    for (const { id } of plan.stores) this.unreleased.add(id);
    for (const id of outcome.released) this.unreleased.delete(id);
    for (const { job } of outcome.acknowledgements) this.unreleased.delete(job);
    this.flushes += outcome.flushed.length;
    this.flushOverflows += outcome.overflowedPages;
    for (const id of plan.jobsToFlush) if (this.unreleased.has(id)) this.flushWaits += 1;
  }

  verify(proposed: number, accepted: number): void {
    this.drafts.proposed += proposed;
    this.drafts.accepted += accepted;
  }

  finish(request: FinishedRequest): void {
    if (request.reason === 'aborted') this.aborted += 1;
    else this.finished += 1;
    this.promptTokens += request.promptTokens;
    this.outputTokens += request.outputTokens;
    this.hitTokens.device += request.hitTokens.device;
    this.hitTokens.host += request.hitTokens.host;
  }

  summary(parts: {
    cache: { pagesAllocated: number; pagesZeroed: number; pagesEvicted: number };
    connector: {
      storesCompleted: number;
      storesFailed: number;
      loadsCompleted: number;
      loadsFailed: number;
      pagesStored: number;
      pagesLoaded: number;
    };
    pageBytes: number;
  }): EngineStatistics {
    const { cache, connector, pageBytes } = parts;
    return {
      steps: this.steps,
      requests: { finished: this.finished, aborted: this.aborted, preemptions: this.preemptions },
      promptTokens: this.promptTokens,
      outputTokens: this.outputTokens,
      hitTokens: { ...this.hitTokens },
      computedTokens: this.computedTokens,
      drafts: { ...this.drafts },
      pages: { allocated: cache.pagesAllocated, zeroed: cache.pagesZeroed, evicted: cache.pagesEvicted },
      stores: connector.storesCompleted,
      storesFailed: connector.storesFailed,
      loads: connector.loadsCompleted,
      loadsFailed: connector.loadsFailed,
      pagesStored: connector.pagesStored,
      pagesLoaded: connector.pagesLoaded,
      bytesStored: connector.pagesStored * pageBytes,
      bytesLoaded: connector.pagesLoaded * pageBytes,
      flushes: this.flushes,
      flushOverflows: this.flushOverflows,
      flushWaits: this.flushWaits,
    };
  }
}
