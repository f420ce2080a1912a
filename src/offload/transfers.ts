/** Makes transfer jobs, and carries what they change into the host tier when they end. */
import { InvariantError, invariant } from '../errors.ts';
import type { Holdings } from '../schedule/connector-interface.ts';
import { seenTokens, type Request } from '../schedule/request.ts';
import {
  NULL_PAGE,
  slotId,
  type JobId,
  type PageId,
  type PrefixKey,
  type RequestId,
  type SlotId,
} from '../units.ts';
import type { OffloadEvent } from './events.ts';
import { Fence } from './fence.ts';
import { chunkKey, chunksIn, type OffloadGroup } from './groups.ts';
import type { ConnectorTables } from './integrity.ts';
import type { JobIdCounter, TransferJob } from './jobs.ts';
import { newMetrics } from './metrics.ts';
import type { ChunkEvents } from './chunk-events.ts';
import { TierMetricsCollector } from './tier-metrics.ts';
import type { OffloadManager } from './offload-manager.ts';
import { newRequestState, type RequestState } from './request-state.ts';
import { keyOfPage, tailPages } from './tails.ts';
import type { GroupTail } from '../cache/cache-manager.ts';
import { rowOffer, stateOffers, type Chunk, type StoreOffer } from './store-choice.ts';

/**
 * When the host tier learns that keys were used. `on-finish`: once a request, when its last transfer ended, so that
 * its head is the most recent and a key counts one use however often it was looked up. `on-lookup`: at every lookup
 * and every accepted store.
 */
export type Recency = 'on-finish' | 'on-lookup';

export interface TransfersOptions {
  manager: OffloadManager;
  groups: readonly OffloadGroup[];
  pagesPerSlot: number;
  /** Tokens of a request beyond which nothing is stored. */
  tokensMax: (request: Request) => number;
  /** Whether a load leaves the cursor where it was. */
  offerLoaded: boolean;
  /** Acknowledgements that end a job. */
  workers: number;
  jobIds: JobIdCounter;
  recency: Recency;
  /** Bytes that move with a page. */
  pageBytes: number;
  /** Milliseconds. */
  now: () => number;
  onEvent: ((event: OffloadEvent) => void) | undefined;
  /** Told of what goes into the tier; null if nobody listens. */
  chunkEvents: ChunkEvents | null;
}

/** Where a load goes. */
interface Destination {
  readonly key: PrefixKey;
  readonly page: PageId;
  /** Which of the chunk's pages it is. */
  readonly place: number;
}

export class Transfers {
  readonly tables: ConnectorTables;
  readonly metrics = newMetrics();
  readonly collector = new TierMetricsCollector();
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
      state = newRequestState(request, this.#options.groups.length);
      this.tables.live.set(request.id, state);
    }
    return state;
  }

  /** By offloaded group, keys of the chunks from `start` tokens on that hold the tokens up to `end`. */
  keysBetween(request: Request, start: number, end: number): PrefixKey[] {
    return this.#keysOf(request, (group) => [chunksIn(start, group), chunksIn(end, group)]);
  }

  /** Keys of the pages that end inside at so many tokens. */
  tailKeys({ sequence }: Request, tokens: number): PrefixKey[] {
    return this.#options.groups
      .filter(({ tokensPerChunk }) => tokens % tokensPerChunk !== 0)
      .map((group) => sequence.prefixKey(tokens, group.id));
  }

  /**
   * Pins the slots that the pages of a request between two boundaries are loaded from, all of which the tier must have
   * ready. Positions without a page are behind every window and need nothing.
   */
  createLoad(state: RequestState, tables: Holdings['tables'], start: number, end: number): TransferJob {
    const { loading, manager } = this.tables;
    const { groups, pagesPerSlot } = this.#options;
    const { request } = state;
    invariant(
      state.jobs.size === 0,
      `request ${request.id} would load while ${state.jobs.size} of its jobs are in flight`,
    );
    const destinations = groups.flatMap((group) => this.#destinations(request, group, tables, start, end));
    const keys = [...new Set(destinations.map(({ key }) => key))];
    for (const key of keys)
      invariant(!loading.has(key), `request ${request.id} would load ${key}, which is being loaded`);
    const chunkSlots = manager.prepareLoad(keys);
    const slotOf = new Map(keys.map((key, i) => [key, chunkSlots[i]]));
    const job = this.#createJob('load', state, {
      keys,
      chunkSlots,
      pages: destinations.map(({ page }) => page),
      slots: destinations.map(({ key, place }) => slotId(slotOf.get(key)! * pagesPerSlot + place)),
      immediatePages: [],
      endChunks: groups.map((group) => chunksIn(end, group)),
    });
    for (const key of keys) loading.set(key, job.id);
    state.tails.push(...this.tailKeys(request, end));
    this.metrics.loadsPrepared += 1;
    this.metrics.hitPages += destinations.length;
    return job;
  }

  #destinations(
    request: Request,
    group: OffloadGroup,
    tables: Holdings['tables'],
    start: number,
    end: number,
  ): Destination[] {
    const { pagesPerSlot } = this.#options;
    const destinations: Destination[] = [];
    const table = tables[group.id];
    for (let at = start / group.tokensPerPage; at < end / group.tokensPerPage; at += 1) {
      if (table[at] === NULL_PAGE) continue;
      const key =
        pagesPerSlot === 1
          ? keyOfPage(request.sequence, group, at, end)
          : chunkKey(request.sequence, group, Math.floor(at / pagesPerSlot));
      destinations.push({ key, page: table[at], place: at % pagesPerSlot });
    }
    return destinations;
  }

  /**
   * Offers what is new of a request up to `computedTokens`: each state by itself, then the rows of all groups together.
   * Gives the jobs; none where there is nothing to store, or no room now.
   */
  createStores(state: RequestState, holdings: Holdings, computedTokens: number): TransferJob[] {
    // While a transfer from before a reset may still land in its slot, no slot is given out.
    if (this.tables.discarded.size > 0) return [];
    const { request } = state;
    const source = {
      request,
      holdings,
      cursors: state.cursors,
      computedTokens: Math.min(computedTokens, seenTokens(request), this.#options.tokensMax(request)),
    };
    const jobs: TransferJob[] = [];
    for (const offer of stateOffers(source, this.#options)) this.#offer(state, offer, jobs);
    const rows = rowOffer(source, this.#options);
    if (rows) this.#offer(state, rows, jobs);
    return jobs;
  }

  /** Offers a tail, all of its pages or none: its states have pages that the pool may reclaim at any time. */
  createTailStore(state: RequestState, { tables }: Holdings, states: readonly GroupTail[]): TransferJob[] {
    const [{ tokens }] = states;
    const { request } = state;
    const tokensMax = Math.min(seenTokens(request), this.#options.tokensMax(request));
    if (this.tables.discarded.size > 0 || tokens > tokensMax) return [];
    const pages = tailPages(request.sequence, this.#options.groups, tables, states);
    if (pages === null) return [];
    const chunks = pages.map(({ group, key, page }): Chunk => {
      return { group, index: 0, key, pages: [page], firstPage: 0, tailTokens: tokens, isImmediate: true };
    });
    const jobs: TransferJob[] = [];
    this.#offer(state, { chunks, cursors: state.cursors }, jobs);
    state.tails.push(...chunks.map(({ key }) => key));
    return jobs;
  }

  #offer(state: RequestState, { chunks, cursors }: StoreOffer, jobs: TransferJob[]): void {
    const { manager } = this.tables;
    const { recency, pagesPerSlot } = this.#options;
    const offered = chunks.map(({ key }) => key);
    if (recency === 'on-finish') this.#noteReturns(state, chunks);
    const prepared = manager.prepareStore(offered);
    if (prepared === null) {
      this.metrics.allocationFailures += 1;
      this.collector.add('allocationFailures', 1);
      return;
    }
    for (const [i, cursor] of cursors.entries()) state.cursors[i] = Math.max(state.cursors[i], cursor);
    this.metrics.pagesEvicted += prepared.evicted.length;
    if (recency === 'on-lookup') manager.touch(offered);
    const { keys, slots: chunkSlots } = prepared;
    if (keys.length === 0) return;
    for (const key of keys) state.stored.add(key);
    const pages: PageId[] = [];
    const slots: SlotId[] = [];
    const immediatePages: PageId[] = [];
    // The accepted keys are a subsequence of the offered ones.
    let accepted = 0;
    for (const chunk of chunks) {
      if (chunk.key !== keys[accepted]) continue;
      this.#noteChunk(state.request, chunk);
      for (const [i, page] of chunk.pages.entries()) {
        pages.push(page);
        slots.push(slotId(chunkSlots[accepted] * pagesPerSlot + chunk.firstPage + i));
        if (chunk.isImmediate) immediatePages.push(page);
      }
      accepted += 1;
    }
    this.metrics.storesPrepared += 1;
    const job = this.#createJob('store', state, {
      keys,
      chunkSlots,
      pages,
      slots,
      immediatePages,
      endChunks: [...state.cursors],
    });
    this.tables.fence.register(state.finished ? pages : immediatePages, job.id);
    jobs.push(job);
  }

  #noteChunk({ sequence }: Request, { group: place, index, tailTokens }: Chunk): void {
    const { chunkEvents, groups } = this.#options;
    if (tailTokens === null) chunkEvents?.note(sequence, groups[place], index);
    else chunkEvents?.noteTail(sequence, groups[place], tailTokens);
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
    if (!job.failed) this.#measure(job);
    const type = job.kind === 'store' ? 'store-ended' : 'load-ended';
    this.#options.onEvent?.({ type, job: id, requestId: job.owner.request.id, ok: !job.failed });
    this.settle(job.owner);
    return job;
  }

  #measure({ kind, pages, createdAt }: TransferJob): void {
    const { pageBytes, now } = this.#options;
    const bytes = pages.length * pageBytes;
    this.collector.add(kind === 'store' ? 'storeBytes' : 'loadBytes', bytes);
    this.collector.add(kind === 'store' ? 'storeSeconds' : 'loadSeconds', (now() - createdAt) / 1000);
    this.collector.sample(kind === 'store' ? 'storeSize' : 'loadSize', bytes);
  }

  /** Drops a finished request once nothing of it is left to build or to wait for. */
  settle(state: RequestState): void {
    if (!state.finished || state.last !== null || state.jobs.size > 0) return;
    this.tables.draining.delete(state);
    if (this.#options.recency !== 'on-finish') return;
    this.tables.manager.touch(this.#keysPassed(state), state.stored);
  }

  /** Forgets every key and every job. Returns the jobs that were in flight. */
  discardAll(): JobId[] {
    const { manager, fence, jobs, discarded, live, draining, loading } = this.tables;
    const ids = [...jobs.keys()];
    for (const [id, job] of jobs) discarded.set(id, job);
    for (const state of live.values()) {
      state.cursors.fill(0);
      state.offered.fill(0);
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
    what: Pick<TransferJob, 'keys' | 'chunkSlots' | 'pages' | 'slots' | 'immediatePages' | 'endChunks'>,
  ): TransferJob {
    const { jobIds, workers, now, onEvent } = this.#options;
    const job: TransferJob = {
      id: jobIds.next(),
      kind,
      owner,
      ...what,
      createdAt: now(),
      workersLeft: workers,
      failed: false,
    };
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
  #noteReturns(state: RequestState, chunks: readonly Chunk[]): void {
    const { manager } = this.tables;
    const returned: PrefixKey[] = [];
    for (const { group, index, key, tailTokens } of chunks) {
      if (tailTokens !== null || index < state.offered[group]) continue;
      state.offered[group] = index + 1;
      if (!manager.has(key)) returned.push(key);
    }
    manager.touch(returned);
  }

  /** Keys of what was offered or loaded of a request, its head first; of windows and states, those that are there. */
  #keysPassed({ request, cursors, tails }: RequestState): PrefixKey[] {
    const { manager } = this.tables;
    const chunks = this.#keysOf(
      request,
      (_, index) => [0, cursors[index]],
      (key, { windowChunks }) => windowChunks === null || manager.has(key),
    );
    return tails.length > 0 ? [...chunks, ...tails.filter((key) => manager.has(key))] : chunks;
  }

  /** Keys of the chunks between two places by group, those of earlier tokens first. */
  #keysOf(
    { sequence }: Request,
    between: (group: OffloadGroup, index: number) => readonly [first: number, end: number],
    wanted: (key: PrefixKey, group: OffloadGroup) => boolean = () => true,
  ): PrefixKey[] {
    const { groups } = this.#options;
    const keys: { readonly key: PrefixKey; readonly end: number }[] = [];
    for (const [index, group] of groups.entries()) {
      const [first, end] = between(group, index);
      for (let chunk = first; chunk < end; chunk += 1) {
        const key = chunkKey(sequence, group, chunk);
        if (wanted(key, group)) keys.push({ key, end: (chunk + 1) * group.tokensPerChunk });
      }
    }
    if (groups.length > 1) keys.sort((a, b) => a.end - b.end);
    return keys.map(({ key }) => key);
  }

  #endStore(job: TransferJob): void {
    const { manager, fence } = this.tables;
    manager.completeStore(tailFirst(job.keys), !job.failed);
    if (job.failed) this.#options.chunkEvents?.forget(job.keys);
    fence.remove(job.pages, job.id);
    this.metrics[job.failed ? 'storesFailed' : 'storesCompleted'] += 1;
    if (!job.failed) this.metrics.pagesStored += job.pages.length;
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
    if (!this.#options.offerLoaded) {
      for (const [i, end] of job.endChunks.entries()) owner.cursors[i] = Math.max(owner.cursors[i], end);
    }
    this.metrics.pagesLoaded += job.pages.length;
  }
}

/** The head of a prefix becomes the most recent: without it the rest cannot be reached, so it goes last. */
function tailFirst(keys: readonly PrefixKey[]): PrefixKey[] {
  return [...keys].reverse();
}
