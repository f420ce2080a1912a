/** CPU twin of `shaders/model/swiglu.wgsl`. */

/** Rows of gates and values, [rows, 2 * width], to silu(gate) * value, [rows, width]. */
export function swiglu(rows: Float32Array, width: number): Float32Array<ArrayBuffer> {
  const result = new Float32Array(rows.length / 2);
  for (let at = 0; at < result.length; at += 1) {
    const gate = rows[Math.floor(at / width) * 2 * width + (at % width)];
    const value = rows[Math.floor(at / width) * 2 * width + width + (at % width)];
    result[at] = (gate / (1 + Math.exp(-gate))) * value;
  }
  return result;
}
