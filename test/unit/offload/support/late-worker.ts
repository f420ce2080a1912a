/**
 * A worker whose stores run when the test says so. It follows the order of a step plan; a page is a list of rows and
 * a row is any string, so that a wrong byte shows what it came from.
 */
import type { Acknowledgement, LoadJob, StoreJob } from '../../../../src/schedule/step-plan.ts';
import type { ConnectorMeta } from '../../../../src/schedule/connector-interface.ts';
import type { JobId, PageId, SlotId } from '../../../../src/units.ts';

export type Rows = readonly string[];

interface InFlight {
  readonly job: JobId;
  readonly slots: readonly SlotId[];
  /** What a store read from its pages when it was submitted; null for a load. */
  readonly bytes: readonly Rows[] | null;
}

export interface LatePlan {
  meta: ConnectorMeta;
  zero?: readonly PageId[];
  /** Rows that the forward pass writes. */
  writes?: readonly { page: PageId; row: number; value: string }[];
  /** Called where the forward pass reads. */
  onForward?: () => void;
  /** Queued stores to submit of their own accord. */
  submit?: number;
}

export class LateWorker {
  readonly pages = new Map<PageId, string[]>();
  readonly slots = new Map<SlotId, Rows>();
  readonly flushed: JobId[] = [];
  #queue: StoreJob[] = [];
  #inFlight: InFlight[] = [];
  readonly #rowsPerPage: number;

  constructor(rowsPerPage: number) {
    this.#rowsPerPage = rowsPerPage;
  }

  page(page: PageId): string[] {
    let rows = this.pages.get(page);
    if (rows === undefined) {
      rows = Array<string>(this.#rowsPerPage).fill('never written');
      this.pages.set(page, rows);
    }
    return rows;
  }

  /** Jobs whose acknowledgement can be taken, in the order of submission. */
  get acknowledgeable(): JobId[] {
    return this.#inFlight.map((transfer) => transfer.job);
  }

  get busy(): boolean {
    return this.#queue.length + this.#inFlight.length > 0;
  }

  execute({ meta, zero = [], writes = [], onForward, submit = 0 }: LatePlan): void {
    const flush = new Set(meta.jobsToFlush);
    this.#queue.push(...meta.stores.filter((job) => flush.has(job.id)));
    for (const job of this.#queue.splice(0, submit)) this.#submit(job);
    for (const job of this.#queue.filter((queued) => flush.has(queued.id))) {
      this.#submit(job);
      this.flushed.push(job.id);
    }
    this.#queue = this.#queue.filter((job) => !flush.has(job.id));
    for (const page of zero) this.page(page).fill('0');
    for (const job of meta.loads) this.#load(job);
    onForward?.();
    for (const { page, row, value } of writes) this.page(page)[row] = value;
    this.#queue.push(...meta.stores.filter((job) => !flush.has(job.id)));
  }

  /** The transfer ends now. A failed one moves nothing to the host, and leaves rubbish on the device. */
  acknowledge(job: JobId, ok = true): Acknowledgement {
    const index = this.#inFlight.findIndex((transfer) => transfer.job === job);
    if (index < 0) throw new Error(`job ${job} has not been submitted`);
    const [transfer] = this.#inFlight.splice(index, 1);
    for (const [i, slot] of transfer.slots.entries()) {
      if (transfer.bytes !== null) this.slots.set(slot, ok ? transfer.bytes[i] : ['half']);
    }
    return ok ? { job, ok } : { job, ok, error: 'failed by the test' };
  }

  /** Ends every transfer that was submitted. */
  acknowledgeAll(): Acknowledgement[] {
    return this.acknowledgeable.map((job) => this.acknowledge(job));
  }

  #submit(job: StoreJob): void {
    const bytes = job.pages.map((page) => [...this.page(page)]);
    this.#inFlight.push({ job: job.id, slots: job.slots, bytes });
  }

  #load(job: LoadJob): void {
    for (const [i, page] of job.pages.entries()) {
      const rows = this.slots.get(job.slots[i]) ?? Array<string>(this.#rowsPerPage).fill('empty slot');
      this.pages.set(page, [...rows]);
    }
    this.#inFlight.push({ job: job.id, slots: job.slots, bytes: null });
  }
}
