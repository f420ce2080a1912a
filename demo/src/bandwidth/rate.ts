/** GB/s, as people read it. A dash where the clock is too coarse. */
export function rate(bytes: number, milliseconds: number): string {
  if (milliseconds === 0) return '–';
  const value = bytes / milliseconds / 1e6;
  return value.toFixed(value < 9.95 ? 1 : 0);
}
