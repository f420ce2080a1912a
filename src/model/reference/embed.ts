/** CPU twin of `shaders/model/embed.wgsl`. */

/** The embedding's row of each token. `table`: [vocabulary, width]. Gives [tokens, width]. */
export function embed(
  table: Float32Array,
  width: number,
  tokens: ArrayLike<number>,
): Float32Array<ArrayBuffer> {
  const rows = new Float32Array(tokens.length * width);
  for (let row = 0; row < tokens.length; row += 1) {
    rows.set(table.subarray(tokens[row] * width, (tokens[row] + 1) * width), row * width);
  }
  return rows;
}
