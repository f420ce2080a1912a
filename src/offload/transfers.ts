/** Makes transfer jobs, and carries what they change into the host tier when they end. */
import { pageKey } from './page-keys.ts';
import { InvariantError, invariant } from '../errors.ts';
import type { Request } from '../schedule/request.ts';
import type { JobId, PageId, PrefixKey, RequestId, SlotId } from '../units.ts';
import type { OffloadEvent } from './events.ts';
import { Fence } from './fence.ts';
import type { ConnectorTables } from './integrity.ts';
import type { JobIdCounter, TransferJob } from './jobs.ts';
import { newMetrics } from './metrics.ts';
import type { OffloadManager } from './offload-manager.ts';
import { newRequestState, type RequestState } from './request-state.ts';

/**
 * When the host tier learns that keys were used. `on-finish`: once a request, when its last transfer ended, so that
 * its head is the most recent and a key counts one use however often it was looked up. `on-lookup`: at every lookup
 * and every accepted store.
 */
export type Recency = 'on-finish' | 'on-lookup';

export interface TransfersOptions {
  manager: OffloadManager;
  tokensPerPage: number;
  /** Acknowledgements that end a job. */
  workers: number;
  jobIds: JobIdCounter;
  recency: Recency;
  onEvent: ((event: OffloadEvent) => void) | undefined;
}

/** Keys of pages `start` to `end` of a request. */
export function keysOf(request: Request, start: number, end: number): PrefixKey[] {
  const keys: PrefixKey[] = [];
  for (let page = start; page < end; page += 1) keys.push(pageKey(request.sequence, page));
  return keys;
}

export class Transfers {
  readonly tables: ConnectorTables;
  readonly metrics = newMetrics();
  readonly #options: TransfersOptions;

  constructor(options: TransfersOptions) {
    this.#options = options;
    this.tables = {
      manager: options.manager,
      fence: new Fence(),
      jobs: new Map(),
      discarded: new Map(),
      live: new Map(),
      draining: new Set(),
      loading: new Map(),
    };
  }

  /** The state of a request that runs or is about to. */
  stateOf(request: Request): RequestState {
    let state = this.tables.live.get(request.id);
    if (state === undefined) {
      state = newRequestState(request);
      this.tables.live.set(request.id, state);
    }
    return state;
  }

  /** Pins slots for pages `start` to `end` of a request, all of which the tier must have ready. */
  createLoad(state: RequestState, pages: readonly PageId[], start: number, end: number): TransferJob {
    const { loading, manager } = this.tables;
    const { request } = state;
    invariant(
      state.jobs.size === 0,
      `request ${request.id} would load while ${state.jobs.size} of its jobs are in flight`,
    );
    const keys = keysOf(request, start, end);
    for (const key of keys)
      invariant(!loading.has(key), `request ${request.id} would load ${key}, which is being loaded`);
    const slots = manager.prepareLoad(keys);
    const job = this.#createJob('load', state, { keys, pages: pages.slice(start, end), slots, endPage: end });
    for (const key of keys) loading.set(key, job.id);
    this.metrics.loadsPrepared += 1;
    this.metrics.hitPages += keys.length;
    return job;
  }

  /** Offers the full pages from the cursor up to `computedTokens`. `null`: nothing to store, or no room now. */
  createStore(state: RequestState, pages: readonly PageId[], computedTokens: number): TransferJob | null {
    const { manager, discarded } = this.tables;
    const { tokensPerPage, recency } = this.#options;
    const { request, cursor } = state;
    const end = Math.min(
      Math.floor(computedTokens / tokensPerPage),
      request.sequence.unitCount,
      pages.length,
    );
    // While a transfer from before a reset may still land in its slot, no slot is given out.
    if (end <= cursor || discarded.size > 0) return null;
    const offered = keysOf(request, cursor, end);
    if (recency === 'on-finish') this.#noteReturns(state, offered);
    const prepared = manager.prepareStore(offered);
    if (prepared === null) {
      this.metrics.allocationFailures += 1;
      return null;
    }
    state.cursor = end;
    this.metrics.pagesEvicted += prepared.evicted.length;
    if (recency === 'on-lookup') manager.touch(offered);
    const { keys, slots } = prepared;
    if (keys.length === 0) return null;
    for (const key of keys) state.stored.add(key);
    // The accepted keys are a subsequence of the offered ones.
    const sources: PageId[] = [];
    for (let i = 0; sources.length < keys.length; i += 1) {
      if (offered[i] === keys[sources.length]) sources.push(pages[cursor + i]);
    }
    this.metrics.storesPrepared += 1;
    return this.#createJob('store', state, { keys, pages: sources, slots, endPage: end });
  }

  /** The job of an id, which must be a store in flight. */
  pendingStore(id: JobId): TransferJob {
    const job = this.tables.jobs.get(id);
    if (job === undefined) throw new InvariantError(`job ${id} is not in flight`);
    invariant(
      job.kind === 'store',
      `job ${id} of request ${job.owner.request.id} is a load; it must end before the request does`,
    );
    return job;
  }

  /** One worker is done with a job. Returns the job when it was the last one, `null` before that or for unknown ids. */
  acknowledge(id: JobId, ok: boolean): TransferJob | null {
    const { jobs, discarded } = this.tables;
    const job = jobs.get(id) ?? discarded.get(id);
    if (job === undefined) return null;
    job.workersLeft -= 1;
    job.failed ||= !ok;
    if (job.workersLeft > 0) return null;
    if (discarded.delete(id)) {
      // Its keys are gone from the tier, and what it moved belongs to nobody.
      job.failed = true;
      return job;
    }
    jobs.delete(id);
    job.owner.jobs.delete(id);
    if (job.kind === 'store') this.#endStore(job);
    else this.#endLoad(job);
    const type = job.kind === 'store' ? 'store-ended' : 'load-ended';
    this.#options.onEvent?.({ type, job: id, requestId: job.owner.request.id, ok: !job.failed });
    this.settle(job.owner);
    return job;
  }

  /** Drops a finished request once nothing of it is left to build or to wait for. */
  settle(state: RequestState): void {
    if (!state.finished || state.last !== null || state.jobs.size > 0) return;
    this.tables.draining.delete(state);
    if (this.#options.recency !== 'on-finish') return;
    this.tables.manager.touch(keysOf(state.request, 0, state.cursor), state.stored);
  }

  /** Forgets every key and every job. Returns the jobs that were in flight. */
  discardAll(): JobId[] {
    const { manager, fence, jobs, discarded, live, draining, loading } = this.tables;
    const ids = [...jobs.keys()];
    for (const [id, job] of jobs) discarded.set(id, job);
    for (const state of live.values()) {
      state.cursor = 0;
      state.offered = 0;
      state.jobs.clear();
      state.stored.clear();
    }
    jobs.clear();
    draining.clear();
    loading.clear();
    fence.clear();
    manager.reset();
    this.metrics.jobsDiscarded += ids.length;
    return ids;
  }

  #createJob(
    kind: TransferJob['kind'],
    owner: RequestState,
    what: { keys: readonly PrefixKey[]; pages: readonly PageId[]; slots: readonly SlotId[]; endPage: number },
  ): TransferJob {
    const { jobIds, workers, onEvent } = this.#options;
    const job: TransferJob = { id: jobIds.next(), kind, owner, ...what, workersLeft: workers, failed: false };
    this.tables.jobs.set(job.id, job);
    owner.jobs.add(job.id);
    const requestId: RequestId = owner.request.id;
    const type = kind === 'store' ? 'store-prepared' : 'load-prepared';
    onEvent?.({ type, job: job.id, requestId, pages: job.pages, slots: job.slots });
    return job;
  }

  /**
   * With recency applied at the end, a policy would never see that an evicted key came back: storing it again
   * erases its ghost. So absent keys are touched when they are offered for the first time.
   */
  #noteReturns(state: RequestState, offered: readonly PrefixKey[]): void {
    const { manager } = this.tables;
    const known = Math.max(0, state.offered - state.cursor);
    state.offered = Math.max(state.offered, state.cursor + offered.length);
    manager.touch(offered.slice(known).filter((key) => !manager.has(key)));
  }

  #endStore(job: TransferJob): void {
    const { manager, fence } = this.tables;
    manager.completeStore(tailFirst(job.keys), !job.failed);
    if (job.owner.finished) fence.remove(job.pages, job.id);
    this.metrics[job.failed ? 'storesFailed' : 'storesCompleted'] += 1;
    if (!job.failed) this.metrics.pagesStored += job.keys.length;
  }

  #endLoad(job: TransferJob): void {
    const { manager, loading } = this.tables;
    const { owner } = job;
    manager.completeLoad(tailFirst(job.keys));
    for (const key of job.keys) loading.delete(key);
    this.metrics[job.failed ? 'loadsFailed' : 'loadsCompleted'] += 1;
    if (job.failed) {
      owner.hostRefused = true;
      return;
    }
    owner.cursor = Math.max(owner.cursor, job.endPage);
    this.metrics.pagesLoaded += job.keys.length;
  }
}

/** The head of a prefix becomes the most recent: without it the rest cannot be reached, so it goes last. */
function tailFirst(keys: readonly PrefixKey[]): PrefixKey[] {
  return [...keys].reverse();
}
