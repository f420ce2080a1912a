/**
 * Measures the ways to move bytes on the device at hand and picks the fastest. Each way carries out the same small plans
 * on a pool of its own, the ways take turns, and the median decides. A default that is nearly as fast stays: two runs on
 * one machine should not differ for a few percent.
 */
import { pageId, type PageId } from '../units.ts';
import { adapterFacts, adapterName } from './device.ts';
import { median } from './quantile.ts';
import { PageMover } from './page-mover.ts';
import type { StagingTuning } from './staging-tuning.ts';
import { defaultStrategies, type Strategies } from './strategies.ts';

export type TunedOperation = 'zero' | 'copy' | 'store' | 'load';
type Way<Operation extends TunedOperation = TunedOperation> = Strategies[Operation];

/** One way of one operation. */
export interface Measurement {
  readonly operation: TunedOperation;
  readonly way: Way;
  /** Median over its runs. */
  readonly milliseconds: number;
  readonly runs: number;
  /** Bytes that a run moves. */
  readonly bytes: number;
}

export interface Tuning {
  readonly adapter: string;
  /** Bytes of a page that it stands for: those up to the next power of two share a tuning. */
  readonly pageBytes: number;
  readonly picked: Pick<Strategies, TunedOperation>;
  readonly measured: readonly Measurement[];
  readonly milliseconds: number;
  /** The size of staging buffers, where the caller left it to the device. */
  readonly staging: StagingTuning | null;
  /** Why something was not measured, and the default stands. `null`: everything was. */
  readonly cutShort: string | null;
}

export interface TuningOptions {
  readonly pageBytes: number;
  /** Milliseconds in all, compiling included. Default: 500. */
  readonly budget?: number;
  /** Measure though it was done before. Default: false. */
  readonly force?: boolean;
}

const BUDGET_MS = 500;
/** Of each way's pool. Larger pages are moved by defaults: a single one would cost the budget. */
const POOL_BYTES_MAX = 4 * 2 ** 20;
const PAGES_MAX = 64;
const PAGES_MIN = 5;
const RUNS_MAX = 5;
/** How much faster than the default a way must be. */
const GAIN = 0.9;

/** By commands alone: no kernel is compiled. */
const COMMANDS = { zero: 'clear', copy: 'bounce', store: 'copy' } as const;

/**
 * Ways side by side; what a set leaves out is measured by an earlier one. Short lists are otherwise written directly, and
 * every way to load would be that one.
 */
const SETS: readonly {
  readonly ways: Partial<Strategies>;
  readonly operations: readonly TunedOperation[];
}[] = [
  {
    ways: { ...COMMANDS, load: 'write' },
    operations: ['zero', 'copy', 'store', 'load'],
  },
  {
    ways: { zero: 'kernel', copy: 'kernel', store: 'gather', load: 'scatter', directWritesMax: 0 },
    operations: ['zero', 'copy', 'store', 'load'],
  },
  {
    ways: { ...COMMANDS, load: 'ring', directWritesMax: 0 },
    operations: ['load'],
  },
  {
    ways: { ...COMMANDS, load: 'pack', directWritesMax: 0 },
    operations: ['load'],
  },
];

const known = new Map<string, Promise<Tuning>>();

/**
 * The tuning for an adapter and a size of page, measured once a process. Whatever goes wrong on the way, the defaults
 * come back and say why.
 */
export function tune(device: GPUDevice, options: TuningOptions): Promise<Tuning> {
  const adapter = `${adapterFacts(device).runtime}: ${adapterName(device) || 'an adapter without a name'}`;
  const pageBytes = sizeClass(options.pageBytes);
  const key = `${adapter} ${pageBytes}`;
  const before = known.get(key);
  if (before && options.force !== true) return before;
  const tuning = new Tuner(device, {
    adapter,
    pageBytes,
    budget: options.budget ?? BUDGET_MS,
  }).measureAndPick();
  known.set(key, tuning);
  // A device that was lost says nothing about the next one.
  void tuning.then(({ measured }) => {
    if (measured.length === 0 && known.get(key) === tuning) known.delete(key);
  });
  return tuning;
}

/** The smallest power of two that such a page fits into. */
function sizeClass(pageBytes: number): number {
  return 2 ** Math.ceil(Math.log2(pageBytes));
}

class Tuner {
  private readonly device: GPUDevice;
  private readonly adapter: string;
  private readonly pageBytes: number;
  private readonly begun = performance.now();
  private readonly deadline: number;
  private readonly pages: number;
  private readonly times = new Map<TunedOperation, Map<Way, number[]>>();
  private readonly movers: { readonly mover: PageMover; readonly operations: readonly TunedOperation[] }[] =
    [];

  constructor(device: GPUDevice, options: { adapter: string; pageBytes: number; budget: number }) {
    this.device = device;
    this.adapter = options.adapter;
    this.pageBytes = options.pageBytes;
    this.deadline = this.begun + options.budget;
    this.pages = Math.min(PAGES_MAX, Math.floor(POOL_BYTES_MAX / this.pageBytes));
  }

  async measureAndPick(): Promise<Tuning> {
    if (this.pages < PAGES_MIN)
      return this.result(`pages of ${this.pageBytes} bytes are too large to try out`);
    try {
      return this.result(await this.measure());
    } catch (error) {
      return this.result(error instanceof Error ? error.message : String(error));
    } finally {
      await Promise.all(this.movers.map(({ mover }) => mover.close().catch(() => undefined)));
    }
  }

  /** Null when everything was measured often enough. */
  private async measure(): Promise<string | null> {
    for (const { ways, operations } of SETS) {
      if (this.isOver) return 'the time was over before every way was tried';
      const { pages, pageBytes } = this;
      const transfer = { stagingBuffers: 2, stagingBytes: pages * pageBytes };
      const mover = await PageMover.create(this.device, { pages, pageBytes, ways, transfer });
      this.movers.push({ mover, operations });
      // The first run pays for what is made on first use.
      for (const operation of operations) if (!this.isOver) await this.moveBy(mover, operation);
    }
    for (let round = 0; round < RUNS_MAX; round += 1) {
      for (const operation of ['zero', 'copy', 'store', 'load'] as const) {
        for (const { mover, operations } of this.movers) {
          if (!operations.includes(operation)) continue;
          if (this.isOver) return round > 0 ? null : 'the time was over before every way was measured';
          this.note(operation, mover.worker.strategies[operation], await this.moveBy(mover, operation));
        }
      }
    }
    return null;
  }

  private moveBy(mover: PageMover, operation: TunedOperation): Promise<number> {
    const pages = movedPages(operation, this.pages);
    if (operation !== 'copy') return mover[operation](pages);
    return mover.copy(pages.map((source) => ({ source, destination: pageId(source + 1) })));
  }

  private get isOver(): boolean {
    return performance.now() >= this.deadline;
  }

  private note(operation: TunedOperation, way: Way, milliseconds: number): void {
    const ways = this.times.get(operation) ?? new Map<Way, number[]>();
    this.times.set(operation, ways);
    ways.set(way, [...(ways.get(way) ?? []), milliseconds]);
  }

  private result(cutShort: string | null): Tuning {
    const defaults = defaultStrategies(adapterFacts(this.device));
    const measured: Measurement[] = [];
    for (const [operation, ways] of this.times) {
      const bytes = movedPages(operation, this.pages).length * this.pageBytes;
      for (const [way, times] of ways) {
        measured.push({ operation, way, milliseconds: median(times), runs: times.length, bytes });
      }
    }
    const pick = <Operation extends TunedOperation>(operation: Operation): Way<Operation> =>
      pickWay(
        measured.filter((one) => one.operation === operation),
        defaults[operation],
      ) as Way<Operation>;
    return {
      adapter: this.adapter,
      pageBytes: this.pageBytes,
      picked: { zero: pick('zero'), copy: pick('copy'), store: pick('store'), load: pick('load') },
      measured,
      milliseconds: performance.now() - this.begun,
      staging: null,
      cutShort,
    };
  }
}

/** The fastest way, unless the default is there and nearly as fast. What was not measured with the default says nothing. */
export function pickWay(measured: readonly Pick<Measurement, 'way' | 'milliseconds'>[], fallback: Way): Way {
  const usual = measured.find(({ way }) => way === fallback);
  if (usual === undefined) return fallback;
  const best = measured.reduce((a, b) => (b.milliseconds < a.milliseconds ? b : a));
  return best.milliseconds < GAIN * usual.milliseconds ? best.way : fallback;
}

/** Every other page: lists without neighbours are what a busy pool has. Copies go to the pages in between. */
function movedPages(operation: TunedOperation, pages: number): PageId[] {
  const count = Math.floor((pages - 1) / 2);
  return Array.from({ length: count }, (_, i) => pageId(1 + 2 * i + (operation === 'load' ? 1 : 0)));
}
