/**
 * Page references as the traces of the ARC paper have them (Megiddo and Modha, FAST'03): `start count ignore request`
 * a line, standing for `count` single pages from `start` on. There are no tokens, so only policies can replay them.
 */
import { placeOf, refuseFault, unexpected, excerpt } from './expectation.ts';
import type { Line } from './line-batches.ts';

const RUN_PAGES_MAX = 2 ** 20;

/** Four whole numbers and nothing else. Fifteen digits stay exact in a double. */
export const LIS_LINE = /^\s*(\d{1,15})\s+(\d{1,15})\s+\d{1,15}\s+\d{1,15}\s*$/;

export interface PageRun {
  readonly start: number;
  readonly count: number;
}

/** Throws `InputError` that names the line and what is wrong with it. */
export function readLisLine(file: string, line: Line): PageRun {
  refuseFault(file, line);
  const match = LIS_LINE.exec(line.text);
  if (!match) {
    const expected = 'four whole numbers: start, count, ignore, request';
    throw unexpected(placeOf(file, line), '', expected, excerpt(line.text));
  }
  const count = Number(match[2]);
  if (count < 1 || count > RUN_PAGES_MAX) {
    const expected = `a whole number from 1 to ${RUN_PAGES_MAX}`;
    throw unexpected(placeOf(file, line), 'count', expected, String(count));
  }
  return { start: Number(match[1]), count };
}
