/** Sorting lists of many thousand pages within a step: numbers only, since a comparison function costs ten times as much. */

/**
 * The indices of `values` by ascending value, equal ones in the order in which they come. Null where that is the order
 * they have. Values are whole numbers from 0 on; the largest times their count must stay below 2^53.
 */
export function ascendingOrder(values: ArrayLike<number>): Uint32Array<ArrayBuffer> | null {
  if (isAscending(values)) return null;
  const count = values.length;
  const packed = new Float64Array(count);
  for (let i = 0; i < count; i += 1) packed[i] = values[i] * count + i;
  packed.sort();
  const order = new Uint32Array(count);
  for (let i = 0; i < count; i += 1) order[i] = packed[i] % count;
  return order;
}

/** A copy of `values`, in that order. */
export function picked(
  values: ArrayLike<number>,
  order: Uint32Array<ArrayBuffer> | null,
): Uint32Array<ArrayBuffer> {
  if (order === null) return new Uint32Array(values);
  const sorted = new Uint32Array(order.length);
  for (let i = 0; i < order.length; i += 1) sorted[i] = values[order[i]];
  return sorted;
}

function isAscending(values: ArrayLike<number>): boolean {
  for (let i = 1; i < values.length; i += 1) if (values[i] < values[i - 1]) return false;
  return true;
}
