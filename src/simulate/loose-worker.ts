/** A worker that leaves out what plans rely on: for simulations of what would happen then. */
import type { PageId } from '../units.ts';
import type { StepOutcome, StepPlan, Worker, WitnessReport } from '../schedule/step-plan.ts';

/** `loads overtake`: what a step writes to a page that the next one loads comes after the load, not before it. */
export type Looseness = 'zero after loads' | 'no copies' | 'loads overtake';

export class LooseWorker implements Worker {
  readonly kind: Worker['kind'];
  private readonly worker: Worker;
  private readonly how: Looseness;
  /** Whether the step before the one that is being given has not come back. */
  private readonly isOverlapping: () => boolean;
  /** Pages that the forward pass of the last step used. */
  private used: ReadonlySet<PageId> = new Set();
  private last: Promise<unknown> = Promise.resolve();

  constructor(worker: Worker, how: Looseness, isOverlapping: () => boolean) {
    this.kind = worker.kind;
    this.worker = worker;
    this.how = how;
    this.isOverlapping = isOverlapping;
  }

  get busy(): boolean {
    return this.worker.busy;
  }

  execute(plan: StepPlan): Promise<StepOutcome> {
    if (this.how === 'no copies') return this.worker.execute({ ...plan, copies: [] });
    if (this.how === 'zero after loads') return this.zeroLate(plan);
    // As any worker, it begins at once where nothing is under way.
    const { used } = this;
    const outcome = this.isOverlapping()
      ? this.last.then(() => this.loadEarly(plan, used))
      : this.worker.execute(plan);
    this.last = outcome.catch(() => undefined);
    this.used = new Set(plan.forward.flatMap(({ tables }) => tables.flat()));
    return outcome;
  }

  readPage(page: PageId): Promise<Uint8Array<ArrayBuffer>> {
    return this.worker.readPage(page);
  }

  damagePage(page: PageId, byteOffset: number, bytes: Uint8Array): void {
    this.worker.damagePage(page, byteOffset, bytes);
  }

  readWitness(): Promise<WitnessReport> {
    return this.worker.readWitness();
  }

  close(): Promise<void> {
    return this.worker.close();
  }

  private zeroLate(plan: StepPlan): Promise<StepOutcome> {
    const outcome = this.worker.execute(plan);
    const loaded = new Set(plan.loads.flatMap(({ pages }) => pages));
    for (const { pages } of plan.newPageIdsToZero) {
      for (const page of pages) if (loaded.has(page)) this.worker.damagePage(page, 0, ZERO_WORD);
    }
    return outcome;
  }

  private async loadEarly(plan: StepPlan, used: ReadonlySet<PageId>): Promise<StepOutcome> {
    const overtaken = plan.loads.flatMap(({ pages }) => pages).filter((page) => used.has(page));
    const written = await Promise.all(overtaken.map((page) => this.worker.readPage(page)));
    const outcome = await this.worker.execute(plan);
    for (const [i, page] of overtaken.entries()) this.worker.damagePage(page, 0, written[i]);
    return outcome;
  }
}

/** The first word is enough to tell that a page was zeroed too late. */
const ZERO_WORD = new Uint8Array(4);
