/** Every way to move one list of pages. */
import { adapterFacts } from '../gpu/device.ts';
import { PageMover } from '../gpu/page-mover.ts';
import { forEachRun } from '../gpu/runs.ts';
import { defaultStrategies, suggestedTransfer, type Strategies } from '../gpu/strategies.ts';
import type { TunedOperation } from '../gpu/tuning.ts';
import { HostMemory } from '../host-memory.ts';
import { slotId, type PageId } from '../units.ts';
import { interleave, type Pace } from './interleave.ts';
import { pageLists, type PageLists } from './page-lists.ts';
import {
  OPERATIONS,
  type BandwidthRow,
  type BothDirectionsRow,
  type PageList,
  type ReleaseRow,
} from './result.ts';

export interface ListBenchOptions extends PageList {
  readonly device: GPUDevice;
  /** Bytes that each run moves, rounded down to whole pages. */
  readonly bytes: number;
  readonly pace: Pace;
  /** Bytes per millisecond of the limit of each operation. */
  readonly limits: Readonly<Record<TunedOperation, number>>;
}

export interface ListBenchResult {
  readonly rows: BandwidthRow[];
  readonly bothDirections: BothDirectionsRow;
  readonly release: ReleaseRow;
}

/** Ways that are measured beside each other, one of each operation a pool. Loads have the most. */
const WAYS: { readonly [Operation in TunedOperation]: readonly Strategies[Operation][] } = {
  zero: ['clear', 'kernel'],
  copy: ['bounce', 'kernel'],
  store: ['copy', 'gather'],
  load: ['write', 'ring', 'pack', 'scatter'],
};
const RELEASED_PAGES = 64;

export async function benchList(options: ListBenchOptions): Promise<ListBenchResult> {
  const { bytes, pageBytes, list } = options;
  const count = Math.floor(bytes / pageBytes);
  const host = touchedHost(2 * count, pageBytes);
  const bench = new ListBench(options, host, pageLists(list, count));
  return { rows: await bench.ways(), ...(await bench.byDefault()) };
}

/** Memory that was never written is handed out page by page when it first is. */
function touchedHost(slots: number, slotBytes: number): HostMemory {
  const host = new HostMemory({ slots, slotBytes });
  for (let slot = 0; slot < slots; slot += host.slotsPerSegment) {
    host.view(slotId(slot), Math.min(host.slotsPerSegment, slots - slot)).fill(1);
  }
  return host;
}

class ListBench {
  private readonly options: ListBenchOptions;
  private readonly host: HostMemory;
  private readonly lists: PageLists;
  private readonly defaults: Strategies;

  constructor(options: ListBenchOptions, host: HostMemory, lists: PageLists) {
    this.options = options;
    this.host = host;
    this.lists = lists;
    this.defaults = defaultStrategies(adapterFacts(options.device));
  }

  async ways(): Promise<BandwidthRow[]> {
    const movers: PageMover[] = [];
    try {
      for (let index = 0; index < WAYS.load.length; index += 1) movers.push(await this.mover(waysAt(index)));
      const rows: BandwidthRow[] = [];
      for (const operation of OPERATIONS) rows.push(...(await this.waysOf(operation, movers)));
      return rows;
    } finally {
      for (const mover of movers) await mover.close();
    }
  }

  async byDefault(): Promise<Pick<ListBenchResult, 'bothDirections' | 'release'>> {
    const mover = await this.mover({});
    const { pageBytes, list, pace } = this.options;
    const { sources, destinations } = this.lists;
    try {
      const both = { run: () => mover.storeAndLoad(sources, destinations) };
      const one = { run: async () => (await mover.store(sources)) + (await mover.load(destinations)) };
      const [together, apart] = await interleave([both, one], pace);
      const released = sources.slice(0, RELEASED_PAGES);
      const [release] = await interleave([{ run: () => mover.release(released) }], pace);
      return {
        bothDirections: {
          pageBytes,
          list,
          bytes: 2 * this.bytes,
          ...together,
          oneAfterTheOther: apart.milliseconds,
          gain: ratio(apart.milliseconds, together.milliseconds),
        },
        release: { pageBytes, list, pages: released.length, ...release },
      };
    } finally {
      await mover.close();
    }
  }

  private async waysOf(operation: TunedOperation, movers: readonly PageMover[]): Promise<BandwidthRow[]> {
    const { pageBytes, list, pace, limits } = this.options;
    const ways = WAYS[operation];
    const contestants = ways.map((_, index) => ({ run: () => this.move(operation, movers[index]) }));
    const measured = await interleave(contestants, pace);
    return ways.map((way, index) => ({
      operation,
      pageBytes,
      list,
      way,
      isDefault: way === this.defaultOf(operation),
      bytes: this.bytes,
      ofLimit: ratio(this.bytes / measured[index].milliseconds, limits[operation]),
      ...measured[index],
    }));
  }

  private move(operation: TunedOperation, mover: PageMover): Promise<number> {
    const { sources, destinations } = this.lists;
    if (operation === 'load') return mover.load(destinations);
    if (operation !== 'copy') return mover[operation](sources);
    return mover.copy(sources.map((source, i) => ({ source, destination: destinations[i] })));
  }

  /** A few runs of neighbours are written directly by a device without other work, whatever the way to load is. */
  private defaultOf(operation: TunedOperation): Strategies[TunedOperation] {
    const { directWritesMax } = this.defaults;
    if (operation === 'load' && runsIn(this.lists.destinations) <= directWritesMax) return 'write';
    return this.defaults[operation];
  }

  private get bytes(): number {
    return this.lists.sources.length * this.options.pageBytes;
  }

  private mover(ways: Partial<Strategies>): Promise<PageMover> {
    const { device, pageBytes } = this.options;
    const { stagingBuffers, stagingBytes } = suggestedTransfer(adapterFacts(device));
    return PageMover.create(device, {
      pages: 2 * this.lists.sources.length + 1,
      pageBytes,
      ways,
      transfer: { stagingBuffers, stagingBytes: Math.max(pageBytes, stagingBytes) },
      host: this.host,
    });
  }
}

/** Operations with fewer ways than there are pools repeat their first one in the others, where it is not used. */
function waysAt(index: number): Partial<Strategies> {
  const { zero, copy, store, load } = WAYS;
  return {
    zero: zero[index] ?? zero[0],
    copy: copy[index] ?? copy[0],
    store: store[index] ?? store[0],
    load: load[index],
    // Short lists would be written directly by all.
    directWritesMax: 0,
  };
}

/** Null where one of them was measured by no time at all: clocks of browsers tick every tenth of a millisecond. */
function ratio(one: number, other: number): number | null {
  const value = one / other;
  return Number.isFinite(value) && value > 0 ? value : null;
}

function runsIn(pages: readonly PageId[]): number {
  let runs = 0;
  forEachRun(
    pages.length,
    (entry) => pages[entry] === pages[entry - 1] + 1,
    () => (runs += 1),
  );
  return runs;
}
