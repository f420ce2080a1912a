/** CPU twin of `shaders/gather_pages.wgsl`. */

/** Copies page `pages[i]` to the i-th page-sized place of `staging`. */
export function gatherPages(
  pool: Uint32Array,
  pageWords: number,
  pages: ArrayLike<number>,
  staging: Uint32Array,
): void {
  for (let entry = 0; entry < pages.length; entry += 1) {
    const from = pages[entry] * pageWords;
    const to = entry * pageWords;
    for (let word = 0; word < pageWords; word += 1) staging[to + word] = pool[from + word]!;
  }
}
