/** Decides what moves between pages and host slots, and which pending stores must read before a step writes. */
import type { OffloadConfig } from '../config.ts';
import type { CacheLayout } from '../config/layout.ts';
import { ConfigError, invariant } from '../errors.ts';
import type {
  Connector,
  ConnectorMeta,
  FinishedLoads,
  Holdings,
  SchedulerOutput,
} from '../schedule/connector-interface.ts';
import type { Request } from '../schedule/request.ts';
import type { Acknowledgement, LoadJob, StoreJob } from '../schedule/step-plan.ts';
import { NULL_PAGE, type JobId, type PageId, type PrefixKey, type RequestId, type SlotId } from '../units.ts';
import { ChunkEvents } from './chunk-events.ts';
import type { OffloadEvent, TierEvent } from './events.ts';
import { chunkKey, offloadGroups, type OffloadGroup, hitUnitOf } from './groups.ts';
import { checkTables } from './integrity.ts';
import { JobIdCounter, type TransferJob } from './jobs.ts';
import { agreeOnHit, type LookupResult } from './lookup.ts';
import type { OffloadMetrics } from './metrics.ts';
import { OffloadManager } from './offload-manager.ts';
import { computedAtEnd, type RequestState } from './request-state.ts';
import { extendByTail, keepsTails } from './tails.ts';
import type { TierMetrics } from './tier-metrics.ts';
import { Transfers, type Recency } from './transfers.ts';

export interface OffloadConnectorOptions {
  config: OffloadConfig;
  layout: CacheLayout;
  /** Workers that acknowledge each job. */
  workers?: number;
  /** Shared where several parts number transfers. */
  jobIds?: JobIdCounter;
  recency?: Recency;
  /** Lookups after which a page may be stored; below 2 every page may. */
  reuseThreshold?: number;
  onEvent?: ((event: OffloadEvent) => void) | undefined;
  /** Milliseconds, for the figures of `takeMetrics`. Default: `performance.now`. */
  now?: () => number;
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
  /** The next chunk that each live request offers, by offloaded group. */
  readonly cursors: ReadonlyMap<RequestId, readonly number[]>;
  readonly drainingRequests: number;
  readonly discardedJobs: readonly JobId[];
}

/**
 * The connector of all groups that can be offloaded. What a store reads of full attention is protected by the request's
 * own references while it lives, by a flush when it is preempted, and by the fence once it has finished; windows and
 * states, which a running request gives back, are fenced from the start.
 */
export class OffloadConnector implements Connector {
  readonly manager: OffloadManager;
  readonly #config: OffloadConfig;
  readonly #groups: readonly OffloadGroup[];
  /** Groups in the order in which they are asked: those that keep everything, then windows, the largest first. */
  readonly #askingOrder: readonly OffloadGroup[];
  /** What a hit in the tier is a multiple of. */
  readonly #unitTokens: number;
  /** What a hit with a tail is a multiple of; null where there are no tails. */
  readonly #tailTokens: number | null;
  readonly #recency: Recency;
  readonly #onEvent: ((event: OffloadEvent) => void) | undefined;
  readonly #chunkEvents: ChunkEvents | null;
  readonly #now: () => number;
  /** When requests were told to ask again for the first time, in milliseconds. */
  readonly #deferredAt = new Map<RequestId, number>();
  readonly #transfers: Transfers;
  /** Pages that this step writes, as far as known. */
  readonly #touched = new Set<PageId>();
  #newLoads: LoadJob[] = [];
  #flushNext: JobId[] = [];

  constructor(options: OffloadConnectorOptions) {
    const { config, layout, workers = 1, jobIds = new JobIdCounter() } = options;
    if (!Number.isSafeInteger(workers) || workers < 1) {
      throw new ConfigError(`workers: ${workers} cannot acknowledge a job; give 1 or more`);
    }
    this.#config = config;
    this.#groups = offloadGroups(layout, config.pagesPerSlot);
    const reach = ({ windowChunks, tokensPerChunk }: OffloadGroup) =>
      windowChunks === null ? Infinity : windowChunks * tokensPerChunk;
    this.#askingOrder = [...this.#groups].sort((a, b) => Math.sign(reach(b) - reach(a)) || 0);
    this.#unitTokens = hitUnitOf(this.#groups, layout);
    this.#tailTokens = keepsTails(layout, this.#groups, config.pagesPerSlot) ? layout.hashTokens : null;
    this.#recency = options.recency ?? 'on-finish';
    const { onEvent } = options;
    this.#onEvent = onEvent;
    this.#now = options.now ?? (() => performance.now());
    this.#chunkEvents = onEvent ? new ChunkEvents(config.pagesPerSlot, onEvent) : null;
    this.manager = new OffloadManager({
      slots: config.slots,
      policy: config.policy,
      reuseThreshold: options.reuseThreshold ?? 0,
      onEvent: onEvent && ((event) => this.#tellTier(event)),
    });
    this.#transfers = new Transfers({
      manager: this.manager,
      groups: this.#groups,
      pagesPerSlot: config.pagesPerSlot,
      tokensMax: ({ promptTokens }) =>
        Math.min(config.storeTokensMax ?? Infinity, config.storePromptsOnly ? promptTokens : Infinity),
      offerLoaded: config.offerLoaded,
      workers,
      jobIds,
      recency: this.#recency,
      pageBytes: layout.strideBytes,
      now: this.#now,
      onEvent,
      chunkEvents: this.#chunkEvents,
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
    const begun = this.#now();
    const answer = this.#match(request, localTokens);
    if (answer === 'ask again') {
      if (!this.#deferredAt.has(request.id)) this.#deferredAt.set(request.id, begun);
      return answer;
    }
    this.#transfers.collector.sample('lookupSeconds', (this.#now() - begun) / 1000);
    this.#endDeferral(request.id);
    return answer;
  }

  #match(request: Request, localTokens: number): number | 'ask again' {
    const { live, loading } = this.#transfers.tables;
    const state = live.get(request.id);
    // A request never loads and stores at once, and what is in flight still decides what the tier holds.
    if (state !== undefined && state.jobs.size > 0) return 'ask again';
    if (state?.hostRefused === true) return 0;
    this.#requireWholePages(request, localTokens);
    const { sequence } = request;
    const keyedTokens = sequence.unitCount * sequence.unitTokens;
    // The last token must be computed, or there is nothing to sample from.
    const bounds = { localTokens, tokensMax: sequence.length - 1, keyedTokens, unitTokens: this.#unitTokens };
    if (this.#recency === 'on-lookup')
      this.manager.touch(this.#transfers.keysBetween(request, 0, bounds.tokensMax));
    // A key counts one sighting, however often the groups have to agree anew.
    const answers = new Map<PrefixKey, LookupResult>();
    const lookup = (group: OffloadGroup, chunk: number): LookupResult => {
      const key = chunkKey(sequence, group, chunk);
      const answer = answers.get(key) ?? this.manager.lookup(key);
      answers.set(key, answer);
      if (answer !== 'MISS') this.#chunkEvents?.note(sequence, group, chunk);
      return answer;
    };
    const whole = agreeOnHit(this.#askingOrder, lookup, bounds);
    if (whole === 'ask again') return whole;
    const tokens = this.#withTail(request, whole, bounds.tokensMax);
    if (tokens === 'ask again' || tokens === localTokens) return tokens === 'ask again' ? tokens : 0;
    // Once the other request's load ends, the key is a hit on the device and costs no transfer.
    const needed = this.#transfers.keysBetween(request, localTokens, tokens);
    needed.push(...this.#transfers.tailKeys(request, tokens));
    if (loading.size > 0 && needed.some((key) => loading.has(key))) return 'ask again';
    return tokens - localTokens;
  }

  #withTail({ sequence }: Request, whole: number, tokensMax: number): number | 'ask again' {
    const hashTokens = this.#tailTokens;
    if (hashTokens === null) return whole;
    const bounds = { tokens: whole, tokensMax, unitTokens: this.#unitTokens, hashTokens };
    return extendByTail(sequence, this.#groups, (key) => this.manager.lookup(key), bounds);
  }

  updateStateAfterAllocation(
    request: Request,
    allocation: { tables: Holdings['tables']; localTokens: number; externalTokens: number },
  ): readonly PageId[] {
    if (this.#config.slots === 0) return [];
    const { localTokens, externalTokens, tables } = allocation;
    const state = this.#transfers.stateOf(request);
    if (externalTokens === 0) return [];
    const end = localTokens + externalTokens;
    this.#requireWholePages(request, localTokens);
    if (this.#tailTokens === null || end % this.#tailTokens !== 0) this.#requireWholePages(request, end);
    for (const { id, tokensPerPage } of this.#groups) {
      invariant(
        end / tokensPerPage <= tables[id].length,
        `request ${request.id}: ${localTokens} local and ${externalTokens} external tokens do not fit its ${tables[id].length} pages in group ${id}`,
      );
    }
    const job = this.#transfers.createLoad(state, tables, localTokens, end);
    this.#transfers.collector.hit(job.keys.length);
    this.#newLoads.push({ id: job.id, slots: job.slots, pages: job.pages });
    // The request is parked, not scheduled: nothing else would report its pages.
    for (const { id } of this.#groups) this.#touch(tables[id]);
    return job.pages;
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
    for (const { destination } of output.copies.copies) this.#touch([destination]);
    if (this.#config.fence === 'complete')
      for (const { pages } of output.newPageIdsToZero) this.#touch(pages);
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

  /** Ends every transfer as failed: the pages that it read or wrote are gone. What is ready in the tier stays. */
  failAll(error: string): FinishedLoads {
    const { jobs, discarded, draining, live } = this.#transfers.tables;
    this.#newLoads = [];
    this.#flushNext = [];
    this.#touched.clear();
    // Nothing is left that a last store could read.
    for (const state of [...draining]) {
      state.last = null;
      this.#transfers.settle(state);
    }
    const acknowledgements = [...jobs.values(), ...discarded.values()].flatMap(({ id, workersLeft }) =>
      Array.from({ length: workersLeft }, (): Acknowledgement => ({ job: id, ok: false, error })),
    );
    const ended = this.updateFromAcknowledgements(acknowledgements);
    // The tier is not to blame: whoever asks it again is answered.
    for (const state of live.values()) state.hostRefused = false;
    return ended;
  }

  requestFinished(request: Request, { tables, states }: Holdings): void {
    this.#endDeferral(request.id);
    const { live, draining, fence } = this.#transfers.tables;
    const state = live.get(request.id);
    if (state === undefined) return;
    // From here on nobody holds the pages for the stores that still read them.
    for (const id of state.jobs) fence.register(this.#transfers.pendingStore(id).pages, id);
    state.finished = true;
    const holdings = { tables: tables.map((table) => [...table]), states };
    state.last = { holdings, computedTokens: computedAtEnd(request) };
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

  /** Figures since the last call; the counters of `metrics` go on. */
  takeMetrics(): TierMetrics {
    const { allocations, storesSkipped } = this.manager.takeStatistics();
    const { collector } = this.#transfers;
    collector.add('storesSkipped', storesSkipped);
    const { total, write, read } = this.manager.usage;
    return collector.take({ allocations, gauges: { usage: total, writing: write, reading: read } });
  }

  snapshot(): ConnectorSnapshot {
    const { jobs, live, draining, discarded, fence } = this.#transfers.tables;
    return {
      jobs: [...jobs.values()].map(({ id, kind, owner, pages, slots, workersLeft }) => {
        return { id, kind, requestId: owner.request.id, pages, slots, workersLeft };
      }),
      fence: new Map([...fence].map(([page, readers]) => [page, [...readers]])),
      cursors: new Map([...live].map(([id, state]) => [id, [...state.cursors]])),
      drainingRequests: draining.size,
      discardedJobs: [...discarded.keys()],
    };
  }

  checkIntegrity(): void {
    checkTables(this.#transfers.tables);
  }

  /** Stores of scheduled requests in order, then the last ones of requests that finished since the previous step. */
  #buildStores(output: SchedulerOutput, flush: Set<JobId>): StoreJob[] {
    const { draining } = this.#transfers.tables;
    const stores: StoreJob[] = [];
    const add = (state: RequestState, jobs: readonly TransferJob[]): StoreJob[] => {
      const built = jobs.map(({ id, pages, slots }): StoreJob => {
        return state.finished ? { id, pages, slots, isLast: true } : { id, pages, slots };
      });
      stores.push(...built);
      return built;
    };
    const build = (state: RequestState, holdings: Holdings, computedTokens: number): StoreJob[] =>
      add(state, this.#transfers.createStores(state, holdings, computedTokens));
    for (const { request, holdings, computedBefore, scheduledTokens } of output.scheduled) {
      const state = this.#transfers.stateOf(request);
      build(state, holdings, computedBefore + scheduledTokens);
      if (this.#tailTokens === null) continue;
      const states = output.tails.filter((tail) => tail.request === request.id);
      if (states.length > 0) add(state, this.#transfers.createTailStore(state, holdings, states));
    }
    for (const state of draining) {
      if (state.last === null) continue;
      const built = build(state, state.last.holdings, state.last.computedTokens);
      state.last = null;
      if (built.length === 0) this.#transfers.settle(state);
      // Its pages went back to the pool before the jobs existed, and somebody may have claimed them already.
      for (const { id, pages } of built) if (pages.some((page) => this.#touched.has(page))) flush.add(id);
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

  #requireWholePages({ id }: Request, tokens: number): void {
    for (const group of this.#groups) {
      invariant(
        tokens >= 0 && tokens % group.tokensPerPage === 0,
        `request ${id}: ${tokens} tokens are not a whole number of pages of ${group.tokensPerPage} in group ${group.id}`,
      );
    }
  }

  #endDeferral(id: RequestId): void {
    const since = this.#deferredAt.get(id);
    if (since === undefined) return;
    this.#deferredAt.delete(id);
    this.#transfers.collector.sample('deferralSeconds', (this.#now() - since) / 1000);
  }

  #tellTier(event: TierEvent): void {
    this.#onEvent?.(event);
    if (event.type === 'tier-stored') this.#chunkEvents?.stored(event.keys);
    else if (event.type === 'tier-removed') this.#chunkEvents?.removed(event.keys);
    else this.#chunkEvents?.reset();
  }

  #touch(pages: Iterable<PageId>): void {
    for (const page of pages) if (page !== NULL_PAGE) this.#touched.add(page);
  }
}
