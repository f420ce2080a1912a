/** Numbers and names for people. */
import type { LoadedTrace } from '../run/load-trace.ts';

const whole = new Intl.NumberFormat('en');

export function count(value: number): string {
  return whole.format(value);
}

/** `1 page`, `2 pages`. */
export function counted(value: number, singular: string, plural = `${singular}s`): string {
  return `${count(value)} ${value === 1 ? singular : plural}`;
}

export function percent(part: number, total: number): string {
  return total === 0 ? '0 %' : `${((100 * part) / total).toFixed(1)} %`;
}

export function bytes(value: number): string {
  if (value < 2 ** 20) return `${(value / 2 ** 10).toFixed(0)} KiB`;
  return `${(value / 2 ** 20).toFixed(1)} MiB`;
}

/** The engine's request ids are positions in the trace; people want the trace's own names. */
export function requestName(trace: LoadedTrace | null, id: string): string {
  return trace?.requests[Number(id)]?.id ?? id;
}

/** Enough of a prefix key to tell it from others. */
export function shortKey(key: string): string {
  return `${key.slice(0, 10)}…`;
}
