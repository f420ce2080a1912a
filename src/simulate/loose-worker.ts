/** A worker that leaves out what plans rely on: for simulations of what would happen then. */
import type { StepOutcome, StepPlan, Worker, WitnessReport } from '../schedule/step-plan.ts';
import type { PageId } from '../units.ts';

export type Looseness = 'zero after loads' | 'no copies';

export class LooseWorker implements Worker {
  readonly kind: Worker['kind'];
  private readonly worker: Worker;
  private readonly how: Looseness;

  constructor(worker: Worker, how: Looseness) {
    this.kind = worker.kind;
    this.worker = worker;
    this.how = how;
  }

  get busy(): boolean {
    return this.worker.busy;
  }

  execute(plan: StepPlan): Promise<StepOutcome> {
    if (this.how === 'no copies') return this.worker.execute({ ...plan, copies: [] });
    const outcome = this.worker.execute(plan);
    const loaded = new Set(plan.loads.flatMap(({ pages }) => pages));
    for (const { pages } of plan.newPageIdsToZero) {
      for (const page of pages) if (loaded.has(page)) this.worker.damagePage(page, 0, ZERO_WORD);
    }
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
}

/** The first word is enough to tell that a page was zeroed too late. */
const ZERO_WORD = new Uint8Array(4);
