/** Overwrites newly allocated pages, which hold their former owners' bytes. */
import type { CommandList } from './commands.ts';
import type { PageBuffers } from './page-buffers.ts';
import { bySegment, type PageKernels } from './page-kernels.ts';
import { forEachRun } from './runs.ts';
import type { Strategies } from './strategies.ts';

export interface ZeroOptions {
  readonly commands: CommandList;
  readonly buffers: PageBuffers;
  readonly kernels: PageKernels;
  readonly strategy: Strategies['zero'];
  /** The word to write. `clearBuffer` can write zeros only, so any other word takes the kernel. */
  readonly fill: number;
}

/** Records the zeroing of pages, in any order; a page may come twice. An empty list records nothing. */
export function recordZero(pages: ArrayLike<number>, options: ZeroOptions): void {
  const { commands, buffers, kernels, strategy, fill } = options;
  if (strategy === 'clear' && fill === 0) {
    recordClears(pages, commands, buffers);
    return;
  }
  for (const [segment, which] of bySegment(pages, buffers))
    kernels.zero(commands, segment, pages, which, fill);
}

function recordClears(pages: ArrayLike<number>, commands: CommandList, buffers: PageBuffers): void {
  const { pageBytes, pagesPerSegment } = buffers;
  const sorted = Uint32Array.from(pages).sort();
  const joins = (i: number) => sorted[i] === sorted[i - 1] + 1 && sorted[i] % pagesPerSegment !== 0;
  forEachRun(sorted.length, joins, (first, length) => {
    const segment = buffers.segmentOf(sorted[first]);
    commands.clear(segment.buffer, (sorted[first] - segment.firstPage) * pageBytes, length * pageBytes);
  });
}
