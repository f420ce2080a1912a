/**
 * Measures how fast pages move on a device: every way to zero, copy, store and load them, at several sizes, beside what
 * the machine can do at best.
 */
import { ConfigError } from '../errors.ts';
import { adapterFacts, DeviceWatch } from '../gpu/device.ts';
import { suggestedTransfer } from '../gpu/strategies.ts';
import type { TunedOperation } from '../gpu/tuning.ts';
import type { AcquiredAdapter } from '../runtime/adapter.ts';
import { agentName } from '../runtime/agent.ts';
import { formatBytes, WORD_BYTES } from '../units.ts';
import type { Pace } from './interleave.ts';
import { measureLimits, type MachineLimit } from './limits.ts';
import { benchList, type ListBenchResult } from './list-bench.ts';
import { LIST_KINDS } from './page-lists.ts';
import { LIMIT_OF, OPERATIONS, type BandwidthResult } from './result.ts';

export interface BandwidthProgress {
  /** Lists of pages that were moved in every way; the limits before them count as one. */
  readonly done: number;
  readonly total: number;
  /** What is there so far. */
  readonly result: BandwidthResult;
}

export interface BandwidthOptions {
  /** Gives an adapter that no device was asked of yet. */
  readonly acquire: () => Promise<AcquiredAdapter>;
  /** Bytes of a page, each a multiple of 4. Default: `PAGE_SIZES`. */
  readonly pageSizes?: readonly number[];
  /** Bytes that each run moves. Default: 64 MiB. The device holds eight to nine times as much. */
  readonly bytes?: number;
  /** Runs of each way. Default: 11. */
  readonly runs?: number;
  /** Milliseconds after which a slow way sits out, three runs at least. Default: 300. */
  readonly budgetMs?: number;
  /** Called after each list. What it returns is waited for, so that a page can draw. */
  readonly onProgress?: (progress: BandwidthProgress) => void | Promise<void>;
  /** Ends it after the run at hand: the result covers the lists that are done. */
  readonly signal?: AbortSignal;
}

/** Bytes: 4 KiB to 4 MiB. */
export const PAGE_SIZES: readonly number[] = [12, 14, 16, 18, 20, 22].map((power) => 2 ** power);
export const MOVED_BYTES = 64 * 2 ** 20;
export const RUNS = 11;
const BUDGET_MS = 300;
/** What every device offers. */
const DEFAULT_BUFFER_BYTES = 2 ** 28;

/**
 * Measures on a device of its own, which is destroyed at the end.
 *
 * @throws ConfigError for sizes that cannot be, before anything is done.
 * @throws DeviceError where there is no adapter, or the device refuses the memory or is lost.
 */
export async function measureBandwidth(options: BandwidthOptions): Promise<BandwidthResult> {
  const { bytes = MOVED_BYTES, pageSizes = PAGE_SIZES } = options;
  for (const pageBytes of pageSizes) requirePages(pageBytes, bytes);
  const acquired = await options.acquire();
  const device = await requestDevice(acquired.adapter, 3 * bytes);
  try {
    return await new DeviceWatch(device).guard(run(device, acquired, options));
  } finally {
    device.destroy();
  }
}

function requirePages(pageBytes: number, bytes: number): void {
  if (!Number.isSafeInteger(pageBytes) || pageBytes <= 0 || pageBytes % WORD_BYTES !== 0) {
    throw new ConfigError(
      `a page of ${pageBytes} bytes is not a positive multiple of ${WORD_BYTES}, the unit of WebGPU copies; pad it`,
    );
  }
  if (!Number.isSafeInteger(bytes) || pageBytes > bytes) {
    throw new ConfigError(
      `${bytes} bytes to move are less than one page of ${formatBytes(pageBytes)}; move more, or use smaller pages`,
    );
  }
}

/** Limits as far as the pools need and the adapter has them. */
function requestDevice(adapter: GPUAdapter, bytes: number): Promise<GPUDevice> {
  const { maxBufferSize, maxStorageBufferBindingSize } = adapter.limits;
  return adapter.requestDevice({
    label: 'pagefence bandwidth',
    requiredLimits: {
      maxBufferSize: Math.min(Math.max(bytes, DEFAULT_BUFFER_BYTES), maxBufferSize),
      maxStorageBufferBindingSize: Math.min(
        Math.max(bytes, DEFAULT_BUFFER_BYTES),
        maxStorageBufferBindingSize,
      ),
    },
  });
}

async function run(
  device: GPUDevice,
  { runtime, description, software }: AcquiredAdapter,
  options: BandwidthOptions,
): Promise<BandwidthResult> {
  const { bytes = MOVED_BYTES, pageSizes = PAGE_SIZES, signal, onProgress } = options;
  const { runs = RUNS, budgetMs = BUDGET_MS } = options;
  const begun = performance.now();
  const lists = pageSizes.flatMap((pageBytes) => LIST_KINDS.map((list) => ({ pageBytes, list })));
  const pace: Pace = { runs, budgetMs, pause: () => stopIf(signal) };
  let limits: MachineLimit[] = [];
  const done: ListBenchResult[] = [];
  const result = (): BandwidthResult => ({
    ...{ runtime, agent: agentName(), adapter: description, software },
    ...suggestedTransfer(adapterFacts(device)),
    limits,
    rows: done.flatMap(({ rows }) => rows),
    bothDirections: done.map(({ bothDirections }) => bothDirections),
    release: done.map(({ release }) => release),
    seconds: (performance.now() - begun) / 1000,
  });
  const report = async (count: number) =>
    onProgress?.({ done: count, total: lists.length + 1, result: result() });
  try {
    limits = await measureLimits(device, bytes, pace);
    await report(1);
    for (const list of lists) {
      done.push(await benchList({ ...list, device, bytes, pace, limits: ratesOf(limits) }));
      await report(done.length + 1);
    }
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
  }
  return result();
}

/** Bytes per millisecond. */
function ratesOf(limits: readonly MachineLimit[]): Record<TunedOperation, number> {
  const rate = (operation: TunedOperation) => {
    const { bytes, milliseconds } = limits.find(({ name }) => name === LIMIT_OF[operation])!;
    return bytes / milliseconds;
  };
  return Object.fromEntries(OPERATIONS.map((each) => [each, rate(each)])) as Record<TunedOperation, number>;
}

/** The caller has had enough. */
class Stopped extends Error {}

function stopIf(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) throw new Stopped();
}
