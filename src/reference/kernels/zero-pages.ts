/** CPU twin of `shaders/zero_pages.wgsl`. */
import type { PageExtent } from '../page-extent.ts';

/** Overwrites the first `pageWords` words of each listed page with `fill`. */
export function zeroPages(
  pool: Uint32Array,
  { strideWords, pageWords }: PageExtent,
  pages: ArrayLike<number>,
  fill: number,
): void {
  for (let entry = 0; entry < pages.length; entry += 1) {
    const base = pages[entry] * strideWords;
    for (let word = 0; word < pageWords; word += 1) pool[base + word] = fill;
  }
}
