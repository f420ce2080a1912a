/** CPU twin of `shaders/model/rms_norm.wgsl`. */

/** Each row divided by the root of its mean square, times `weight`. `rows`: [any, width], taken in the order of `which`. */
export function rmsNorm(
  rows: Float32Array,
  weight: Float32Array,
  epsilon: number,
  which: ArrayLike<number> = Array.from({ length: rows.length / weight.length }, (_, row) => row),
): Float32Array<ArrayBuffer> {
  const width = weight.length;
  const result = new Float32Array(which.length * width);
  for (let row = 0; row < which.length; row += 1) {
    const source = which[row] * width;
    let squares = 0;
    for (let i = 0; i < width; i += 1) squares += rows[source + i] * rows[source + i];
    const scale = 1 / Math.sqrt(squares / width + epsilon);
    for (let i = 0; i < width; i += 1) result[row * width + i] = rows[source + i] * scale * weight[i];
  }
  return result;
}
