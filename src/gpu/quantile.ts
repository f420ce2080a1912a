/** The value below which `part` (0 to 1) of the values lie; between two of them in proportion. `NaN` of none. */
export function quantile(values: readonly number[], part: number): number {
  if (values.length === 0) return NaN;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (sorted.length - 1) * part;
  const low = Math.floor(at);
  return sorted[low] + (sorted[Math.ceil(at)] - sorted[low]) * (at - low);
}

/** The middle of the values. `NaN` of none. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}
