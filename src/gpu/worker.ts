/**
 * The worker on a GPU: carries step plans out on the device that the caller brings along. The device stays the
 * caller's; the buffers are the worker's, until `close`.
 */
import type { CacheConfig, TransferConfig } from '../config.ts';
import { ConfigError, DeviceError } from '../errors.ts';
import type { HostMemory } from '../host-memory.ts';
import {
  EMPTY_OUTCOME,
  type Acknowledgement,
  type PageCopy,
  type StepOutcome,
  type StepPlan,
  type WitnessReport,
  type Worker,
} from '../schedule/step-plan.ts';
import { checkPlan } from '../transfer/check-plan.ts';
import type { StoreSubmission } from '../transfer/store-queue.ts';
import { WORD_BYTES, type GroupId, type PageId } from '../units.ts';
import { POISON_WORD } from '../witness/pattern.ts';
import { alignUp, MAP_ALIGNMENT, mappedBytes } from './buffers.ts';
import { BufferUsage, MapMode } from './constants.ts';
import { recordCopies } from './copy.ts';
import { inErrorScopes, type AdapterFacts, type ScopeResult } from './device.ts';
import { macrotask, pause } from '../event-loop.ts';
import type { PageLocation } from './page-buffers.ts';
import type { Strategies } from './strategies.ts';
import type { Tuning } from './tuning.ts';
import { createParts, type WorkerParts } from './worker-parts.ts';
import { recordZero } from './zero.ts';

export interface WebGpuWorkerOptions {
  /** Whatever the caller uses it for besides. Its limits bound what the worker can hold. */
  readonly device: GPUDevice;
  readonly cache: CacheConfig;
  readonly transfer: TransferConfig;
  /** Slots that stores fill and loads read, of `cache.pageBytes` each. `null`: plans carry no transfers. */
  readonly host: HostMemory | null;
  /** Which of the configured ranks this worker is. Default: 0. */
  readonly rank?: number;
  /** Whether plans' forward parts fill pages with the witness pattern and check them. */
  readonly witness: boolean;
  /**
   * Part 7 for callers with kernels of their own: called when everything before it is submitted. Submit to the
   * device's queue here, before returning; `locate` tells where pages are. Not for waiting: what it starts to await
   * is not part of the step.
   */
  readonly forward?: (plan: StepPlan) => void;
  /** Ways of moving bytes that replace the defaults for the adapter. */
  readonly strategies?: Partial<Strategies>;
  /** Ways that were measured on this adapter: see `tune`. `strategies` go before them. */
  readonly tuning?: Tuning | null;
  /** What the defaults go by. Taken from the device where left out. */
  readonly adapter?: AdapterFacts;
  /** Upper bound on the bytes of one buffer of pages, below the device's own. For tests that want many segments. */
  readonly segmentBytesMax?: number;
}

export class WebGpuWorker implements Worker {
  readonly kind = 'webgpu';
  readonly device: GPUDevice;
  /** The ways of moving bytes that are in use. */
  readonly strategies: Strategies;
  /** What they were picked by. Null: by the adapter's name. */
  readonly tuning: Tuning | null;
  private readonly options: WebGpuWorkerOptions;
  private readonly parts: WorkerParts;
  /** Settled, and never rejected, when every step that was given so far has come back. */
  private idle: Promise<unknown> = Promise.resolve();
  private stepsUnderWay = 0;
  /** A refusal by the device, as soon as it is known. */
  private refusal: string | null = null;
  /** Settled once it is known of every step so far whether the device took it. */
  private verdicts: Promise<unknown> = Promise.resolve();
  private closing: Promise<void> | null = null;

  /**
   * Makes all buffers and compiles all kernels. Throws `ConfigError` or `DeviceError` that names what does not fit;
   * nothing is left behind on the device then.
   */
  static async create(options: WebGpuWorkerOptions): Promise<WebGpuWorker> {
    const { cache, host } = options;
    if (host !== null && host.slotBytes !== cache.pageBytes) {
      throw new ConfigError(
        `slots of ${host.slotBytes} bytes cannot hold pages of ${cache.pageBytes} bytes; make them equal`,
      );
    }
    return new WebGpuWorker(options, await createParts(options));
  }

  private constructor(options: WebGpuWorkerOptions, parts: WorkerParts) {
    this.device = options.device;
    this.options = options;
    this.parts = parts;
    this.strategies = parts.strategies;
    this.tuning = options.tuning ?? null;
  }

  get busy(): boolean {
    return (this.parts.stores?.busy ?? false) || (this.parts.loads?.busy ?? false);
  }

  /** Bytes of all live buffers that the worker made. 0 after `close`. */
  get liveBytes(): number {
    return this.parts.ledger.liveBytes;
  }

  /** The same, by label of the buffer. */
  get liveBytesByLabel(): Readonly<Record<string, number>> {
    return this.parts.ledger.liveBytesByLabel;
  }

  /** The buffer that holds a page, and the page's byte offset in it. Throws `ConfigError` for a page that is not there. */
  locate(page: PageId): PageLocation {
    this.checkOpen();
    return this.parts.buffers.locate(page);
  }

  /**
   * See `Worker`. Rejects with `DeviceError` once the device is lost and every transfer has been reported as failed,
   * or once it has refused a step; with `InvariantError`, before anything is done, if the plan cannot be.
   */
  async execute(plan: StepPlan): Promise<StepOutcome> {
    this.checkOpen();
    checkPlan(plan, {
      pages: this.options.cache.pages,
      groups: this.parts.layout.groups.length,
      slots: this.options.host?.slots ?? 0,
    });
    const outcome =
      this.stepsUnderWay === 0 ? this.carryOut(plan) : this.idle.then(() => this.carryOut(plan));
    this.stepsUnderWay += 1;
    const end = () => {
      this.stepsUnderWay -= 1;
    };
    this.idle = outcome.then(end, end);
    return outcome;
  }

  /** One step, from its submission to its end. */
  private async carryOut(plan: StepPlan): Promise<StepOutcome> {
    if (this.refusal !== null) throw new DeviceError(this.refusal);
    const { watch } = this.parts;
    // Transfers that the loss cut short are reported once, with this step's own; from then on steps are refused.
    if (watch.lost !== null) {
      if (!this.busy) watch.check();
      return this.failedOutcome(plan);
    }
    return this.poll(plan, this.submit(plan));
  }

  async readPage(page: PageId): Promise<Uint8Array<ArrayBuffer>> {
    this.checkOpen();
    const { commands, ledger, watch } = this.parts;
    watch.check();
    const { buffer, offset } = this.locate(page);
    const { pageBytes } = this.options.cache;
    const size = alignUp(pageBytes, MAP_ALIGNMENT);
    const readback = ledger.create('page read-back', size, BufferUsage.MAP_READ | BufferUsage.COPY_DST);
    try {
      commands.copy(buffer, offset, readback, 0, pageBytes);
      commands.submit('read a page');
      await watch.guard(readback.mapAsync(MapMode.READ));
      await this.checkSteps();
      return mappedBytes(readback, size).slice(0, pageBytes);
    } catch (error) {
      throw await watch.explain(error);
    } finally {
      ledger.destroy(readback);
    }
  }

  /** See `Worker`. Offset and length must be multiples of 4: the device writes whole words. */
  damagePage(page: PageId, byteOffset: number, bytes: Uint8Array): void {
    this.checkOpen();
    const { pageBytes } = this.options.cache;
    const { buffer, offset } = this.locate(page);
    if (byteOffset < 0 || byteOffset + bytes.length > pageBytes) {
      throw new ConfigError(
        `${bytes.length} bytes at ${byteOffset} leave page ${page} of ${pageBytes} bytes; use a smaller range`,
      );
    }
    if (byteOffset % WORD_BYTES !== 0 || bytes.length % WORD_BYTES !== 0) {
      throw new ConfigError(
        `${bytes.length} bytes at ${byteOffset} are not whole words; read the page, and write multiples of ${WORD_BYTES}`,
      );
    }
    this.device.queue.writeBuffer(buffer, offset + byteOffset, bytes.slice());
  }

  async readWitness(): Promise<WitnessReport> {
    this.checkOpen();
    const { commands, watch, witness } = this.parts;
    watch.check();
    const report = await witness?.readReport(commands);
    await this.checkSteps();
    return report ?? { mismatches: 0, checkedWords: 0, pages: [] };
  }

  close(): Promise<void> {
    this.closing ??= this.finish();
    return this.closing;
  }

  private async finish(): Promise<void> {
    const { ledger, stores, witness, watch } = this.parts;
    await this.idle;
    await stores?.settle();
    await witness?.settle();
    await watch.guard(this.device.queue.onSubmittedWorkDone()).catch(() => undefined);
    ledger.destroyAll();
  }

  private checkOpen(): void {
    if (this.closing !== null) throw new DeviceError('the worker is closed; create a new one');
    if (this.refusal !== null) throw new DeviceError(this.refusal);
  }

  /** What is read after a step that the device refused means nothing. */
  private async checkSteps(): Promise<void> {
    await this.parts.watch.guard(this.verdicts);
    if (this.refusal !== null) throw new DeviceError(this.refusal);
  }

  /** Parts 1 to 8 of a step. Nothing here waits. */
  private submit(plan: StepPlan): StoreSubmission | null {
    const { stores, loads } = this.parts;
    const { value, result } = inErrorScopes(this.device, () => this.record(plan), {
      // Copies into buffers that are there ask for no memory, and a scope costs as much as a small copy.
      allocates: !isIdle(plan),
    });
    const verdict = this.watchForRefusal(plan.step, result);
    this.verdicts = Promise.all([this.verdicts, verdict]).then(() => undefined);
    stores?.submitted(plan.step, result);
    loads?.submitted(plan.loads, plan.step, result);
    stores?.end(plan);
    return value;
  }

  /** Parts 1 to 7. */
  private record(plan: StepPlan): StoreSubmission | null {
    const { layout, commands, buffers, kernels, bounce, stores, loads, witness } = this.parts;
    const { zeroing } = this.options.cache;
    try {
      const submission = stores?.begin(plan, commands) ?? null;
      const fill = zeroing === 'poison' ? POISON_WORD : 0;
      const { zero, copy } = this.strategies;
      for (const { group, pages } of plan.newPageIdsToZero) {
        const bytes = layout.groups[group].pageBytes;
        recordZero(pages, { commands, buffers, kernels, strategy: zero, bytes, fill });
      }
      for (const [group, copies] of byGroup(plan.copies)) {
        const bytes = layout.groups[group].pageBytes;
        recordCopies(copies, { commands, buffers, kernels, strategy: copy, bytes, bounce });
      }
      loads?.issue(plan.loads, commands);
      witness?.record(plan.forward, plan.step, commands);
      commands.submit(`step ${plan.step}`);
      this.options.forward?.(plan);
      return submission;
    } catch (error) {
      // Half a step is worse than none: what it left in queues and rings is in no known state.
      commands.discard();
      this.refusal ??= `step ${plan.step} broke off: ${error instanceof Error ? error.message : String(error)}`;
      throw error;
    }
  }

  private async watchForRefusal(step: number, result: ScopeResult): Promise<void> {
    const error = await result;
    if (error === null || this.parts.watch.lost !== null) return;
    this.refusal ??= `the device refused step ${step}: ${error}`;
  }

  /** Part 9. */
  private async poll(plan: StepPlan, submission: StoreSubmission | null): Promise<StepOutcome> {
    const { stores, loads, watch } = this.parts;
    // A caller who only waits gets a ring that never runs dry: each buffer is filled again before the next is read.
    const idle = isIdle(plan);
    if (this.options.transfer.acknowledgementLag === 'as-they-come') await this.letArrive(idle);
    const acknowledgements: Acknowledgement[] = [
      ...(submission?.failed ?? []),
      ...((await stores?.poll(plan.step, { settledMax: idle ? 1 : Infinity })) ?? []),
      ...((await loads?.poll(plan.step)) ?? []),
    ];
    if (watch.lost !== null) acknowledgements.push(...this.failTransfers(watch.lost));
    return {
      step: plan.step,
      released: submission?.released ?? [],
      flushed: submission?.flushed ?? [],
      overflowedPages: submission?.overflowedPages ?? 0,
      acknowledgements,
    };
  }

  /**
   * Promises of the device settle between tasks: a loop over steps that never yields would wait for them forever. A
   * step that does nothing is one of a caller who waits for transfers: it goes on with the next arrival, or soon, so
   * that the caller neither spins nor is kept from new requests.
   */
  private async letArrive(idle: boolean): Promise<void> {
    const arrival = this.parts.stores?.nextArrival ?? null;
    if (arrival === null && !(this.parts.loads?.busy ?? false)) return;
    if (!idle) await macrotask();
    else await Promise.race([pause(), ...(arrival === null ? [] : [arrival])]);
  }

  private failTransfers(error: string): Acknowledgement[] {
    const { stores, loads } = this.parts;
    return [...(stores?.failAll(error) ?? []), ...(loads?.failAll(error) ?? [])];
  }

  private failedOutcome(plan: StepPlan): StepOutcome {
    const error = this.parts.watch.lost!;
    const own = [...plan.stores, ...plan.loads].map(({ id }) => ({ job: id, ok: false, error }));
    return { ...EMPTY_OUTCOME, step: plan.step, acknowledgements: [...this.failTransfers(error), ...own] };
  }
}

function byGroup(copies: readonly PageCopy[]): Map<GroupId, PageCopy[]> {
  const groups = new Map<GroupId, PageCopy[]>();
  for (const copy of copies) {
    const list = groups.get(copy.group);
    if (list) list.push(copy);
    else groups.set(copy.group, [copy]);
  }
  return groups;
}

function isIdle({ stores, newPageIdsToZero, copies, loads, forward }: StepPlan): boolean {
  const parts: readonly (readonly unknown[])[] = [stores, newPageIdsToZero, copies, loads, forward];
  return parts.every((part) => part.length === 0);
}
