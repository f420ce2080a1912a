/** What was measured, for people: a table an operation, sizes of pages down, lists and ways across. */
import { LIST_KINDS, type ListKind } from '../bandwidth/page-lists.ts';
import {
  LIMIT_OF,
  OPERATIONS,
  type BandwidthResult,
  type BandwidthRow,
  type PageList,
} from '../bandwidth/result.ts';
import type { TunedOperation } from '../gpu/tuning.ts';
import { formatBytes } from '../units.ts';
import { alignColumns, formatSeconds } from './format.ts';

const MOVES: Readonly<Record<TunedOperation, string>> = {
  zero: 'Zero',
  copy: 'Copy within the pool',
  store: 'Store, pool to host',
  load: 'Load, host to pool',
};

export function bandwidthText(result: BandwidthResult): string {
  const { agent, adapter, software, seconds, stagingBuffers, stagingBytes } = result;
  const place = `${agent} on ${adapter}${software ? ', a software adapter' : ''}`;
  const staging = `${stagingBuffers} staging buffers of ${formatBytes(stagingBytes)}`;
  return [
    `${place}; ${staging}; medians; in ${formatSeconds(seconds)}`,
    '',
    ...limitLines(result),
    ...(result.rows.length === 0 ? [] : pageLines(result)),
    '',
  ].join('\n');
}

function limitLines({ limits }: BandwidthResult): string[] {
  if (limits.length === 0) return ['Ended before anything was measured'];
  const rows = limits.map(({ name, bytes, milliseconds }) =>
    bytes === 0
      ? [name, `${milliseconds.toFixed(2)} ms`]
      : [`${name}, ${formatBytes(bytes)}`, `${gigabytes(bytes, milliseconds)} GB/s`],
  );
  return ['What the machine can do at best', ...alignColumns(rows, { indent: 2, right: [1] })];
}

function pageLines(result: BandwidthResult): string[] {
  return [
    ...OPERATIONS.flatMap((operation) => operationLines(result, operation)),
    '',
    'Both directions at once: GB/s of both together, times as fast as one after the other',
    ...bySize(result.bothDirections, ({ bytes, milliseconds, gain }) => [
      gigabytes(bytes, milliseconds),
      times(gain),
    ]),
    '',
    `CPU time until stored pages may be overwritten, up to ${result.release[0].pages} pages`,
    ...bySize(result.release, ({ milliseconds }) => [`${milliseconds.toFixed(3)} ms`]),
    '',
    '*  the way for this adapter where nothing is asked for and nothing was tuned',
  ];
}

function operationLines({ rows, limits }: BandwidthResult, operation: TunedOperation): string[] {
  const own = rows.filter((row) => row.operation === operation);
  const ways = [...new Set(own.map(({ way }) => way))];
  const sizes = [...new Set(own.map(({ pageBytes }) => pageBytes))];
  const limit = limits.find(({ name }) => name === LIMIT_OF[operation])!;
  const cell = (row: BandwidthRow | undefined) =>
    row === undefined
      ? ['', '']
      : [gigabytes(row.bytes, row.milliseconds), `${percent(row.ofLimit)}${row.isDefault ? '*' : ' '}`];
  const columns = LIST_KINDS.flatMap((list) => ways.map((way) => ({ list, way })));
  const table = [
    ['page', ...columns.flatMap(({ way }) => [way, ''])],
    ...sizes.map((pageBytes) => [
      formatBytes(pageBytes),
      ...columns.flatMap(({ list, way }) =>
        cell(own.find((row) => row.pageBytes === pageBytes && row.list === list && row.way === way)),
      ),
    ]),
  ];
  return [
    '',
    `${MOVES[operation]}: GB/s, and share of ${limit.name} at ${gigabytes(limit.bytes, limit.milliseconds)} GB/s`,
    ...underLists(table, 2 * ways.length),
    ...LIST_KINDS.flatMap((list) =>
      crossoverLines(
        own.filter((row) => row.list === list),
        list,
      ),
    ),
  ];
}

/** A line above the table says which columns are of which list. */
function underLists(table: readonly string[][], columnsEach: number): string[] {
  const right = table[0].map((_, column) => column).slice(1);
  const lines = alignColumns(table, { indent: 2, right });
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  const before = (columns: number) => 2 + widths.slice(0, columns).reduce((sum, width) => sum + width + 2, 0);
  const heading = LIST_KINDS.reduce(
    (line, list, index) => `${line.padEnd(before(1 + index * columnsEach))}${list} pages`,
    '',
  );
  return [heading, ...lines];
}

/** At which sizes a kernel is faster than commands. Where there are both. */
function crossoverLines(rows: readonly BandwidthRow[], list: ListKind): string[] {
  const kernels = rows.filter(({ way }) => way === 'kernel');
  if (kernels.length === 0) return [];
  const faster = kernels.filter(
    (kernel) =>
      !rows.some((row) => row.pageBytes === kernel.pageBytes && row.milliseconds < kernel.milliseconds),
  );
  const sizes = faster.map(({ pageBytes }) => formatBytes(pageBytes)).join(', ');
  const verdict =
    faster.length === 0
      ? 'commands are faster at every size'
      : faster.length === kernels.length
        ? 'the kernel is faster at every size'
        : `the kernel is faster at ${sizes}, commands at the other sizes`;
  return [`  ${list}: ${verdict}`];
}

function bySize<Row extends PageList>(rows: readonly Row[], cells: (row: Row) => string[]): string[] {
  const sizes = [...new Set(rows.map(({ pageBytes }) => pageBytes))];
  const width = cells(rows[0]).length;
  const blank = Array.from({ length: width - 1 }, () => '');
  const table = [
    ['page', ...LIST_KINDS.flatMap((list) => [list, ...blank])],
    ...sizes.map((pageBytes) => [
      formatBytes(pageBytes),
      ...LIST_KINDS.flatMap((list) => {
        const row = rows.find((one) => one.pageBytes === pageBytes && one.list === list);
        return row === undefined ? Array.from({ length: width }, () => '') : cells(row);
      }),
    ]),
  ];
  return alignColumns(table, { indent: 2, right: table[0].map((_, column) => column).slice(1) });
}

/** GB/s. A dash where the clock is too coarse, here and below. */
export function gigabytes(bytes: number, milliseconds: number): string {
  return milliseconds > 0 ? (bytes / milliseconds / 1e6).toFixed(1) : '-';
}

export function percent(share: number | null): string {
  return share === null ? '- %' : `${(100 * share).toFixed(0)} %`;
}

export function times(gain: number | null): string {
  return gain === null ? '- x' : `${gain.toFixed(2)} x`;
}
