/** Copies pages onto pages, as copy-on-write needs it. */
import type { PageCopy } from '../schedule/step-plan.ts';
import { WORD_BYTES } from '../units.ts';
import type { CommandList } from './commands.ts';
import type { PageBuffers, PageSegment } from './page-buffers.ts';
import type { PageKernels } from './page-kernels.ts';
import { forEachRun } from './runs.ts';
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

interface SegmentPair {
  readonly from: PageSegment;
  readonly to: PageSegment;
  readonly copies: PagePair[];
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
  const pairs = new Map<number, SegmentPair>();
  for (const copy of [...copies].sort((a, b) => a.source - b.source)) {
    const from = buffers.segmentOf(copy.source);
    const to = buffers.segmentOf(copy.destination);
    const key = from.index * buffers.segments.length + to.index;
    const pair = pairs.get(key);
    if (pair) pair.copies.push(copy);
    else pairs.set(key, { from, to, copies: [copy] });
  }
  return pairs.values();
}

function recordKernel(
  { from, to, copies }: SegmentPair,
  { commands, kernels, buffers, bytes = buffers.pageBytes }: CopyOptions,
): void {
  const within = from === to;
  kernels.move(
    commands,
    within ? 'copyPages' : 'copyPagesAcross',
    within ? [from.buffer] : [from.buffer, to.buffer],
    {
      count: copies.length,
      words: bytes / WORD_BYTES,
      source: (i) => copies[i].source - from.firstPage,
      destination: (i) => copies[i].destination - to.firstPage,
    },
  );
}

/** A copy command refuses one buffer on both sides, whatever the ranges: the pages take a detour. */
function recordBounce({ from, copies }: SegmentPair, options: CopyOptions): void {
  const { commands, buffers, bounce, bytes = buffers.pageBytes } = options;
  const { pageBytes } = buffers;
  const places = Math.floor(bounce!.size / bytes);
  const isWhole = bytes === pageBytes;
  const { buffer, firstPage } = from;
  for (let start = 0; start < copies.length; start += places) {
    const batch = copies.slice(start, start + places);
    const runs = (
      side: 'source' | 'destination',
      emit: (pageOffset: number, place: number, size: number) => void,
    ) => {
      const joins = (i: number) => isWhole && batch[i][side] === batch[i - 1][side] + 1;
      forEachRun(batch.length, joins, (first, length) => {
        emit((batch[first][side] - firstPage) * pageBytes, first * bytes, length * bytes);
      });
    };
    runs('source', (offset, place, size) => {
      commands.copy(buffer, offset, bounce!, place, size);
    });
    runs('destination', (offset, place, size) => {
      commands.copy(bounce!, place, buffer, offset, size);
    });
  }
}

function recordDirect({ from, to, copies }: SegmentPair, options: CopyOptions): void {
  const { commands, buffers, bytes = buffers.pageBytes } = options;
  const { pageBytes } = buffers;
  const isWhole = bytes === pageBytes;
  const joins = (i: number) =>
    isWhole &&
    copies[i].source === copies[i - 1].source + 1 &&
    copies[i].destination === copies[i - 1].destination + 1;
  forEachRun(copies.length, joins, (first, length) => {
    const { source, destination } = copies[first];
    const sourceOffset = (source - from.firstPage) * pageBytes;
    const destinationOffset = (destination - to.firstPage) * pageBytes;
    commands.copy(from.buffer, sourceOffset, to.buffer, destinationOffset, length * bytes);
  });
}
