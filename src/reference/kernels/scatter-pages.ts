/** CPU twin of `shaders/scatter_pages.wgsl`. */

/** Copies the i-th page-sized place of `staging` to page `pages[i]`. */
export function scatterPages(
  staging: Uint32Array,
  pageWords: number,
  pages: ArrayLike<number>,
  pool: Uint32Array,
): void {
  for (let entry = 0; entry < pages.length; entry += 1) {
    const from = entry * pageWords;
    const to = pages[entry] * pageWords;
    for (let word = 0; word < pageWords; word += 1) pool[to + word] = staging[from + word]!;
  }
}
