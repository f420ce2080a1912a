/** The life of each transfer of a recorded run: decided, released, complete. Steps are counted from the first recorded. */
import type { JobId, PageId, RequestId, SlotId } from '../units.ts';
import type { Delta } from './delta.ts';

export interface JobSpan {
  readonly job: JobId;
  readonly kind: 'store' | 'load';
  readonly request: RequestId | null;
  readonly pages: readonly PageId[];
  readonly slots: readonly SlotId[];
  /** The step whose plan had it first. */
  readonly decided: number;
  /** The step in which its last copy was submitted: its pages may be written from here on. Null: not yet, or a load. */
  readonly released: number | null;
  /** Whether a flush forced it out. */
  readonly flushed: boolean;
  /** The step in which it ended; null: not yet. */
  readonly complete: number | null;
  /** False for one that failed or was given up. */
  readonly ok: boolean;
}

export class JobSpans {
  private readonly spans: JobSpan[] = [];
  private readonly indexOf = new Map<JobId, number>();

  /** In the order in which they were decided. */
  get all(): readonly JobSpan[] {
    return this.spans;
  }

  of(job: JobId): JobSpan | null {
    const index = this.indexOf.get(job);
    return index === undefined ? null : this.spans[index];
  }

  add(step: number, { step: { plan, outcome }, ended = [] }: Delta): void {
    const open = { decided: step, released: null, flushed: false, complete: null, ok: true } as const;
    for (const { id, request, pages, slots } of plan.stores) {
      this.put({ job: id, kind: 'store', request, pages, slots, ...open });
    }
    for (const { id, request, pages, slots } of plan.loads) {
      this.put({ job: id, kind: 'load', request, pages, slots, ...open });
    }
    const flushed = new Set(outcome.flushed);
    for (const job of outcome.released) this.change(job, { released: step, flushed: flushed.has(job) });
    for (const { job, ok } of outcome.acknowledgements) this.change(job, { complete: step, ok });
    // Given up without an acknowledgement, as when everything is reset.
    for (const job of ended)
      if (this.of(job)?.complete === null) this.change(job, { complete: step, ok: false });
  }

  private put(span: JobSpan): void {
    this.indexOf.set(span.job, this.spans.push(span) - 1);
  }

  private change(job: JobId, change: Partial<JobSpan>): void {
    const index = this.indexOf.get(job);
    if (index !== undefined) this.spans[index] = { ...this.spans[index], ...change };
  }
}
