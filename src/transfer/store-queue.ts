/**
 * The order, pace and fate of stores: which page copy is submitted in which step, into which staging buffer, and
 * which job that releases or fails. Pure counts, so that a run is the same on every worker and every machine.
 *
 * One page of one store job, from queue to slot (a job's pages move in spans, as many at once as there is room for):
 *
 *   queued ──budget, ring──▶ staged in buffer b ──acknowledgement of b admitted──▶ in its slot
 *      └──flush, ring full──▶ overflow place ──ring──▶ staged in buffer b ──────────▶ in its slot
 *      └──flush, overflow full──▶ the whole job fails
 *
 * A job is *released* when none of its pages is still waiting to be read from its page: from then on the pages may be
 * written. It is *complete* when all of them are in their slots.
 */
import type { TransferConfig } from '../config.ts';
import { invariant } from '../errors.ts';
import type { Acknowledgement, StepPlan, StoreJob } from '../schedule/step-plan.ts';
import type { JobId, PageId, SlotId } from '../units.ts';

/**
 * Copy pages `first` to `first + count - 1` of a job's lists into staging buffer `buffer`, one after the other, from
 * its `position`-th page on.
 */
export interface StageCopy {
  readonly kind: 'stage';
  readonly job: JobId;
  /** The job's own lists. Page `pages[i]` goes to slot `slots[i]`. */
  readonly pages: readonly PageId[];
  readonly slots: readonly SlotId[];
  readonly first: number;
  readonly count: number;
  /** Where the bytes are: -1 in the pages themselves, else, of one page, this place of the overflow buffer. */
  readonly overflowPlace: number;
  readonly buffer: number;
  readonly position: number;
}

/** Copy a page into place `place` of the overflow buffer. */
export interface OverflowCopy {
  readonly kind: 'overflow';
  readonly job: JobId;
  readonly page: PageId;
  readonly place: number;
}

export type StoreCopy = StageCopy | OverflowCopy;

/** What one step submits, in this order, and what follows from it. */
export interface StoreSubmission {
  readonly copies: readonly StoreCopy[];
  readonly released: readonly JobId[];
  readonly flushed: readonly JobId[];
  readonly overflowedPages: number;
  /** Flushed jobs that found no room; report them with this step's acknowledgements. */
  readonly failed: readonly Acknowledgement[];
}

/** A staging buffer under way: what is in it, and since which step. */
export interface StagedBatch {
  readonly step: number;
  readonly buffer: number;
  readonly copies: readonly StageCopy[];
  /** Pages in it. */
  readonly pages: number;
}

interface OpenBatch extends StagedBatch {
  readonly copies: StageCopy[];
  pages: number;
}

/** Pages `next` to `end - 1` of a job's lists wait. */
interface QueuedSpan {
  readonly job: JobState;
  next: number;
  readonly end: number;
  /** -1: in the pages themselves. Else the span is one page, and here it is. */
  readonly overflowPlace: number;
}

interface JobState {
  readonly id: JobId;
  readonly pages: readonly PageId[];
  readonly slots: readonly SlotId[];
  /** Pages that still have to be read from the page itself. 0: released. */
  unreleased: number;
  /** Pages not yet in their slots. 0: complete. */
  outstanding: number;
}

export interface StoreQueueOptions extends Pick<
  TransferConfig,
  'storeBytesPerStep' | 'stagingBuffers' | 'stagingBytes' | 'overflowBytes'
> {
  readonly pageBytes: number;
}

export class StoreQueue {
  readonly pagesPerBuffer: number;
  readonly overflowPlaces: number;
  private readonly pagesPerStep: number;
  private queue: QueuedSpan[] = [];
  private readonly jobs = new Map<JobId, JobState>();
  private readonly freeBuffers: number[];
  private readonly freePlaces: number[];
  private inFlight: OpenBatch[] = [];

  constructor(options: StoreQueueOptions) {
    const { pageBytes, stagingBytes, stagingBuffers, overflowBytes, storeBytesPerStep } = options;
    this.pagesPerBuffer = Math.floor(stagingBytes / pageBytes);
    invariant(
      this.pagesPerBuffer > 0,
      `a staging buffer of ${stagingBytes} bytes holds no page of ${pageBytes} bytes`,
    );
    this.overflowPlaces = Math.floor(overflowBytes / pageBytes);
    // A budget below one page would never store anything.
    this.pagesPerStep = Math.max(1, Math.floor(storeBytesPerStep / pageBytes));
    this.freeBuffers = descending(stagingBuffers);
    this.freePlaces = descending(this.overflowPlaces);
  }

  /** True while a store is queued or staged. */
  get busy(): boolean {
    return this.jobs.size > 0 || this.inFlight.length > 0;
  }

  /** Pages that wait for budget or a staging buffer, and those of them that sit in the overflow buffer. */
  get depth(): { queuedPages: number; overflowPages: number; freeBuffers: number } {
    return {
      queuedPages: this.queue.reduce((sum, { next, end }) => sum + end - next, 0),
      overflowPages: this.overflowPlaces - this.freePlaces.length,
      freeBuffers: this.freeBuffers.length,
    };
  }

  /** Pages that are not staged yet, in their order. */
  get waiting(): { readonly job: JobId; readonly page: PageId; readonly overflowPlace: number }[] {
    return this.queue.flatMap(({ job, next, end, overflowPlace }) =>
      job.pages.slice(next, end).map((page) => ({ job: job.id, page, overflowPlace })),
    );
  }

  /** Staged batches, oldest first. */
  get batches(): readonly StagedBatch[] {
    return this.inFlight;
  }

  /** False once a job has failed: what is staged of it is not to land in slots that are no longer its own. */
  isLive(job: JobId): boolean {
    return this.jobs.has(job);
  }

  /** Parts 1 to 3 of a step: everything that must be read before the step writes. */
  begin(plan: Pick<StepPlan, 'step' | 'stores' | 'jobsToFlush'>): StoreSubmission {
    const flush = new Set(plan.jobsToFlush);
    for (const store of plan.stores) if (flush.has(store.id)) this.enqueue(store);
    const submission = new Submission(plan.step);
    this.submitInOrder(submission);
    if (flush.size > 0) this.release(flush, submission);
    return submission;
  }

  /** Part 8 of a step: queue the stores whose bytes this step's forward pass produced. */
  end(plan: Pick<StepPlan, 'stores' | 'jobsToFlush'>): void {
    const flush = new Set(plan.jobsToFlush);
    for (const store of plan.stores) if (!flush.has(store.id)) this.enqueue(store);
  }

  /**
   * The oldest batch has arrived (`failure` null: its bytes are in their slots) or never will. Its buffer goes back
   * to the ring unless `recycle` is false. Returns the jobs that this ends.
   */
  settleOldest(failure: string | null, options: { recycle?: boolean } = {}): Acknowledgement[] {
    const batch = this.inFlight.shift();
    invariant(batch !== undefined, 'no staged batch to settle');
    if (options.recycle ?? true) this.freeBuffers.push(batch.buffer);
    const acknowledgements: Acknowledgement[] = [];
    for (const copy of batch.copies) {
      const job = this.jobs.get(copy.job);
      if (!job) continue; // failed before
      if (failure !== null) {
        // What is left of the job need not be read any more: its pages are free to be written.
        this.abandon(job);
        acknowledgements.push(failed(job.id, failure));
        continue;
      }
      job.outstanding -= copy.count;
      if (job.outstanding > 0) continue;
      this.jobs.delete(job.id);
      acknowledgements.push({ job: job.id, ok: true });
    }
    return acknowledgements;
  }

  /** The device is gone: nothing queued will ever be read. Returns every job that is not yet acknowledged. */
  failAll(failure: string): Acknowledgement[] {
    const acknowledgements = [...this.jobs.keys()].map((id) => failed(id, failure));
    this.jobs.clear();
    this.queue = [];
    this.inFlight = [];
    return acknowledgements;
  }

  private enqueue(store: StoreJob): void {
    const { id, pages, slots } = store;
    invariant(!this.jobs.has(id), `store job ${id} is queued twice`);
    invariant(
      pages.length === slots.length,
      `store job ${id} has ${pages.length} pages for ${slots.length} slots`,
    );
    if (pages.length === 0) return;
    const { length } = pages;
    const job: JobState = { id, pages, slots, unreleased: length, outstanding: length };
    this.jobs.set(id, job);
    this.queue.push({ job, next: 0, end: length, overflowPlace: -1 });
  }

  private submitInOrder(submission: Submission): void {
    let budget = this.pagesPerStep;
    let done = 0;
    while (done < this.queue.length && budget > 0) {
      const span = this.queue[done];
      budget -= this.stage(span, budget, submission);
      if (span.next < span.end) break;
      done += 1;
    }
    if (done > 0) this.queue = this.queue.slice(done);
  }

  private release(flush: ReadonlySet<JobId>, submission: Submission): void {
    const kept: QueuedSpan[] = [];
    const named = new Set<JobState>();
    const short = new Set<JobState>();
    for (const span of this.queue) {
      const { job } = span;
      if (!flush.has(job.id) || span.overflowPlace >= 0) {
        kept.push(span);
        continue;
      }
      named.add(job);
      if (short.has(job)) continue;
      this.stage(span, Infinity, submission);
      for (; span.next < span.end; span.next += 1) {
        const spilled = this.spill(span, submission);
        if (spilled === null) {
          short.add(job);
          break;
        }
        kept.push(spilled);
      }
    }
    this.queue = kept;
    for (const job of named) {
      if (!short.has(job)) {
        submission.flushed.push(job.id);
        continue;
      }
      this.abandon(job);
      submission.failed.push(
        failed(job.id, 'the staging ring and the overflow buffer were full when its page was claimed'),
      );
    }
  }

  /**
   * Reads up to `most` pages of a span into the current staging buffer and into fresh ones. Returns how many: fewer
   * when the ring is full.
   */
  private stage(span: QueuedSpan, most: number, submission: Submission): number {
    const { job, overflowPlace } = span;
    const begin = span.next;
    const end = Math.min(span.end, begin + most);
    while (span.next < end) {
      const batch = this.openBatch(submission);
      if (batch === null) break;
      const first = span.next;
      const count = Math.min(end - first, this.pagesPerBuffer - batch.pages);
      const { id, pages, slots } = job;
      const { buffer, pages: position } = batch;
      const copy: StageCopy = {
        kind: 'stage',
        job: id,
        pages,
        slots,
        first,
        count,
        overflowPlace,
        buffer,
        position,
      };
      batch.copies.push(copy);
      batch.pages += count;
      submission.copies.push(copy);
      span.next += count;
      // The queue runs in order: whoever fills the place next does so after this copy has read it.
      if (overflowPlace >= 0) this.freePlaces.push(overflowPlace);
      else this.countReleased(job, count, submission);
    }
    return span.next - begin;
  }

  /** The staging buffer that this step is filling, or a fresh one. Null where the ring is full. */
  private openBatch(submission: Submission): OpenBatch | null {
    const { batch } = submission;
    if (batch !== null && batch.pages < this.pagesPerBuffer) return batch;
    const buffer = this.freeBuffers.pop();
    if (buffer === undefined) return null;
    submission.batch = { step: submission.step, buffer, copies: [], pages: 0 };
    this.inFlight.push(submission.batch);
    return submission.batch;
  }

  /** Moves the next page of a span into the overflow buffer. Null where that is full. */
  private spill({ job, next }: QueuedSpan, submission: Submission): QueuedSpan | null {
    const place = this.freePlaces.pop();
    if (place === undefined) return null;
    submission.copies.push({ kind: 'overflow', job: job.id, page: job.pages[next], place });
    submission.overflowedPages += 1;
    this.countReleased(job, 1, submission);
    return { job, next, end: next + 1, overflowPlace: place };
  }

  private countReleased(job: JobState, pages: number, submission: Submission): void {
    job.unreleased -= pages;
    if (job.unreleased === 0) submission.released.push(job.id);
  }

  /** Forgets a failed job: its overflow places come back, what is staged of it is dropped when it arrives. */
  private abandon(job: JobState): void {
    this.queue = this.queue.filter((entry) => {
      if (entry.job !== job) return true;
      if (entry.overflowPlace >= 0) this.freePlaces.push(entry.overflowPlace);
      return false;
    });
    this.jobs.delete(job.id);
  }
}

class Submission implements StoreSubmission {
  readonly step: number;
  readonly copies: StoreCopy[] = [];
  readonly released: JobId[] = [];
  readonly flushed: JobId[] = [];
  readonly failed: Acknowledgement[] = [];
  overflowedPages = 0;
  batch: OpenBatch | null = null;

  constructor(step: number) {
    this.step = step;
  }
}

function failed(job: JobId, error: string): Acknowledgement {
  return { job, ok: false, error };
}

/** count - 1, ..., 1, 0: popped from the end, so that 0 is handed out first. */
function descending(count: number): number[] {
  return Array.from({ length: count }, (_, i) => count - 1 - i);
}
