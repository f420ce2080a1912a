/**
 * Branded ids: a page id cannot become a slot id by accident.
 *
 * A brand exists only for the type checker. `pageId(3)` is the number 3 at run time.
 */
declare const brand: unique symbol;
type Branded<Base, Name extends string> = Base & { readonly [brand]: Name };

/** A page of the pool: an index into the page buffers. 0 is the null page. */
export type PageId = Branded<number, 'PageId'>;
/** The layers that share one cache kind. */
export type GroupId = Branded<number, 'GroupId'>;
/** A request, named by the caller. */
export type RequestId = Branded<string, 'RequestId'>;
/** One transfer, store or load. One counter serves both directions. */
export type JobId = Branded<number, 'JobId'>;
/** A page-sized place in the host tier. */
export type SlotId = Branded<number, 'SlotId'>;
/** Chained hash of a full page's tokens in lower-case hex, followed by its group id as 8 hex digits. */
export type PrefixKey = Branded<string, 'PrefixKey'>;

export const pageId = (value: number): PageId => value as PageId;
export const groupId = (value: number): GroupId => value as GroupId;
export const requestId = (value: string): RequestId => value as RequestId;
export const jobId = (value: number): JobId => value as JobId;
export const slotId = (value: number): SlotId => value as SlotId;

/** Filler for skipped positions of a page table. Never free, keyed, zeroed, copied, stored or loaded. */
export const NULL_PAGE = pageId(0);

/** Bytes of one 32-bit word: the unit in which the device copies, clears and addresses pages. */
export const WORD_BYTES = 4;

/** Ceiling division of non-negative integers. */
export function ceilDiv(dividend: number, divisor: number): number {
  return Math.ceil(dividend / divisor);
}

/** Bytes as people read them. */
export function formatBytes(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = Number.isInteger(value) || value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

/** The largest multiple of `step` that is at most `value`. */
export function floorTo(value: number, step: number): number {
  return value - (value % step);
}

export function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

export function leastCommonMultiple(a: number, b: number): number {
  return (a / greatestCommonDivisor(a, b)) * b;
}
