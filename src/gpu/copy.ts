/** Copies pages onto pages, as copy-on-write needs it. */
import type { PageCopy } from '../schedule/step-plan.ts';
import { WORD_BYTES } from '../units.ts';
import type { CommandList } from './commands.ts';
import { ascendingOrder } from './order.ts';
import type { PageBuffers, PageSegment } from './page-buffers.ts';
import type { PageKernels } from './page-kernels.ts';
import type { Strategies } from './strategies.ts';

export interface CopyOptions {
  readonly commands: CommandList;
  readonly buffers: PageBuffers;
  readonly kernels: PageKernels;
  readonly strategy: Strategies['copy'];
  /** Bytes at the front of each page that are copied, a multiple of 4. Default: all of it. */
  readonly bytes?: number;
  /** At least one page. Null where the strategy is `kernel`. */
  readonly bounce: GPUBuffer | null;
}

/** All pairs of one list copy as many bytes. */
type PagePair = Omit<PageCopy, 'group'>;

/** Page `sources[i]` goes to page `destinations[i]`, for all that leave one segment for one other, or for itself. */
interface SegmentPair {
  readonly from: PageSegment;
  readonly to: PageSegment;
  readonly sources: number[];
  readonly destinations: number[];
}

/**
 * Records page copies, in any order. No source may be a destination, and no destination may come twice; `checkPlan`
 * refuses such lists. An empty list records nothing.
 */
export function recordCopies(copies: readonly PagePair[], options: CopyOptions): void {
  for (const pair of bySegmentPair(copies, options.buffers)) {
    if (options.strategy === 'kernel') recordKernel(pair, options);
    else if (pair.from === pair.to) recordBounce(pair, options);
    else recordDirect(pair, options);
  }
}

/** Sorted by source, so that neighbours meet. */
function bySegmentPair(copies: readonly PagePair[], buffers: PageBuffers): Iterable<SegmentPair> {
  const given = Uint32Array.from({ length: copies.length }, (_, i) => copies[i].source);
  const order = ascendingOrder(given);
  const pairs = new Map<number, SegmentPair>();
  for (let i = 0; i < copies.length; i += 1) {
    const { source, destination } = copies[order === null ? i : order[i]];
    const from = buffers.segmentOf(source);
    const to = buffers.segmentOf(destination);
    const key = from.index * buffers.segments.length + to.index;
    let pair = pairs.get(key);
    if (pair === undefined) pairs.set(key, (pair = { from, to, sources: [], destinations: [] }));
    pair.sources.push(source);
    pair.destinations.push(destination);
  }
  return pairs.values();
}

function recordKernel(
  { from, to, sources, destinations }: SegmentPair,
  { commands, kernels, buffers, bytes = buffers.pageBytes }: CopyOptions,
): void {
  const within = from === to;
  kernels.move(
    commands,
    within ? 'copyPages' : 'copyPagesAcross',
    within ? [from.buffer] : [from.buffer, to.buffer],
    {
      count: sources.length,
      words: bytes / WORD_BYTES,
      source: (i) => sources[i] - from.firstPage,
      destination: (i) => destinations[i] - to.firstPage,
    },
  );
}

/** A copy command refuses one buffer on both sides, whatever the ranges: the pages take a detour. */
function recordBounce({ from, sources, destinations }: SegmentPair, options: CopyOptions): void {
  const { commands, buffers, bounce, bytes = buffers.pageBytes } = options;
  const { pageBytes } = buffers;
  const places = Math.floor(bounce!.size / bytes);
  const isWhole = bytes === pageBytes;
  const { buffer, firstPage } = from;
  for (let start = 0; start < sources.length; start += places) {
    const end = Math.min(start + places, sources.length);
    for (let first = start; first < end;) {
      const length = isWhole ? neighbours(sources, first, end) : 1;
      const offset = (sources[first] - firstPage) * pageBytes;
      commands.copy(buffer, offset, bounce!, (first - start) * bytes, length * bytes);
      first += length;
    }
    for (let first = start; first < end;) {
      const length = isWhole ? neighbours(destinations, first, end) : 1;
      const offset = (destinations[first] - firstPage) * pageBytes;
      commands.copy(bounce!, (first - start) * bytes, buffer, offset, length * bytes);
      first += length;
    }
  }
}

function recordDirect({ from, to, sources, destinations }: SegmentPair, options: CopyOptions): void {
  const { commands, buffers, bytes = buffers.pageBytes } = options;
  const { pageBytes } = buffers;
  const end = sources.length;
  for (let first = 0; first < end;) {
    const most = bytes === pageBytes ? neighbours(sources, first, end) : 1;
    const length = Math.min(most, neighbours(destinations, first, end));
    const sourceOffset = (sources[first] - from.firstPage) * pageBytes;
    const destinationOffset = (destinations[first] - to.firstPage) * pageBytes;
    commands.copy(from.buffer, sourceOffset, to.buffer, destinationOffset, length * bytes);
    first += length;
  }
}

/** How many pages from index `first` on, and below `end`, lie one after the other. */
function neighbours(pages: readonly number[], first: number, end: number): number {
  let next = first + 1;
  while (next < end && pages[next] === pages[next - 1] + 1) next += 1;
  return next - first;
}
