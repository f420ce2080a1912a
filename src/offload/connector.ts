/** Decides what moves between pages and host slots, and which pending stores must read before a step writes. */
import { pageKey } from './page-keys.ts';
import type { OffloadConfig } from '../config.ts';
import { ConfigError, invariant } from '../errors.ts';
import type {
  Connector,
  ConnectorMeta,
  FinishedLoads,
  SchedulerOutput,
} from '../schedule/connector-interface.ts';
import type { Request } from '../schedule/request.ts';
import type { Acknowledgement, LoadJob, StoreJob } from '../schedule/step-plan.ts';
import { NULL_PAGE, type JobId, type PageId, type RequestId, type SlotId } from '../units.ts';
import type { OffloadEvent } from './events.ts';
import { checkTables } from './integrity.ts';
import { JobIdCounter } from './jobs.ts';
import { scanForward } from './lookup.ts';
import type { OffloadMetrics } from './metrics.ts';
import { OffloadManager } from './offload-manager.ts';
import { computedAtEnd, type RequestState } from './request-state.ts';
import { Transfers, keysOf, type Recency } from './transfers.ts';

export interface OffloadConnectorOptions {
  config: OffloadConfig;
  tokensPerPage: number;
  /** Workers that acknowledge each job. */
  workers?: number;
  /** Shared where several parts number transfers. */
  jobIds?: JobIdCounter;
  recency?: Recency;
  /** Lookups after which a page may be stored; below 2 every page may. */
  reuseThreshold?: number;
  onEvent?: (event: OffloadEvent) => void;
}

/** Everything in flight as plain data, for logs, drawings and tests. */
export interface ConnectorSnapshot {
  readonly jobs: readonly {
    readonly id: JobId;
    readonly kind: 'store' | 'load';
    readonly requestId: RequestId;
    readonly pages: readonly PageId[];
    readonly slots: readonly SlotId[];
    readonly workersLeft: number;
  }[];
  readonly fence: ReadonlyMap<PageId, readonly JobId[]>;
  /** The next page that each live request offers. */
  readonly cursors: ReadonlyMap<RequestId, number>;
  readonly drainingRequests: number;
  readonly discardedJobs: readonly JobId[];
}

/**
 * The connector of one full-attention group; one page is one slot. Sources of a store are protected by the request's
 * own references while it lives, by a flush when it is preempted, and by the fence once it has finished.
 */
export class OffloadConnector implements Connector {
  readonly manager: OffloadManager;
  readonly #config: OffloadConfig;
  readonly #tokensPerPage: number;
  readonly #recency: Recency;
  readonly #onEvent: ((event: OffloadEvent) => void) | undefined;
  readonly #transfers: Transfers;
  /** Pages that this step writes, as far as known. */
  readonly #touched = new Set<PageId>();
  #newLoads: LoadJob[] = [];
  #flushNext: JobId[] = [];

  constructor(options: OffloadConnectorOptions) {
    const { config, tokensPerPage, workers = 1, jobIds = new JobIdCounter() } = options;
    if (!Number.isSafeInteger(workers) || workers < 1) {
      throw new ConfigError(`workers: ${workers} cannot acknowledge a job; give 1 or more`);
    }
    this.#config = config;
    this.#tokensPerPage = tokensPerPage;
    this.#recency = options.recency ?? 'on-finish';
    this.#onEvent = options.onEvent;
    this.manager = new OffloadManager({
      slots: config.slots,
      policy: config.policy,
      reuseThreshold: options.reuseThreshold ?? 0,
      onEvent: options.onEvent,
    });
    this.#transfers = new Transfers({
      manager: this.manager,
      tokensPerPage,
      workers,
      jobIds,
      recency: this.#recency,
      onEvent: options.onEvent,
    });
  }

  get metrics(): Readonly<OffloadMetrics> {
    return { ...this.#transfers.metrics };
  }

  get hasPendingWork(): boolean {
    const { jobs, discarded, draining } = this.#transfers.tables;
    return jobs.size > 0 || discarded.size > 0 || draining.size > 0;
  }

  matchedTokens(request: Request, localTokens: number): number | 'ask again' {
    if (this.#config.slots === 0) return 0;
    const { live, loading } = this.#transfers.tables;
    const state = live.get(request.id);
    // A request never loads and stores at once, and what is in flight still decides what the tier holds.
    if (state !== undefined && state.jobs.size > 0) return 'ask again';
    if (state?.hostRefused === true) return 0;
    const { sequence } = request;
    const start = this.#pageCount(localTokens, 'localTokens');
    // The last token must be computed, or there is nothing to sample from.
    const end = Math.floor((sequence.length - 1) / this.#tokensPerPage);
    if (start >= end) return 0;
    if (this.#recency === 'on-lookup') this.manager.touch(keysOf(request, 0, end));
    const { pages, pending } = scanForward(
      (page) => this.manager.lookup(pageKey(sequence, page)),
      start,
      end,
    );
    if (pending) return 'ask again';
    // Once the other request's load ends, the key is a hit on the device and costs no transfer.
    if (keysOf(request, start, start + pages).some((key) => loading.has(key))) return 'ask again';
    return pages * this.#tokensPerPage;
  }

  updateStateAfterAllocation(
    request: Request,
    allocation: { pages: readonly PageId[]; localTokens: number; externalTokens: number },
  ): void {
    if (this.#config.slots === 0) return;
    const { localTokens, externalTokens, pages } = allocation;
    const start = this.#pageCount(localTokens, 'localTokens');
    const end = start + this.#pageCount(externalTokens, 'externalTokens');
    invariant(
      end <= pages.length,
      `request ${request.id}: ${localTokens} local and ${externalTokens} external tokens need ${end} pages, it has ${pages.length}`,
    );
    const state = this.#transfers.stateOf(request);
    if (end === start) return;
    const { id, slots, pages: destinations } = this.#transfers.createLoad(state, pages, start, end);
    this.#newLoads.push({ id, slots, pages: destinations });
    // The request is parked, not scheduled: nothing else would report its pages.
    this.#touch(pages);
  }

  buildConnectorMeta(output: SchedulerOutput): ConnectorMeta {
    if (this.#config.slots === 0) return { loads: [], stores: [], jobsToFlush: [] };
    const { live, fence, discarded } = this.#transfers.tables;
    const flush = new Set(this.#flushNext.filter((id) => discarded.has(id)));
    for (const { request, newPages } of output.scheduled) {
      this.#transfers.stateOf(request);
      this.#touch(newPages);
    }
    for (const request of output.preempted) {
      for (const id of live.get(request.id)?.jobs ?? []) flush.add(this.#transfers.pendingStore(id).id);
    }
    if (this.#config.fence === 'complete') this.#touch(output.newPageIdsToZero);
    // Before this step's stores exist: their data is not computed yet, and a page that is claimed, zeroed and
    // filled in this step is touched and a source at once.
    for (const id of fence.jobsReading(this.#touched)) flush.add(id);

    const stores = this.#buildStores(output, flush);
    const loads = this.#newLoads;
    this.#newLoads = [];
    this.#flushNext = [];
    this.#touched.clear();
    return { loads, stores, jobsToFlush: this.#jobsToFlush(output.step, flush) };
  }

  updateFromAcknowledgements(acknowledgements: readonly Acknowledgement[]): FinishedLoads {
    const loaded: RequestId[] = [];
    const failed: RequestId[] = [];
    for (const { job: id, ok } of acknowledgements) {
      const job = this.#transfers.acknowledge(id, ok);
      if (job?.kind === 'load') (job.failed ? failed : loaded).push(job.owner.request.id);
    }
    return { loaded, failed };
  }

  requestFinished(request: Request, pages: readonly PageId[]): void {
    const { live, draining, fence } = this.#transfers.tables;
    const state = live.get(request.id);
    if (state === undefined) return;
    // From here on nobody holds the pages for the stores that still read them.
    for (const id of state.jobs) fence.register(this.#transfers.pendingStore(id).pages, id);
    state.finished = true;
    state.last = { pages: [...pages], computedTokens: computedAtEnd(request) };
    live.delete(request.id);
    draining.add(state);
  }

  /**
   * Everything in flight is flushed in the next step, and no store is built until it is acknowledged: slot numbers
   * start anew, and an old transfer that lands late must not meet a new store's slot. A load in flight is reported as
   * failed when its acknowledgement comes; until then its pages must stay with its request.
   * Throws `InvariantError` between scheduling and `buildConnectorMeta`.
   */
  reset(): void {
    invariant(
      this.#newLoads.length === 0,
      'the connector was reset in the middle of a step; reset it between steps',
    );
    this.#flushNext.push(...this.#transfers.discardAll());
  }

  snapshot(): ConnectorSnapshot {
    const { jobs, live, draining, discarded, fence } = this.#transfers.tables;
    return {
      jobs: [...jobs.values()].map(({ id, kind, owner, pages, slots, workersLeft }) => {
        return { id, kind, requestId: owner.request.id, pages, slots, workersLeft };
      }),
      fence: new Map([...fence].map(([page, readers]) => [page, [...readers]])),
      cursors: new Map([...live].map(([id, state]) => [id, state.cursor])),
      drainingRequests: draining.size,
      discardedJobs: [...discarded.keys()],
    };
  }

  checkIntegrity(): void {
    checkTables(this.#transfers.tables);
  }

  /** Stores of scheduled requests in order, then the last ones of requests that finished since the previous step. */
  #buildStores(output: SchedulerOutput, flush: Set<JobId>): StoreJob[] {
    const { draining, fence } = this.#transfers.tables;
    const stores: StoreJob[] = [];
    const build = (
      state: RequestState,
      pages: readonly PageId[],
      computedTokens: number,
    ): StoreJob | null => {
      const job = this.#transfers.createStore(state, pages, computedTokens);
      if (job === null) return null;
      const store: StoreJob = { id: job.id, pages: job.pages, slots: job.slots };
      stores.push(store);
      return store;
    };
    for (const { request, pages, computedBefore, scheduledTokens } of output.scheduled) {
      build(this.#transfers.stateOf(request), pages, computedBefore + scheduledTokens);
    }
    for (const state of draining) {
      if (state.last === null) continue;
      const store = build(state, state.last.pages, state.last.computedTokens);
      state.last = null;
      if (store === null) {
        this.#transfers.settle(state);
        continue;
      }
      fence.register(store.pages, store.id);
      // Its pages went back to the pool before the job existed, and somebody may have claimed them already.
      if (store.pages.some((page) => this.#touched.has(page))) flush.add(store.id);
    }
    return stores;
  }

  /** Oldest first, as the worker submits them. */
  #jobsToFlush(step: number, flush: ReadonlySet<JobId>): JobId[] {
    if (this.#config.fence === 'off' || flush.size === 0) return [];
    const jobs = [...flush].sort((a, b) => a - b);
    this.#transfers.metrics.flushes += jobs.length;
    this.#onEvent?.({ type: 'flushed', step, jobs });
    return jobs;
  }

  #touch(pages: Iterable<PageId>): void {
    for (const page of pages) if (page !== NULL_PAGE) this.#touched.add(page);
  }

  #pageCount(tokens: number, what: string): number {
    const pages = tokens / this.#tokensPerPage;
    invariant(
      Number.isSafeInteger(pages) && pages >= 0,
      `${what}: ${tokens} tokens are not a whole number of pages of ${this.#tokensPerPage}`,
    );
    return pages;
  }
}
