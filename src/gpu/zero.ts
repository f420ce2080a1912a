/** Overwrites newly allocated pages, which hold their former owners' bytes. */
import { WORD_BYTES } from '../units.ts';
import type { CommandList } from './commands.ts';
import { ascendingOrder, picked } from './order.ts';
import type { PageBuffers } from './page-buffers.ts';
import { bySegment, type PageKernels } from './page-kernels.ts';
import { forEachPageRun } from './runs.ts';
import type { Strategies } from './strategies.ts';

export interface ZeroOptions {
  readonly commands: CommandList;
  readonly buffers: PageBuffers;
  readonly kernels: PageKernels;
  readonly strategy: Strategies['zero'];
  /** Bytes at the front of each page that are overwritten, a multiple of 4. Default: all of it. */
  readonly bytes?: number;
  /** The word to write. `clearBuffer` can write zeros only, so any other word takes the kernel. */
  readonly fill: number;
}

/** Records the zeroing of pages, in any order; a page may come twice. An empty list records nothing. */
export function recordZero(pages: ArrayLike<number>, options: ZeroOptions): void {
  const { commands, buffers, kernels, strategy, fill, bytes = buffers.pageBytes } = options;
  if (strategy === 'clear' && fill === 0) {
    recordClears(pages, options, bytes);
    return;
  }
  for (const [segment, which] of bySegment(pages, buffers)) {
    kernels.zero(commands, { segment, pages, which, fill, words: bytes / WORD_BYTES });
  }
}

function recordClears(pages: ArrayLike<number>, { commands, buffers }: ZeroOptions, bytes: number): void {
  const { pageBytes, pagesPerSegment } = buffers;
  const sorted = picked(pages, ascendingOrder(pages));
  const clear = (first: number, length: number) => {
    const segment = buffers.segmentOf(sorted[first]);
    commands.clear(segment.buffer, (sorted[first] - segment.firstPage) * pageBytes, length * bytes);
  };
  if (bytes === pageBytes) {
    forEachPageRun(sorted, pagesPerSegment, clear);
    return;
  }
  // Pages that are cleared only in part have bytes between them that must stay.
  for (let i = 0; i < sorted.length; i += 1) clear(i, 1);
}
