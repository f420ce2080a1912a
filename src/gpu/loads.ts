/** Loads: slots to pages. All are under way when a step's submits are; the acknowledgement follows at the lag. */
import type { TransferConfig } from '../config.ts';
import type { HostMemory } from '../host-memory.ts';
import type { Acknowledgement, LoadJob } from '../schedule/step-plan.ts';
import { slotId, type JobId } from '../units.ts';
import type { BufferLedger } from './buffers.ts';
import type { CommandList } from './commands.ts';
import { BufferUsage } from './constants.ts';
import type { ScopeResult } from './device.ts';
import { ascendingOrder, picked } from './order.ts';
import type { PageBuffers } from './page-buffers.ts';
import { bySegment, type PageKernels } from './page-kernels.ts';
import { forEachPageRun } from './runs.ts';
import type { Strategies } from './strategies.ts';
import { UploadRing } from './upload-ring.ts';

/** Bytes that are packed for one write: more leaves the CPU's caches, and is slower wherever it was measured. */
const PACKED_BYTES = 4 * 2 ** 20;

export interface LoadsOptions {
  readonly ledger: BufferLedger;
  readonly buffers: PageBuffers;
  readonly kernels: PageKernels;
  readonly transfer: TransferConfig;
  readonly strategies: Pick<Strategies, 'load' | 'directWritesMax' | 'directBytesMax' | 'writeBytesMax'>;
  readonly host: HostMemory;
  /** Upper bound on the bytes packed for one write. At least one page is. For tests that want many batches. */
  readonly packedBytesMax?: number;
}

/** Slot `slots[i]` goes to page `pages[i]`. By ascending page. */
interface PageLoads {
  readonly pages: Uint32Array<ArrayBuffer>;
  readonly slots: Uint32Array<ArrayBuffer>;
}

interface PendingLoad {
  readonly step: number;
  readonly job: JobId;
  readonly failure: Promise<string | null>;
  settled: boolean;
}

export class Loads {
  private readonly options: LoadsOptions;
  private readonly placesMax: number;
  private readonly packed: Uint8Array<ArrayBuffer>;
  private readonly staging: GPUBuffer | null;
  private readonly ring: UploadRing | null;
  private pending: PendingLoad[] = [];
  /** Ends when the device is done with all steps so far. Null once it is. */
  private earlierWork: Promise<void> | null = null;

  constructor(options: LoadsOptions) {
    const { ledger, buffers, strategies, packedBytesMax = PACKED_BYTES } = options;
    const { pageBytes, pages, segments } = buffers;
    this.options = options;
    // No more than a segment holds: the staging buffer is bound whole, and so is a segment.
    this.placesMax = Math.max(1, Math.min(Math.floor(packedBytesMax / pageBytes), pages, segments[0].pages));
    const bytes = this.placesMax * pageBytes;
    const usage = BufferUsage.STORAGE | BufferUsage.COPY_SRC | BufferUsage.COPY_DST;
    const packs = strategies.load === 'pack' || strategies.load === 'scatter';
    this.staging = packs ? ledger.create('packed loads', bytes, usage) : null;
    this.ring = strategies.load === 'ring' ? new UploadRing(ledger, buffers) : null;
    this.packed = new Uint8Array(this.staging === null ? 0 : bytes);
  }

  get busy(): boolean {
    return this.pending.length > 0;
  }

  /**
   * Part 6 of a step. `writeBuffer` takes effect before anything that is not yet submitted, so whatever was recorded
   * ahead of a direct write, or reads the staging buffer, is submitted first.
   */
  issue(jobs: readonly LoadJob[], commands: CommandList): void {
    const loads = byPage(jobs);
    const count = loads.pages.length;
    if (count === 0) return;
    const runs = this.runsOnBothSides(loads);
    if (this.writesDirectly(count, runs.length, commands)) this.writeDirectly(loads, runs, commands);
    else if (this.ring !== null) this.writeThroughRing(loads, this.ring, commands);
    else this.writePacked(loads, commands);
  }

  /** After the step's submits. `refused` tells whether the device took them. */
  submitted(jobs: readonly LoadJob[], step: number, refused: ScopeResult): void {
    this.watchWork();
    for (const { id } of jobs) {
      const pending: PendingLoad = { step, job: id, failure: refused, settled: false };
      void refused.then(() => {
        pending.settled = true;
      });
      this.pending.push(pending);
    }
  }

  /** Part 9 of a step: admits the loads that are due, oldest first. */
  async poll(step: number): Promise<Acknowledgement[]> {
    const lag = this.options.transfer.acknowledgementLag;
    const acknowledgements: Acknowledgement[] = [];
    for (;;) {
      const load = this.pending[0];
      if (!load || (lag === 'as-they-come' ? !load.settled || load.step >= step : load.step > step - lag))
        break;
      const error = await load.failure;
      this.pending.shift();
      acknowledgements.push(
        error === null ? { job: load.job, ok: true } : { job: load.job, ok: false, error },
      );
    }
    return acknowledgements;
  }

  /** Ends every load, because the device is gone. */
  failAll(error: string): Acknowledgement[] {
    const acknowledgements = this.pending.map(({ job }) => ({ job, ok: false, error }));
    this.pending = [];
    return acknowledgements;
  }

  private writesDirectly(pages: number, runs: number, commands: CommandList): boolean {
    const { buffers, strategies } = this.options;
    const { load, directWritesMax, directBytesMax } = strategies;
    if (load === 'write') return true;
    const little = pages * buffers.pageBytes <= directBytesMax;
    return runs <= directWritesMax && (little || (this.earlierWork === null && commands.empty));
  }

  /** Asked only where it matters: an answer costs a message to the device and back. */
  private watchWork(): void {
    const { ledger, strategies } = this.options;
    if (strategies.load === 'write' || strategies.directBytesMax === Number.MAX_SAFE_INTEGER) return;
    const work: Promise<void> = ledger.device.queue.onSubmittedWorkDone().then(() => {
      if (this.earlierWork === work) this.earlierWork = null;
    });
    this.earlierWork = work;
  }

  /** `runs`: the first entry of each run of neighbours. */
  private writeDirectly({ pages, slots }: PageLoads, runs: readonly number[], commands: CommandList): void {
    const { buffers, host, ledger, strategies } = this.options;
    const { queue } = ledger.device;
    const { pageBytes } = buffers;
    const pagesMax = Math.max(1, Math.floor(strategies.writeBytesMax / pageBytes));
    commands.submit('before loads');
    let room = pagesMax;
    for (let run = 0; run < runs.length; run += 1) {
      const end = run + 1 < runs.length ? runs[run + 1] : pages.length;
      for (let first = runs[run]; first < end;) {
        const segment = buffers.segmentOf(pages[first]);
        const { bytes, offset } = host.locate(slots[first]);
        const count = Math.min(end - first, room);
        const pageOffset = (pages[first] - segment.firstPage) * pageBytes;
        queue.writeBuffer(segment.buffer, pageOffset, bytes, offset, count * pageBytes);
        first += count;
        room -= count;
        if (room > 0) continue;
        queue.submit([]);
        room = pagesMax;
      }
    }
  }

  private writePacked(loads: PageLoads, commands: CommandList): void {
    const { ledger, buffers } = this.options;
    const { pageBytes } = buffers;
    const count = loads.pages.length;
    for (let start = 0; start < count; start += this.placesMax) {
      const batch = part(loads, start, start + this.placesMax);
      // The batch before this one must have left the staging buffer.
      if (start > 0) commands.submit('loads');
      this.pack(batch, this.packed);
      ledger.device.queue.writeBuffer(this.staging!, 0, this.packed, 0, batch.pages.length * pageBytes);
      if (this.options.strategies.load === 'scatter') this.recordScatter(batch, commands);
      else this.recordSpread(batch, this.staging!, commands);
    }
  }

  /** Whatever finds no mapped buffer is written directly: a step waits for nothing. */
  private writeThroughRing(loads: PageLoads, ring: UploadRing, commands: CommandList): void {
    const places = ring.bufferBytes / this.options.buffers.pageBytes;
    const count = loads.pages.length;
    for (let start = 0; start < count; start += places) {
      const upload = ring.take();
      if (upload === null) {
        const rest = part(loads, start, count);
        this.writeDirectly(rest, this.runsOnBothSides(rest), commands);
        return;
      }
      const batch = part(loads, start, start + places);
      this.pack(batch, upload.bytes);
      upload.buffer.unmap();
      this.recordSpread(batch, upload.buffer, commands);
      commands.submit('loads');
      ring.giveBack(upload.buffer);
    }
  }

  /** The pages of a batch, one after the other. */
  private pack({ slots }: PageLoads, bytes: Uint8Array): void {
    const { host, buffers } = this.options;
    for (let i = 0; i < slots.length;) {
      const length = host.runLength(slots, i);
      bytes.set(host.view(slotId(slots[i]), length), i * buffers.pageBytes);
      i += length;
    }
  }

  private recordScatter({ pages }: PageLoads, commands: CommandList): void {
    const { buffers, kernels } = this.options;
    for (const [segment, which] of bySegment(pages, buffers)) {
      kernels.move(commands, 'scatterPages', [this.staging!, segment.buffer], {
        count: which.length,
        source: (i) => which[i],
        destination: (i) => pages[which[i]] - segment.firstPage,
      });
    }
  }

  private recordSpread({ pages }: PageLoads, source: GPUBuffer, commands: CommandList): void {
    const { buffers } = this.options;
    const { pageBytes, pagesPerSegment } = buffers;
    forEachPageRun(pages, pagesPerSegment, (first, length) => {
      const { buffer, firstPage } = buffers.segmentOf(pages[first]);
      commands.copy(
        source,
        first * pageBytes,
        buffer,
        (pages[first] - firstPage) * pageBytes,
        length * pageBytes,
      );
    });
  }

  /** The first entry of each run of neighbours among pages and slots alike. */
  private runsOnBothSides({ pages, slots }: PageLoads): number[] {
    const { pagesPerSegment } = this.options.buffers;
    const { slotsPerSegment } = this.options.host;
    const runs: number[] = [];
    for (let i = 0; i < pages.length; i += 1) {
      const joins =
        i > 0 &&
        pages[i] === pages[i - 1] + 1 &&
        slots[i] === slots[i - 1] + 1 &&
        pages[i] % pagesPerSegment !== 0 &&
        slots[i] % slotsPerSegment !== 0;
      if (!joins) runs.push(i);
    }
    return runs;
  }
}

function byPage(jobs: readonly LoadJob[]): PageLoads {
  const count = jobs.reduce((sum, { pages }) => sum + pages.length, 0);
  const pages = new Uint32Array(count);
  const slots = new Uint32Array(count);
  let at = 0;
  for (const job of jobs) {
    pages.set(job.pages, at);
    slots.set(job.slots, at);
    at += job.pages.length;
  }
  const order = ascendingOrder(pages);
  return order === null ? { pages, slots } : { pages: picked(pages, order), slots: picked(slots, order) };
}

function part({ pages, slots }: PageLoads, start: number, end: number): PageLoads {
  return { pages: pages.subarray(start, end), slots: slots.subarray(start, end) };
}
