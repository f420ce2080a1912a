/** CPU twin of `shaders/model/paged_attention.wgsl`. */
import { ROW_WORDS } from '../step-rows.ts';
import { keyPlace, type AttentionShape } from '../attention-shape.ts';
import { planeNumbers } from '../cache-layout.ts';
import type { RowPlaces } from './rope-write.ts';

/**
 * Each row's attention over the keys and values that its page table leads to, up to its own position. Query heads share
 * the heads of keys in runs. Queries and result: [rows, heads, headDim].
 */
export function pagedAttention(
  pool: Float32Array,
  shape: AttentionShape,
  layer: number,
  { places, tables }: RowPlaces,
  queries: Float32Array,
): Float32Array<ArrayBuffer> {
  const { heads, kvHeads, headDim, tokensPerPage, windowTokens } = shape;
  const plane = planeNumbers(shape);
  const result = new Float32Array(queries.length);
  const sums = new Float64Array(headDim);
  for (let at = 0; at < queries.length; at += headDim) {
    const row = Math.floor(at / (heads * headDim));
    const head = Math.floor(((at / headDim) % heads) / (heads / kvHeads));
    const position = places[row * ROW_WORDS];
    const table = places[row * ROW_WORDS + 1];
    const first = windowTokens === 0 ? 0 : Math.max(0, position - windowTokens + 1);
    let highest = -Infinity;
    let weights = 0;
    sums.fill(0);
    for (let token = first; token <= position; token += 1) {
      const page = tables[table + Math.floor(token / tokensPerPage)];
      const key = keyPlace(shape, { page, layer, head, slot: token % tokensPerPage });
      let score = 0;
      for (let i = 0; i < headDim; i += 1) score += queries[at + i] * pool[key + i];
      score /= Math.sqrt(headDim);
      const next = Math.max(highest, score);
      const shrink = Math.exp(highest - next);
      const weight = Math.exp(score - next);
      weights = weights * shrink + weight;
      for (let i = 0; i < headDim; i += 1) sums[i] = sums[i] * shrink + weight * pool[key + plane + i];
      highest = next;
    }
    for (let i = 0; i < headDim; i += 1) result[at + i] = sums[i] / weights;
  }
  return result;
}
