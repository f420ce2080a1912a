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
  type OverflowCopy,
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
import { forEachPageRun, forEachRun } from './runs.ts';
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
    const joins = (i: number) => belongTogether(copies[i], copies[i - 1]);
    forEachRun(copies.length, joins, (first, length) => {
      const group = copies.slice(first, first + length);
      if (!isStaged(group)) {
        this.recordSpills(group as readonly OverflowCopy[], commands);
        return;
      }
      const [{ buffer }] = group;
      if (filling >= 0 && buffer !== filling) {
        commands.submit('stores');
        this.ring.map(filling, filled);
      }
      filling = buffer;
      const { position, count } = group[group.length - 1];
      filled = (position + count) * this.options.buffers.pageBytes;
      if (group[0].overflowPlace >= 0) this.recordUnspills(group, commands);
      else this.recordPages(group, commands);
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
    for (const { job, slots, first, count, position } of batch.copies) {
      if (!this.queue.isLive(job)) continue;
      for (let done = 0; done < count;) {
        // Taken here, behind the await, where the host memory cannot move any more.
        const length = Math.min(host.runLength(slots, first + done), count - done);
        const start = (position + done) * pageBytes;
        host.view(slots[first + done], length).set(bytes.subarray(start, start + length * pageBytes));
        done += length;
      }
    }
    this.ring.release(batch.buffer);
    return this.queue.settleOldest(null);
  }

  /** Pages into consecutive positions of one staging buffer. */
  private recordPages(copies: readonly StageCopy[], commands: CommandList): void {
    const { buffers } = this.options;
    const { pageBytes } = buffers;
    const [{ buffer, position }] = copies;
    const pages = pagesOf(copies);
    const starts: number[] = [];
    forEachPageRun(pages, buffers.pagesPerSegment, (first) => starts.push(first));
    if (this.gathered !== null && starts.length > 1) {
      this.recordGather(pages, this.gathered, commands);
      commands.copy(
        this.gathered,
        0,
        this.ring.buffer(buffer),
        position * pageBytes,
        pages.length * pageBytes,
      );
      return;
    }
    const staging = this.ring.buffer(buffer);
    for (let run = 0; run < starts.length; run += 1) {
      const first = starts[run];
      const end = run + 1 < starts.length ? starts[run + 1] : pages.length;
      const segment = buffers.segmentOf(pages[first]);
      const offset = (pages[first] - segment.firstPage) * pageBytes;
      commands.copy(
        segment.buffer,
        offset,
        staging,
        (position + first) * pageBytes,
        (end - first) * pageBytes,
      );
    }
  }

  private recordGather(pages: Uint32Array, gathered: GPUBuffer, commands: CommandList): void {
    const { buffers, kernels } = this.options;
    for (const [segment, which] of bySegment(pages, buffers)) {
      kernels.move(commands, 'gatherPages', [segment.buffer, gathered], {
        count: which.length,
        source: (i) => pages[which[i]] - segment.firstPage,
        destination: (i) => which[i],
      });
    }
  }

  /** Pages into the overflow buffer. */
  private recordSpills(copies: readonly OverflowCopy[], commands: CommandList): void {
    const { buffers } = this.options;
    const { pageBytes } = buffers;
    for (const { page, place } of copies) {
      const { buffer, offset } = buffers.locate(page);
      commands.copy(buffer, offset, this.overflowBuffer, place * pageBytes, pageBytes);
    }
  }

  /** Places of the overflow buffer, one a copy, into consecutive positions of one staging buffer. */
  private recordUnspills(copies: readonly StageCopy[], commands: CommandList): void {
    const { pageBytes } = this.options.buffers;
    const joins = (i: number) => copies[i].overflowPlace === copies[i - 1].overflowPlace + 1;
    forEachRun(copies.length, joins, (first, length) => {
      const { buffer, overflowPlace, position } = copies[first];
      const staging = this.ring.buffer(buffer);
      const [from, to] = [overflowPlace * pageBytes, position * pageBytes];
      commands.copy(this.overflowBuffer, from, staging, to, length * pageBytes);
    });
  }

  private get overflowBuffer(): GPUBuffer {
    invariant(this.overflow !== null, 'a page was spilled without an overflow buffer');
    return this.overflow;
  }
}

function isStaged(copies: readonly StoreCopy[]): copies is readonly StageCopy[] {
  return copies[0].kind === 'stage';
}

/** Both go from pages, or both from the overflow buffer, into one staging buffer; or both into the overflow buffer. */
function belongTogether(a: StoreCopy, b: StoreCopy): boolean {
  if (a.kind === 'overflow' || b.kind === 'overflow') return a.kind === b.kind;
  return a.buffer === b.buffer && a.overflowPlace >= 0 === b.overflowPlace >= 0;
}

function pagesOf(copies: readonly StageCopy[]): Uint32Array<ArrayBuffer> {
  const { position, count } = copies[copies.length - 1];
  const pages = new Uint32Array(position + count - copies[0].position);
  let at = 0;
  for (const copy of copies) {
    for (let i = 0; i < copy.count; i += 1) pages[at + i] = copy.pages[copy.first + i];
    at += copy.count;
  }
  return pages;
}
