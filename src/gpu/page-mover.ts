/** A worker on a pool of its own that moves given pages, one operation at a time, and says how long each took. */
import { cacheConfigSchema, transferConfigSchema, type TransferConfig } from '../config.ts';
import { HostMemory } from '../host-memory.ts';
import type { PageCopy, StepPlan } from '../schedule/step-plan.ts';
import { groupId, jobId, slotId, type PageId } from '../units.ts';
import type { Strategies } from './strategies.ts';
import { WebGpuWorker } from './worker.ts';

export interface PageMoverOptions {
  /** Pages of the pool, the null page included. */
  readonly pages: number;
  readonly pageBytes: number;
  /** What is left out is as the adapter's name suggests. */
  readonly ways?: Partial<Strategies>;
  /** Staging: 4 buffers of 4 MiB where left out. */
  readonly transfer?: Partial<Pick<TransferConfig, 'stagingBuffers' | 'stagingBytes'>>;
  /** As many slots as the largest list has pages; for `storeAndLoad` the sum of both. Its own where left out. */
  readonly host?: HostMemory;
}

export class PageMover {
  readonly worker: WebGpuWorker;
  private readonly device: GPUDevice;
  private step = 0;

  private constructor(device: GPUDevice, worker: WebGpuWorker) {
    this.device = device;
    this.worker = worker;
  }

  /** Throws as `WebGpuWorker.create` does. */
  static async create(device: GPUDevice, options: PageMoverOptions): Promise<PageMover> {
    const { pages, pageBytes, ways } = options;
    const worker = await WebGpuWorker.create({
      device,
      cache: cacheConfigSchema.parse({ pages, pageBytes, tokensPerPage: 1, zeroing: 'always' }),
      transfer: transferConfigSchema.parse({
        ...options.transfer,
        storeBytesPerStep: Number.MAX_SAFE_INTEGER,
        overflowBytes: 0,
        acknowledgementLag: 'as-they-come',
      }),
      host: options.host ?? new HostMemory({ slots: pages, slotBytes: pageBytes }),
      witness: false,
      strategies: ways,
    });
    return new PageMover(device, worker);
  }

  /** Milliseconds until the device has zeroed the pages. */
  zero(pages: readonly PageId[]): Promise<number> {
    return this.onDevice({ newPageIdsToZero: [{ group: groupId(0), pages }] });
  }

  /** Milliseconds until the device has copied each page onto its destination. */
  copy(pairs: readonly Omit<PageCopy, 'group'>[]): Promise<number> {
    return this.onDevice({ copies: pairs.map((pair) => ({ group: groupId(0), ...pair })) });
  }

  /** Milliseconds until the pages are in the first slots. */
  store(pages: readonly PageId[]): Promise<number> {
    return this.untilIdle({ stores: [transfer(this.step, pages, 0)] });
  }

  /** Milliseconds until the device holds the first slots in the pages. */
  load(pages: readonly PageId[]): Promise<number> {
    return this.onDevice({ loads: [transfer(this.step, pages, 0)] });
  }

  /** Milliseconds until both are there: `stored` in the first slots, the slots behind them in `loaded`. */
  async storeAndLoad(stored: readonly PageId[], loaded: readonly PageId[]): Promise<number> {
    const begun = performance.now();
    const loads = [{ ...transfer(this.step, loaded, stored.length), id: jobId(2 * this.step + 1) }];
    await this.untilIdle({ stores: [transfer(this.step, stored, 0)], loads });
    await this.device.queue.onSubmittedWorkDone();
    return performance.now() - begun;
  }

  /**
   * Milliseconds on the CPU until the pages may be overwritten: what reads them is submitted by then, ahead of anything
   * that may write them. Returns when they are in the first slots.
   */
  async release(pages: readonly PageId[]): Promise<number> {
    const begun = performance.now();
    const submitted = this.worker.execute(this.plan({ stores: [transfer(this.step, pages, 0)] }));
    const milliseconds = performance.now() - begun;
    await submitted;
    while (this.worker.busy) await this.worker.execute(this.plan({}));
    return milliseconds;
  }

  close(): Promise<void> {
    return this.worker.close();
  }

  private async onDevice(parts: Partial<StepPlan>): Promise<number> {
    const begun = performance.now();
    await this.worker.execute(this.plan(parts));
    await this.device.queue.onSubmittedWorkDone();
    const milliseconds = performance.now() - begun;
    while (this.worker.busy) await this.worker.execute(this.plan({}));
    return milliseconds;
  }

  private async untilIdle(parts: Partial<StepPlan>): Promise<number> {
    const begun = performance.now();
    await this.worker.execute(this.plan(parts));
    while (this.worker.busy) await this.worker.execute(this.plan({}));
    return performance.now() - begun;
  }

  private plan(parts: Partial<StepPlan>): StepPlan {
    const step = this.step;
    this.step += 1;
    const nothing = {
      stores: [],
      jobsToFlush: [],
      newPageIdsToZero: [],
      copies: [],
      loads: [],
      forward: [],
    };
    return { step, ...nothing, ...parts };
  }
}

/** Each step has numbers for two jobs. */
function transfer(step: number, pages: readonly PageId[], firstSlot: number): StepPlan['stores'][number] {
  return { id: jobId(2 * step), pages, slots: pages.map((_, i) => slotId(firstSlot + i)) };
}
