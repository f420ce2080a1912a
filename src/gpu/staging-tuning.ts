/**
 * Measures how large staging buffers should be. One that fits a CPU's cache wins where the device's memory is the
 * machine's own; where each buffer costs a trip to another process, or a wait, large ones win by a factor of seven.
 */
import { HostMemory } from '../host-memory.ts';
import { pageId } from '../units.ts';
import { adapterFacts, adapterName } from './device.ts';
import { median } from './quantile.ts';
import { PageMover } from './page-mover.ts';
import { suggestedTransfer } from './strategies.ts';

export interface StagingMeasurement {
  readonly stagingBytes: number;
  /** Median over its runs, of a store of `bytes` bytes. */
  readonly milliseconds: number;
  readonly runs: number;
  readonly bytes: number;
}

export interface StagingTuning {
  /** Bytes of each of four buffers. */
  readonly stagingBytes: number;
  readonly measured: readonly StagingMeasurement[];
  readonly milliseconds: number;
  /** Why something was not measured. `null`: everything was. */
  readonly cutShort: string | null;
}

export interface StagingTuningOptions {
  /** Milliseconds in all. Default: 300. */
  readonly budget?: number;
  /** Measure though it was done before. Default: false. */
  readonly force?: boolean;
}

const BUDGET_MS = 300;
const MEBIBYTE = 2 ** 20;
const BUFFERS = 4;
const SIZES = [1, 2, 4, 16].map((mebibytes) => mebibytes * MEBIBYTE);
/** Two of the largest buffers, so that even those can overlap. */
const MOVED_BYTES = 32 * MEBIBYTE;
const PAGE_BYTES = 64 * 1024;
const WARM_UPS = 3;
const RUNS = 5;
/**
 * Milliseconds of another size, as a share of the suggested one's, below which it is taken. Sizes near each other change
 * places from run to run; the differences worth having are those of several times.
 */
const GAIN = 0.6;

const known = new Map<string, Promise<StagingTuning>>();

/**
 * The size for an adapter, measured once a process. It makes 130 MiB of buffers for a moment. Whatever goes wrong on the
 * way, the suggested size comes back and says why.
 */
export function tuneStaging(device: GPUDevice, options: StagingTuningOptions = {}): Promise<StagingTuning> {
  const key = `${adapterFacts(device).runtime}: ${adapterName(device)}`;
  const before = known.get(key);
  if (before && options.force !== true) return before;
  const tuning = measureSizes(device, options.budget ?? BUDGET_MS);
  known.set(key, tuning);
  void tuning.then(({ measured }) => {
    if (measured.length === 0 && known.get(key) === tuning) known.delete(key);
  });
  return tuning;
}

async function measureSizes(device: GPUDevice, budget: number): Promise<StagingTuning> {
  const begun = performance.now();
  const suggested = suggestedTransfer(adapterFacts(device)).stagingBytes;
  const measured: StagingMeasurement[] = [];
  // The suggested size first: without it the others say nothing.
  const sizes = [suggested, ...SIZES.filter((size) => size !== suggested)];
  let cutShort: string | null = null;
  try {
    const host = new HostMemory({ slots: MOVED_BYTES / PAGE_BYTES, slotBytes: PAGE_BYTES });
    for (const [index, stagingBytes] of sizes.entries()) {
      const now = performance.now();
      const share = (begun + budget - now) / (sizes.length - index);
      const times = share > 0 ? await storeTimes(device, host, stagingBytes, now + share) : [];
      if (times.length > 0) {
        const milliseconds = median(times);
        measured.push({ stagingBytes, milliseconds, runs: times.length, bytes: MOVED_BYTES });
      } else cutShort ??= 'the time was over before every size was measured';
    }
  } catch (error) {
    cutShort = error instanceof Error ? error.message : String(error);
  }
  return {
    stagingBytes: pickSize(measured, suggested),
    measured,
    milliseconds: performance.now() - begun,
    cutShort,
  };
}

/** Milliseconds of each run until the deadline. */
async function storeTimes(
  device: GPUDevice,
  host: HostMemory,
  stagingBytes: number,
  deadline: number,
): Promise<number[]> {
  const pages = Array.from({ length: MOVED_BYTES / PAGE_BYTES }, (_, i) => pageId(i + 1));
  const mover = await PageMover.create(device, {
    pages: pages.length + 1,
    pageBytes: PAGE_BYTES,
    ways: { zero: 'clear', copy: 'bounce', store: 'copy', load: 'write' },
    transfer: { stagingBuffers: BUFFERS, stagingBytes },
    host,
  });
  try {
    const isOver = () => performance.now() >= deadline;
    // The first runs pay for what is made and compiled on first use.
    for (let run = 0; run < WARM_UPS && !isOver(); run += 1) await mover.store(pages);
    const times: number[] = [];
    while (times.length < RUNS && !isOver()) times.push(await mover.store(pages));
    return times;
  } finally {
    await mover.close();
  }
}

/** The fastest size, unless the suggested one is there and nearly as fast. Without it nothing is known. */
export function pickSize(
  measured: readonly Pick<StagingMeasurement, 'stagingBytes' | 'milliseconds'>[],
  suggested: number,
): number {
  const usual = measured.find(({ stagingBytes }) => stagingBytes === suggested);
  if (usual === undefined) return suggested;
  const best = measured.reduce((a, b) => (b.milliseconds < a.milliseconds ? b : a));
  return best.milliseconds < GAIN * usual.milliseconds ? best.stagingBytes : suggested;
}
