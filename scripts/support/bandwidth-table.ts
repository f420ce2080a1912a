/** How fast pages move in several runtimes, beside each other. */
import { LIST_KINDS, type ListKind } from '../../src/bandwidth/page-lists.ts';
import {
  LIMIT_OF,
  OPERATIONS,
  type BandwidthResult,
  type BandwidthRow,
  type PageList,
} from '../../src/bandwidth/result.ts';
import { gigabytes, percent, times } from '../../src/cli/bandwidth-text.ts';
import { alignColumns } from '../../src/cli/format.ts';
import type { TunedOperation } from '../../src/gpu/tuning.ts';
import { formatBytes } from '../../src/units.ts';
import type { Column as AnyColumn } from './in-runtimes.mjs';

export type Column = AnyColumn<BandwidthResult>;
type Run = Extract<Column, { readonly result: BandwidthResult }>;

/** A way beats the default one where it is faster by more than this. */
const CLEARLY = 1.1;

/** Sizes of pages down, runtimes across; of each runtime the default way, and a faster one where there is one. */
export function bandwidthTable(columns: readonly Column[]): string {
  const runs = columns.filter((column): column is Run => 'result' in column);
  const missing = columns.flatMap((column) =>
    'missing' in column ? [`${column.name}: not run: ${column.missing.replace(/\s+/g, ' ')}`] : [],
  );
  const places = runs.map(({ name, result }) => `${name}: ${result.agent} on ${result.adapter}`);
  if (runs.length === 0) return missing.join('\n');
  return [
    ...places,
    ...missing,
    '',
    'GB/s by the default way and its share of the limit; behind it a way that is faster by a tenth or more, if any',
    ...OPERATIONS.flatMap((operation) => ['', ...operationTable(runs, operation)]),
    '',
    'both directions at once: times as fast as one after the other',
    ...pageTable(
      runs,
      ({ bothDirections }) => bothDirections,
      ({ gain }) => times(gain),
    ),
    '',
    'CPU time until stored pages may be overwritten, ms for up to 64 pages',
    ...pageTable(
      runs,
      ({ release }) => release,
      ({ milliseconds }) => milliseconds.toFixed(3),
    ),
  ].join('\n');
}

function operationTable(runs: readonly Run[], operation: TunedOperation): string[] {
  const limits = runs.map(({ result: { limits } }) => {
    const { bytes, milliseconds } = limits.find(({ name }) => name === LIMIT_OF[operation])!;
    return gigabytes(bytes, milliseconds);
  });
  const cell = (rows: readonly BandwidthRow[]) => {
    const own = rows.find(({ isDefault }) => isDefault);
    if (own === undefined) return '-';
    const text = `${gigabytes(own.bytes, own.milliseconds)}  ${percent(own.ofLimit)}`;
    const best = rows.reduce((one, other) => (other.milliseconds < one.milliseconds ? other : one));
    if (best.milliseconds * CLEARLY > own.milliseconds) return text;
    return `${text} (${best.way} ${gigabytes(best.bytes, best.milliseconds)})`;
  };
  const table = sizesAndLists(runs, ({ rows }) => rows).map(({ pageBytes, list }) => [
    formatBytes(pageBytes),
    list,
    ...runs.map(({ result: { rows } }) =>
      cell(
        rows.filter((row) => row.operation === operation && row.pageBytes === pageBytes && row.list === list),
      ),
    ),
  ]);
  return alignColumns([
    [operation, '', ...runs.map(({ name }) => name)],
    [LIMIT_OF[operation], '', ...limits],
    ...table,
  ]);
}

function pageTable<Row extends PageList>(
  runs: readonly Run[],
  rowsOf: (result: BandwidthResult) => readonly Row[],
  cell: (row: Row) => string,
): string[] {
  return alignColumns([
    ['', '', ...runs.map(({ name }) => name)],
    ...sizesAndLists(runs, rowsOf).map(({ pageBytes, list }) => [
      formatBytes(pageBytes),
      list,
      ...runs.map(({ result }) => {
        const row = rowsOf(result).find((one) => one.pageBytes === pageBytes && one.list === list);
        return row === undefined ? '-' : cell(row);
      }),
    ]),
  ]);
}

function sizesAndLists(
  runs: readonly Run[],
  rowsOf: (result: BandwidthResult) => readonly PageList[],
): { readonly pageBytes: number; readonly list: ListKind }[] {
  const sizes = [...new Set(runs.flatMap(({ result }) => rowsOf(result).map(({ pageBytes }) => pageBytes)))];
  return LIST_KINDS.flatMap((list) => sizes.map((pageBytes) => ({ pageBytes, list })));
}
