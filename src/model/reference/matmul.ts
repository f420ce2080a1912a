/** CPU twin of `shaders/model/matvec.wgsl` and `shaders/model/matmul.wgsl`, which differ in how they share out the work. */

/**
 * Rows times a matrix that has one row an output: [rows, width] and [outputs, width] give [rows, outputs]. With `onto`
 * the products are added to what is there.
 */
export function matmul(
  rows: Float32Array,
  matrix: Float32Array,
  width: number,
  onto?: Float32Array<ArrayBuffer>,
): Float32Array<ArrayBuffer> {
  const outputs = matrix.length / width;
  const count = rows.length / width;
  const result = onto ?? new Float32Array(count * outputs);
  for (let row = 0; row < count; row += 1) {
    for (let output = 0; output < outputs; output += 1) {
      result[row * outputs + output] += dot(rows, row * width, matrix, output * width, width);
    }
  }
  return result;
}

/** Four sums side by side, which do not wait for each other. */
function dot(a: Float32Array, aStart: number, b: Float32Array, bStart: number, count: number): number {
  let [sum0, sum1, sum2, sum3] = [0, 0, 0, 0];
  const whole = count - (count % 4);
  for (let i = 0; i < whole; i += 4) {
    sum0 += a[aStart + i] * b[bStart + i];
    sum1 += a[aStart + i + 1] * b[bStart + i + 1];
    sum2 += a[aStart + i + 2] * b[bStart + i + 2];
    sum3 += a[aStart + i + 3] * b[bStart + i + 3];
  }
  for (let i = whole; i < count; i += 1) sum0 += a[aStart + i] * b[bStart + i];
  return sum0 + sum1 + (sum2 + sum3);
}
