/** CPU twin of `shaders/zero_pages.wgsl`. */

/** Overwrites every word of each listed page with `fill`. */
export function zeroPages(
  pool: Uint32Array,
  pageWords: number,
  pages: ArrayLike<number>,
  fill: number,
): void {
  for (let entry = 0; entry < pages.length; entry += 1) {
    const base = pages[entry] * pageWords;
    for (let word = 0; word < pageWords; word += 1) pool[base + word] = fill;
  }
}
