/**
 * Several ranks as one worker: each carries out the same plans on page buffers, staging and host memory of its own. A
 * transfer is over when every rank has acknowledged it, so its acknowledgement comes once a rank.
 *
 * Each rank releases before it zeroes, as any worker does. What one rank zeroes is never what another one still has to
 * read, so nothing is awaited between them.
 */
import { ConfigError } from './errors.ts';
import type { StepOutcome, StepPlan, Worker, WitnessReport } from './schedule/step-plan.ts';
import type { JobId, PageId } from './units.ts';

export class RankedWorker<W extends Worker = Worker> implements Worker {
  readonly kind: Worker['kind'];
  /** By rank. */
  readonly ranks: readonly W[];
  /** Ranks that have released a store, for those that not all have. */
  private readonly releases = new Map<JobId, number>();
  /** Transfers under way, and the ranks that have acknowledged each. */
  private readonly acknowledged = new Map<JobId, Set<number>>();

  constructor(ranks: readonly W[]) {
    if (ranks.length === 0)
      throw new ConfigError('a worker of 0 ranks has nowhere to keep pages; give one or more');
    this.kind = ranks[0].kind;
    this.ranks = ranks;
  }

  get busy(): boolean {
    return this.ranks.some((rank) => rank.busy);
  }

  /** Every rank does all of its step before the first await, one after the other. */
  async execute(plan: StepPlan): Promise<StepOutcome> {
    for (const { id } of [...plan.stores, ...plan.loads]) this.acknowledged.set(id, new Set());
    const outcomes = await Promise.all(this.ranks.map((rank) => rank.execute(plan)));
    const flushed = new Set(outcomes.flatMap((outcome) => outcome.flushed));
    const released = this.countReleases(outcomes);
    return {
      step: plan.step,
      released,
      flushed: released.filter((job) => flushed.has(job)),
      overflowedPages: outcomes.reduce((sum, { overflowedPages }) => sum + overflowedPages, 0),
      acknowledgements: outcomes.flatMap(({ acknowledgements }, rank) =>
        acknowledgements.filter(({ job }) => this.isFirst(job, rank)),
      ),
    };
  }

  /** From rank 0; the other ranks are in `ranks`. */
  readPage(page: PageId): Promise<Uint8Array<ArrayBuffer>> {
    return this.ranks[0].readPage(page);
  }

  /** On rank 0. */
  damagePage(page: PageId, byteOffset: number, bytes: Uint8Array): void {
    this.ranks[0].damagePage(page, byteOffset, bytes);
  }

  /** The sums over all ranks. */
  async readWitness(): Promise<WitnessReport> {
    const reports = await Promise.all(this.ranks.map((rank) => rank.readWitness()));
    return {
      mismatches: reports.reduce((sum, { mismatches }) => sum + mismatches, 0),
      checkedWords: reports.reduce((sum, { checkedWords }) => sum + checkedWords, 0),
      pages: reports.flatMap(({ pages }) => pages),
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.ranks.map((rank) => rank.close()));
  }

  /** A rank that repeats itself must not speak for another one, whose bytes are not there yet. */
  private isFirst(job: JobId, rank: number): boolean {
    const ranks = this.acknowledged.get(job);
    if (ranks === undefined) return true;
    if (ranks.has(rank)) return false;
    ranks.add(rank);
    if (ranks.size === this.ranks.length) this.acknowledged.delete(job);
    return true;
  }

  /** Stores that the last rank has released now. Those that fail on some rank never are. */
  private countReleases(outcomes: readonly StepOutcome[]): JobId[] {
    const released: JobId[] = [];
    for (const outcome of outcomes) {
      for (const job of outcome.released) {
        const count = (this.releases.get(job) ?? 0) + 1;
        if (count === this.ranks.length) released.push(job);
        this.releases.set(job, count);
      }
    }
    for (const job of released) this.releases.delete(job);
    for (const { acknowledgements } of outcomes)
      for (const { job } of acknowledgements) this.releases.delete(job);
    return released;
  }
}
