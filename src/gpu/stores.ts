/**
 * Stores: pages to the host. `StoreQueue` says which page is read in which step and into which staging buffer; here
 * the copies are recorded, and the bytes put into their slots once the acknowledgement is admitted.
 */
import type { TransferConfig } from '../config.ts';
import { invariant } from '../errors.ts';
import type { HostMemory } from '../host-memory.ts';
import type { Acknowledgement, StepPlan } from '../schedule/step-plan.ts';
import {
  StoreQueue,
  type StageCopy,
  type StagedBatch,
  type StoreCopy,
  type StoreSubmission,
} from '../transfer/store-queue.ts';
import type { BufferLedger } from './buffers.ts';
import type { CommandList } from './commands.ts';
import { BufferUsage } from './constants.ts';
import type { DeviceWatch, ScopeResult } from './device.ts';
import type { PageBuffers } from './page-buffers.ts';
import { bySegment, type PageKernels } from './page-kernels.ts';
import { forEachRun } from './runs.ts';
import { StagingRing, type Arrival } from './staging.ts';
import type { Strategies } from './strategies.ts';

export interface StoresOptions {
  readonly ledger: BufferLedger;
  readonly watch: DeviceWatch;
  readonly buffers: PageBuffers;
  readonly kernels: PageKernels;
  readonly transfer: TransferConfig;
  readonly strategy: Strategies['store'];
  readonly host: HostMemory;
}

export class Stores {
  private readonly options: StoresOptions;
  private readonly queue: StoreQueue;
  private readonly ring: StagingRing;
  private readonly overflow: GPUBuffer | null;
  /** Where the gather kernel packs pages: a mappable buffer cannot be bound as storage. */
  private readonly gathered: GPUBuffer | null;
  /** The staging buffer that this step's last submit will fill. */
  private unmapped: { buffer: number; bytes: number } | null = null;
  private readonly arrivals = new Map<StagedBatch, Arrival>();

  constructor(options: StoresOptions) {
    const { ledger, watch, buffers, transfer, strategy } = options;
    const { pageBytes } = buffers;
    this.options = options;
    this.queue = new StoreQueue({ ...transfer, pageBytes });
    const stagedBytes = this.queue.pagesPerBuffer * pageBytes;
    this.ring = new StagingRing(ledger, watch, { buffers: transfer.stagingBuffers, bytes: stagedBytes });
    const { overflowPlaces } = this.queue;
    const usage = BufferUsage.COPY_SRC | BufferUsage.COPY_DST;
    this.overflow =
      overflowPlaces === 0 ? null : ledger.create('overflow buffer', overflowPlaces * pageBytes, usage);
    this.gathered =
      strategy === 'copy'
        ? null
        : ledger.create('gathered pages', stagedBytes, BufferUsage.STORAGE | BufferUsage.COPY_SRC);
  }

  get busy(): boolean {
    return this.queue.busy;
  }

  /** Settles when it is known what came of the oldest batch. Null where none is under way. */
  get nextArrival(): Promise<unknown> | null {
    const batch = this.queue.batches[0];
    return (batch && this.arrivals.get(batch)?.failure) ?? null;
  }

  /**
   * Parts 1 to 3 of a step. Records the copies in the order in which the queue gave out buffers and places. A full
   * staging buffer is submitted at once, and asked for: it is then on its way while the next one is being filled.
   */
  begin(plan: StepPlan, commands: CommandList): StoreSubmission {
    const submission = this.queue.begin(plan);
    const { copies } = submission;
    let filling = -1;
    let filled = 0;
    const joins = (i: number) => sameStagingBuffer(copies[i], copies[i - 1]);
    forEachRun(copies.length, joins, (first, length) => {
      const copy = copies[first];
      if (copy.kind === 'stage') {
        if (filling >= 0 && copy.buffer !== filling) {
          commands.submit('stores');
          this.ring.map(filling, filled);
        }
        filling = copy.buffer;
        filled = (copy.position + length) * this.options.buffers.pageBytes;
      }
      this.recordGroup(copies.slice(first, first + length), commands);
    });
    this.unmapped = filling < 0 ? null : { buffer: filling, bytes: filled };
    return submission;
  }

  /** After the step's submits: asks for the last buffer too. `refused` tells whether the device took them. */
  submitted(step: number, refused: ScopeResult): void {
    if (this.unmapped !== null) this.ring.map(this.unmapped.buffer, this.unmapped.bytes);
    this.unmapped = null;
    for (const batch of this.queue.batches) {
      if (batch.step !== step || this.arrivals.has(batch)) continue;
      this.arrivals.set(batch, this.ring.arrival(batch.buffer, refused));
    }
  }

  /** Part 8 of a step. */
  end(plan: StepPlan): void {
    this.queue.end(plan);
  }

  /**
   * Part 9 of a step: admits the batches that are due, oldest first. `settledMax`: how many of them at most where
   * acknowledgements come as they come.
   */
  async poll(step: number, { settledMax = Infinity } = {}): Promise<Acknowledgement[]> {
    const lag = this.options.transfer.acknowledgementLag;
    const acknowledgements: Acknowledgement[] = [];
    for (let admitted = 0; ; admitted += 1) {
      const batch = this.queue.batches[0];
      const arrival = batch && this.arrivals.get(batch);
      if (!batch || !arrival) break;
      const due =
        lag === 'as-they-come' ? arrival.settled && admitted < settledMax : batch.step <= step - lag;
      if (!due) break;
      const failure = await arrival.failure;
      this.arrivals.delete(batch);
      acknowledgements.push(...(failure === null ? await this.land(batch) : this.fail(batch, failure)));
    }
    return acknowledgements;
  }

  /** Ends every transfer, because the device is gone. */
  failAll(failure: string): Acknowledgement[] {
    this.arrivals.clear();
    return this.queue.failAll(failure);
  }

  /** Waits for what is under way, without admitting it. */
  settle(): Promise<void> {
    return this.ring.settle();
  }

  private fail(batch: StagedBatch, failure: string): Acknowledgement[] {
    if (this.options.watch.lost === null) this.ring.replace(batch.buffer);
    return this.queue.settleOldest(failure);
  }

  private async land(batch: StagedBatch): Promise<Acknowledgement[]> {
    const { host, buffers } = this.options;
    const { pageBytes } = buffers;
    let bytes: Uint8Array<ArrayBuffer>;
    try {
      bytes = this.ring.read(batch.buffer);
    } catch (error) {
      const reason = await this.options.watch.explain(error);
      return this.fail(batch, reason instanceof Error ? reason.message : String(reason));
    }
    const copies = batch.copies.filter(({ job }) => this.queue.isLive(job));
    const joins = (i: number) =>
      copies[i].position === copies[i - 1].position + 1 &&
      copies[i].slot === copies[i - 1].slot + 1 &&
      copies[i].slot % host.slotsPerSegment !== 0;
    forEachRun(copies.length, joins, (first, length) => {
      const { position, slot } = copies[first];
      // The view is taken here, behind the await, where the host memory cannot move any more.
      host.view(slot, length).set(bytes.subarray(position * pageBytes, (position + length) * pageBytes));
    });
    this.ring.release(batch.buffer);
    return this.queue.settleOldest(null);
  }

  /** A group is one overflow copy, or stage copies into consecutive positions of one staging buffer. */
  private recordGroup(copies: readonly StoreCopy[], commands: CommandList): void {
    const { pagesPerSegment } = this.options.buffers;
    const joins = (i: number) => {
      const [last, next] = [copies[i - 1], copies[i]];
      if (isSpilled(last) || isSpilled(next)) return spillPlace(next) === spillPlace(last) + 1;
      return next.page === last.page + 1 && next.page % pagesPerSegment !== 0;
    };
    const runs: [number, number][] = [];
    forEachRun(copies.length, joins, (first, length) => runs.push([first, length]));
    if (this.gathered !== null && runs.length > 1 && !copies.some(isSpilled)) {
      this.recordGather(copies as readonly StageCopy[], commands);
      return;
    }
    for (const [first, length] of runs) this.recordCopy(copies[first], length, commands);
  }

  private recordCopy(copy: StoreCopy, length: number, commands: CommandList): void {
    const { buffers } = this.options;
    const { pageBytes } = buffers;
    const page = buffers.locate(copy.page);
    if (copy.kind === 'overflow') {
      commands.copy(
        page.buffer,
        page.offset,
        this.overflowBuffer,
        copy.place * pageBytes,
        length * pageBytes,
      );
      return;
    }
    const spilled = copy.overflowPlace >= 0;
    const source = spilled ? this.overflowBuffer : page.buffer;
    const offset = spilled ? copy.overflowPlace * pageBytes : page.offset;
    commands.copy(
      source,
      offset,
      this.ring.buffer(copy.buffer),
      copy.position * pageBytes,
      length * pageBytes,
    );
  }

  private recordGather(copies: readonly StageCopy[], commands: CommandList): void {
    const { buffers, kernels } = this.options;
    const { pageBytes } = buffers;
    const pages = copies.map(({ page }) => page);
    for (const [segment, which] of bySegment(pages, buffers)) {
      kernels.move(commands, 'gatherPages', [segment.buffer, this.gathered!], {
        count: which.length,
        source: (i) => pages[which[i]] - segment.firstPage,
        destination: (i) => which[i],
      });
    }
    const { buffer, position } = copies[0];
    const staging = this.ring.buffer(buffer);
    commands.copy(this.gathered!, 0, staging, position * pageBytes, copies.length * pageBytes);
  }

  private get overflowBuffer(): GPUBuffer {
    invariant(this.overflow !== null, 'a page was spilled without an overflow buffer');
    return this.overflow;
  }
}

/** Reads the overflow buffer, or writes it. */
function isSpilled(copy: StoreCopy): boolean {
  return copy.kind === 'overflow' || copy.overflowPlace >= 0;
}

function spillPlace(copy: StoreCopy): number {
  return copy.kind === 'overflow' ? NaN : copy.overflowPlace;
}

function sameStagingBuffer(a: StoreCopy, b: StoreCopy): boolean {
  return a.kind === 'stage' && b.kind === 'stage' && a.buffer === b.buffer && isSpilled(a) === isSpilled(b);
}
