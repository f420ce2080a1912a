/** CPU twin of `shaders/copy_pages.wgsl` and `shaders/copy_pages_across.wgsl`: one pool has no borders here. */
import type { PageExtent } from '../page-extent.ts';

/**
 * Copies the first `pageWords` words of pages. The pairs run in no particular order on the device, so no source may be
 * a destination.
 */
export function copyPages(
  pool: Uint32Array,
  { strideWords, pageWords }: PageExtent,
  copies: readonly { readonly source: number; readonly destination: number }[],
): void {
  for (const { source, destination } of copies) {
    const from = source * strideWords;
    const to = destination * strideWords;
    for (let word = 0; word < pageWords; word += 1) pool[to + word] = pool[from + word]!;
  }
}
