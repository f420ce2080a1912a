/** CPU twin of `shaders/model/rope_write.wgsl`. */
import { ROW_WORDS } from '../step-rows.ts';
import { keyPlace, type AttentionShape } from '../attention-shape.ts';
import { planeNumbers } from '../cache-layout.ts';

export interface RowPlaces {
  /** Position and beginning of the page table, by row. */
  readonly places: Uint32Array;
  readonly tables: Uint32Array;
}

/**
 * Turns queries and keys by their positions, and writes keys and values into pages. `projected`: [rows, heads + 2 *
 * kvHeads, headDim]; `turns`: [rows, headDim / 2, 2]. Gives the turned queries, [rows, heads, headDim].
 */
export function ropeWrite(
  pool: Float32Array,
  shape: AttentionShape,
  layer: number,
  { places, tables }: RowPlaces,
  { projected, turns }: { readonly projected: Float32Array; readonly turns: Float32Array },
): Float32Array<ArrayBuffer> {
  const { heads, kvHeads, headDim, tokensPerPage } = shape;
  const half = headDim / 2;
  const width = (heads + 2 * kvHeads) * headDim;
  const count = projected.length / width;
  const queries = new Float32Array(count * heads * headDim);
  for (let row = 0; row < count; row += 1) {
    const position = places[row * ROW_WORDS];
    const page = tables[places[row * ROW_WORDS + 1] + Math.floor(position / tokensPerPage)];
    const slot = position % tokensPerPage;
    const turn = (source: number, target: Float32Array, place: number) => {
      for (let pair = 0; pair < half; pair += 1) {
        const [cosine, sine] = [turns[(row * half + pair) * 2], turns[(row * half + pair) * 2 + 1]];
        const [low, high] = [projected[source + pair], projected[source + pair + half]];
        target[place + pair] = low * cosine - high * sine;
        target[place + pair + half] = high * cosine + low * sine;
      }
    };
    const begin = row * width;
    for (let head = 0; head < heads; head += 1) {
      turn(begin + head * headDim, queries, (row * heads + head) * headDim);
    }
    for (let head = 0; head < kvHeads; head += 1) {
      const place = keyPlace(shape, { page, layer, head, slot });
      turn(begin + (heads + head) * headDim, pool, place);
      const value = begin + (heads + kvHeads + head) * headDim;
      pool.set(projected.subarray(value, value + headDim), place + planeNumbers(shape));
    }
  }
  return queries;
}
