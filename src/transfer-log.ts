/**
 * What transfers did, page by page, from the steps' plans and outcomes alone: which pages a store still has to read,
 * what is in the staging ring, and which bytes came too late. It asks no worker and no device, so a log that is read
 * again gives the same answers.
 */
import type { EngineConfig } from './config.ts';
import { resolveLayout, type CacheLayout } from './config/layout.ts';
import { ConfigError } from './errors.ts';
import type { StepRecord } from './schedule/step-log.ts';
import type { StepPlan, StoreJob } from './schedule/step-plan.ts';
import { StoreQueue, type StoreCopy } from './transfer/store-queue.ts';
import { type JobId, type PageId, type SlotId } from './units.ts';
import { overwrittenPages, rewrittenPages } from './written-pages.ts';

/** One page of a store that is not complete. */
interface StorePage {
  readonly page: PageId;
  readonly slot: SlotId;
  isRead: boolean;
  /** Somebody wrote the page before it was read, or it was suspect already. */
  isSuspect: boolean;
}

/** The staging ring and the queue before it, after the last recorded step. */
export interface StagingView {
  /** Pages that wait for budget or for a free buffer, those in the overflow buffer among them. */
  readonly queuedPages: number;
  /** Places of the overflow buffer, and those in use. */
  readonly overflowPlaces: number;
  readonly overflowPages: number;
  /** Pages that fit into one staging buffer. */
  readonly pagesPerBuffer: number;
  /** Pages in each buffer of the ring; 0: free. */
  readonly buffers: readonly number[];
}

export class TransferLog {
  readonly #lag: number;
  readonly #stagingBuffers: number;
  readonly #layout: CacheLayout;
  /** The same queue that workers use: it decides by counts alone, so it decides the same here. */
  readonly #queue: StoreQueue;
  readonly #pending = new Map<JobId, StorePage[]>();
  readonly #unread = new Map<PageId, JobId[]>();
  readonly #suspectPages = new Set<PageId>();
  readonly #suspectSlots = new Set<SlotId>();
  #lateReads = 0;
  #exposedPages = 0;
  #exposedInLastStep: PageId[] = [];

  /** Throws `ConfigError` unless acknowledgements have a fixed lag: otherwise the log does not determine the ring. */
  constructor(config: Pick<EngineConfig, 'cache' | 'transfer'>) {
    const { transfer, cache } = config;
    if (transfer.acknowledgementLag === 'as-they-come') {
      throw new ConfigError(
        'a transfer log needs acknowledgements at a fixed lag; set transfer.acknowledgementLag to a number',
      );
    }
    this.#lag = transfer.acknowledgementLag;
    this.#stagingBuffers = transfer.stagingBuffers;
    this.#layout = resolveLayout(cache);
    this.#queue = new StoreQueue({ ...transfer, pageBytes: cache.pageBytes });
  }

  /** Pages that a store read after somebody else had written them. */
  get lateReads(): number {
    return this.#lateReads;
  }

  /** Pages that were written while a store still had to read them. With the whole fence there are none. */
  get exposedPages(): number {
    return this.#exposedPages;
  }

  /** Those of them that the last recorded step wrote. */
  get exposedInLastStep(): readonly PageId[] {
    return this.#exposedInLastStep;
  }

  /** Pages that a store still has to read, and which stores those are. */
  get unread(): ReadonlyMap<PageId, readonly JobId[]> {
    return this.#unread;
  }

  /**
   * Slots whose store read its page after it had been written, and pages that were loaded from such slots. Their bytes
   * are not those of their keys, unless the page was written by somebody with the same prompt. All others are right.
   */
  get suspectPages(): ReadonlySet<PageId> {
    return this.#suspectPages;
  }

  get suspectSlots(): ReadonlySet<SlotId> {
    return this.#suspectSlots;
  }

  get staging(): StagingView {
    const { queuedPages, overflowPages } = this.#queue.depth;
    const buffers = new Array<number>(this.#stagingBuffers).fill(0);
    for (const { buffer, pages } of this.#queue.batches) buffers[buffer] = pages;
    const { overflowPlaces, pagesPerBuffer } = this.#queue;
    return { queuedPages, overflowPlaces, overflowPages, pagesPerBuffer, buffers };
  }

  /** Adds one step. Steps must come in order, each once, the first one included. */
  record({ plan, outcome }: StepRecord): void {
    this.#exposedInLastStep = [];
    for (const store of plan.stores) if (store.isLast) this.#open(store);
    const { copies, failed } = this.#queue.begin(plan);
    for (const copy of copies) this.#read(copy);
    // These read nothing any more, and their keys are not published.
    for (const { job } of failed) this.#close(job, false);
    this.#write(plan);
    for (const store of plan.stores) if (!store.isLast) this.#open(store);
    this.#queue.end(plan);
    const lost = new Set(outcome.acknowledgements.filter(({ ok }) => !ok).map(({ job }) => job));
    while (this.#queue.batches[0] && this.#queue.batches[0].step <= plan.step - this.#lag) {
      // A buffer that did not arrive ends every job in it.
      const { copies: staged } = this.#queue.batches[0];
      const failure = staged.some(({ job }) => this.#queue.isLive(job) && lost.has(job));
      this.#queue.settleOldest(failure ? 'the worker says so' : null);
    }
    for (const { job, ok } of outcome.acknowledgements) this.#close(job, ok);
  }

  #open({ id, pages, slots }: StoreJob): void {
    this.#pending.set(
      id,
      pages.map((page, i) => ({ page, slot: slots[i], isRead: false, isSuspect: false })),
    );
    for (const page of pages) this.#unread.set(page, [...(this.#unread.get(page) ?? []), id]);
    for (const slot of slots) this.#suspectSlots.delete(slot);
  }

  #read(copy: StoreCopy): void {
    if (copy.kind === 'overflow') {
      this.#readPage(copy.job, copy.page);
      return;
    }
    // What comes out of the overflow buffer was read when it went in.
    if (copy.overflowPlace >= 0) return;
    const { job, pages, first, count } = copy;
    for (let i = first; i < first + count; i += 1) this.#readPage(job, pages[i]);
  }

  #readPage(job: JobId, page: PageId): void {
    const entry = this.#pending.get(job)?.find((candidate) => candidate.page === page);
    if (!entry) return;
    if (entry.isSuspect) this.#lateReads += 1;
    entry.isRead = true;
    entry.isSuspect ||= this.#suspectPages.has(page);
    this.#forgetReader(page, job);
  }

  #write(plan: StepPlan): void {
    for (const page of rewrittenPages(plan, this.#layout)) {
      for (const job of this.#unread.get(page) ?? []) {
        const entry = this.#pending.get(job)?.find((candidate) => candidate.page === page);
        if (entry === undefined || entry.isSuspect) continue;
        entry.isSuspect = true;
        this.#exposedPages += 1;
        this.#exposedInLastStep.push(page);
      }
    }
    for (const { pages } of plan.newPageIdsToZero) for (const page of pages) this.#suspectPages.delete(page);
    // A page that is computed from its first row on has nothing left of what it held.
    for (const page of overwrittenPages(plan, this.#layout)) this.#suspectPages.delete(page);
    for (const { source, destination } of plan.copies) {
      this.#mark(this.#suspectPages, destination, this.#suspectPages.has(source));
    }
    for (const { pages, slots } of plan.loads) {
      pages.forEach((page, i) => this.#mark(this.#suspectPages, page, this.#suspectSlots.has(slots[i])));
    }
  }

  #close(job: JobId, ok: boolean): void {
    for (const { page, slot, isRead, isSuspect } of this.#pending.get(job) ?? []) {
      if (!isRead) this.#forgetReader(page, job);
      if (ok && isSuspect) this.#suspectSlots.add(slot);
    }
    this.#pending.delete(job);
  }

  #forgetReader(page: PageId, job: JobId): void {
    const readers = (this.#unread.get(page) ?? []).filter((reader) => reader !== job);
    if (readers.length > 0) this.#unread.set(page, readers);
    else this.#unread.delete(page);
  }

  #mark<Id>(set: Set<Id>, id: Id, isIn: boolean): void {
    if (isIn) set.add(id);
    else set.delete(id);
  }
}
