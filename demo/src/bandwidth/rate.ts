/** GB/s, as people read it. */
export function rate(bytes: number, milliseconds: number): string {
  const value = bytes / milliseconds / 1e6;
  return value.toFixed(value < 9.95 ? 1 : 0);
}
