/**
 * A worker without a device: the same step plans over plain arrays. It is the reference for every byte, it runs where
 * there is no WebGPU, and its stores are as late as the plan lets them be: a page is read when its copy is submitted,
 * its slot is written when the acknowledgement is admitted, never before.
 */
import type { CacheConfig, TransferConfig } from '../config.ts';
import { resolveLayout, type CacheLayout } from '../config/layout.ts';
import { ConfigError, DeviceError, invariant } from '../errors.ts';
import type { HostMemory } from '../host-memory.ts';
import type {
  Acknowledgement,
  LoadJob,
  StepOutcome,
  StepPlan,
  Worker,
  WitnessReport,
} from '../schedule/step-plan.ts';
import { checkPlan } from '../transfer/check-plan.ts';
import { StoreQueue, type StoreCopy } from '../transfer/store-queue.ts';
import { type GroupId, type JobId, pageId, type PageId, WORD_BYTES } from '../units.ts';
import type { PageOps } from '../witness/page-ops.ts';
import type { PageShape } from '../witness/page-shape.ts';
import { POISON_WORD } from '../witness/pattern.ts';
import { witnessOps } from '../witness/witness-ops.ts';
import { copyPages, witnessCheck, witnessFill, zeroPages } from './kernels/index.ts';
import type { PageExtent } from './page-extent.ts';

export interface SimulatedWorkerOptions {
  readonly cache: CacheConfig;
  readonly transfer: TransferConfig;
  /** Slots that stores fill and loads read. `null`: plans carry no transfers. */
  readonly host: HostMemory | null;
  readonly witness: boolean;
  /** Which of the configured ranks this worker is. Default: 0. */
  readonly rank?: number;
  /** Part 7 for callers who compute on the pages themselves: called when everything before it is done. */
  readonly forward?: (plan: StepPlan, pool: Uint32Array<ArrayBuffer>) => void;
  /**
   * Whether what is under way may be admitted in this step, instead of by the lag. Asked for the oldest staging buffer, by
   * its first job, and then for the next one; and for each load.
   */
  readonly admits?: (kind: 'stores' | 'loads', job: JobId, step: number) => boolean;
  /** Transfers that fail, for tests. */
  readonly faults?: { store?(job: JobId): boolean; load?(job: JobId): boolean };
}

/** Pages with a mismatch that a report names. */
const REPORTED_PAGES_MAX = 64;

export class SimulatedWorker implements Worker {
  readonly kind = 'simulated';
  private readonly options: SimulatedWorkerOptions;
  private readonly layout: CacheLayout;
  private readonly pageWords: number;
  private readonly pool: Uint32Array<ArrayBuffer>;
  private readonly overflow: Uint32Array<ArrayBuffer>;
  private readonly staging: Uint32Array<ArrayBuffer>[];
  private readonly queue: StoreQueue;
  /** Loads whose bytes are in their pages, not yet acknowledged. */
  private loads: { step: number; acknowledgement: Acknowledgement }[] = [];
  private witness: { mismatches: number; checkedWords: number; pages: { page: PageId; step: number }[] };
  private closed = false;

  constructor(options: SimulatedWorkerOptions) {
    const { cache, transfer } = options;
    this.options = options;
    this.layout = resolveLayout(cache);
    this.pageWords = cache.pageBytes / WORD_BYTES;
    this.queue = new StoreQueue({ ...transfer, pageBytes: cache.pageBytes });
    const allocate = (pages: number, what: string) => allocateWords(pages, this.pageWords, what);
    this.pool = allocate(cache.pages, 'pool');
    this.overflow = allocate(this.queue.overflowPlaces, 'overflow buffer');
    this.staging = Array.from({ length: transfer.stagingBuffers }, () =>
      allocate(this.queue.pagesPerBuffer, 'staging buffer'),
    );
    this.witness = { mismatches: 0, checkedWords: 0, pages: [] };
  }

  get busy(): boolean {
    return this.queue.busy || this.loads.length > 0;
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- so that what is thrown rejects, as on a device
  async execute(plan: StepPlan): Promise<StepOutcome> {
    if (this.closed) throw new DeviceError('the simulated worker is closed; create a new one');
    checkPlan(plan, {
      pages: this.options.cache.pages,
      groups: this.layout.groups.length,
      slots: this.options.host?.slots ?? 0,
    });
    const submission = this.queue.begin(plan);
    for (const copy of submission.copies) this.read(copy);
    for (const { group, pages } of plan.newPageIdsToZero) {
      zeroPages(this.pool, this.extentOf(group), pages, this.fillWord);
    }
    for (const copy of plan.copies) copyPages(this.pool, this.extentOf(copy.group), [copy]);
    for (const load of plan.loads) this.load(load, plan.step);
    this.forward(plan);
    this.queue.end(plan);
    return {
      step: plan.step,
      released: submission.released,
      flushed: submission.flushed,
      overflowedPages: submission.overflowedPages,
      acknowledgements: [...submission.failed, ...this.poll(plan.step)],
    };
  }

  readPage(page: PageId): Promise<Uint8Array<ArrayBuffer>> {
    return Promise.resolve(this.bytesOf(page).slice());
  }

  damagePage(page: PageId, byteOffset: number, bytes: Uint8Array): void {
    if (byteOffset + bytes.length > this.options.cache.pageBytes) {
      throw new ConfigError(
        `${bytes.length} bytes at ${byteOffset} leave page ${page} of ${this.options.cache.pageBytes} bytes; use a smaller range`,
      );
    }
    this.bytesOf(page).set(bytes, byteOffset);
  }

  readWitness(): Promise<WitnessReport> {
    return Promise.resolve({ ...this.witness, pages: [...this.witness.pages] });
  }

  close(): Promise<void> {
    this.closed = true;
    return Promise.resolve();
  }

  private get fillWord(): number {
    return this.options.cache.zeroing === 'poison' ? POISON_WORD : 0;
  }

  private get host(): HostMemory {
    invariant(this.options.host !== null, 'a transfer was planned for a worker without host memory');
    return this.options.host;
  }

  private bytesOf(page: PageId): Uint8Array<ArrayBuffer> {
    const { pageBytes, pages } = this.options.cache;
    invariant(page >= 0 && page < pages, `page ${page} is not in a pool of ${pages}`);
    return new Uint8Array(this.pool.buffer, page * pageBytes, pageBytes);
  }

  private words(store: Uint32Array<ArrayBuffer>, position: number): Uint32Array<ArrayBuffer> {
    const { pageWords } = this;
    return store.subarray(position * pageWords, (position + 1) * pageWords);
  }

  private read(copy: StoreCopy): void {
    if (copy.kind === 'overflow') {
      this.words(this.overflow, copy.place).set(this.words(this.pool, copy.page));
      return;
    }
    const { pages, first, count, overflowPlace, buffer, position } = copy;
    const staging = this.staging[buffer];
    for (let i = 0; i < count; i += 1) {
      const source =
        overflowPlace < 0
          ? this.words(this.pool, pages[first + i])
          : this.words(this.overflow, overflowPlace);
      this.words(staging, position + i).set(source);
    }
  }

  private load({ id, slots, pages }: LoadJob, step: number): void {
    const failed = this.options.faults?.load?.(id) ?? false;
    if (!failed) {
      for (let i = 0; i < pages.length; i += 1) this.bytesOf(pages[i]).set(this.host.view(slots[i]));
    }
    const acknowledgement = failed ? { job: id, ok: false, error: 'made to fail' } : { job: id, ok: true };
    this.loads.push({ step, acknowledgement });
  }

  private forward(plan: StepPlan): void {
    this.options.forward?.(plan, this.pool);
    if (!this.options.witness || plan.forward.length === 0) return;
    const { tokens, groups } = witnessOps(plan.forward, this.layout, this.options.rank ?? 0);
    for (const { shape, before } of groups) this.check(shape, before, tokens, plan.step);
    for (const { shape, fill } of groups) witnessFill(this.pool, shape, fill, tokens);
    for (const { shape, check } of groups) this.check(shape, check, tokens, plan.step);
  }

  private check(shape: PageShape, ops: PageOps, tokens: Uint32Array, step: number): void {
    const found = witnessCheck(this.pool, shape, ops, tokens);
    this.witness.mismatches += found.mismatches;
    this.witness.checkedWords += ops.words;
    const room = REPORTED_PAGES_MAX - this.witness.pages.length;
    for (const page of found.pages.slice(0, room)) this.witness.pages.push({ page: pageId(page), step });
  }

  private extentOf(group: GroupId): PageExtent {
    return { strideWords: this.pageWords, pageWords: this.layout.groups[group].pageBytes / WORD_BYTES };
  }

  /** What is staged or loaded and not acknowledged, in order. For simulations that compare states. */
  get pending(): { readonly job: JobId; readonly kind: 'store' | 'load'; readonly bytes: string }[] {
    const staged = this.queue.batches.flatMap(({ buffer, copies }) =>
      copies.flatMap(({ job, position, count }) =>
        Array.from({ length: count }, (_, i) => ({
          job,
          kind: 'store' as const,
          bytes: this.words(this.staging[buffer], position + i).join(),
        })),
      ),
    );
    const queued = this.queue.waiting.map(({ job, page, overflowPlace }) => ({
      job,
      kind: 'store' as const,
      bytes: overflowPlace < 0 ? `page ${page}` : this.words(this.overflow, overflowPlace).join(),
    }));
    const loads = this.loads.map(({ acknowledgement }) => ({
      job: acknowledgement.job,
      kind: 'load' as const,
      bytes: '',
    }));
    return [...staged, ...queued, ...loads];
  }

  private isDue(kind: 'stores' | 'loads', job: JobId, submitted: number, step: number): boolean {
    const { admits, transfer } = this.options;
    if (admits) return admits(kind, job, step);
    const { acknowledgementLag } = transfer;
    return submitted <= step - (acknowledgementLag === 'as-they-come' ? 1 : acknowledgementLag);
  }

  private poll(step: number): Acknowledgement[] {
    const acknowledgements: Acknowledgement[] = [];
    for (;;) {
      const oldest = this.queue.batches.at(0);
      if (!oldest || !this.isDue('stores', oldest.copies[0].job, oldest.step, step)) break;
      const { copies, buffer } = oldest;
      const failed = copies.some(({ job }) => this.options.faults?.store?.(job) ?? false);
      for (const { job, slots, first, count, position } of copies) {
        if (failed || !this.queue.isLive(job)) continue;
        for (let i = 0; i < count; i += 1) {
          const words = this.words(this.staging[buffer], position + i);
          const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
          this.host.view(slots[first + i]).set(bytes);
        }
      }
      acknowledgements.push(...this.queue.settleOldest(failed ? 'made to fail' : null));
    }
    const waiting: typeof this.loads = [];
    for (const load of this.loads) {
      const { acknowledgement } = load;
      if (this.isDue('loads', acknowledgement.job, load.step, step)) acknowledgements.push(acknowledgement);
      else waiting.push(load);
    }
    this.loads = waiting;
    return acknowledgements;
  }
}

function allocateWords(pages: number, pageWords: number, what: string): Uint32Array<ArrayBuffer> {
  try {
    return new Uint32Array(pages * pageWords);
  } catch (cause) {
    throw new DeviceError(
      `memory for the simulated ${what} refused: ${pages} pages of ${pageWords * WORD_BYTES} bytes; use fewer or smaller pages`,
      { cause },
    );
  }
}
