/** A table an operation: sizes of pages down, ways across. */
import type { ListKind } from '../../../src/bandwidth/page-lists.ts';
import {
  LIMIT_OF,
  OPERATIONS,
  type BandwidthResult,
  type BandwidthRow,
} from '../../../src/bandwidth/result.ts';
import type { Strategies } from '../../../src/gpu/strategies.ts';
import type { TunedOperation } from '../../../src/gpu/tuning.ts';
import { formatBytes } from '../../../src/units.ts';
import { rate } from './rate.ts';

const TITLES: Readonly<Record<TunedOperation, string>> = {
  zero: 'Zero pages',
  copy: 'Copy pages within the pool',
  store: 'Store pages, to host memory',
  load: 'Load pages, from host memory',
};

type Way = Strategies[TunedOperation];

function aboutWay(operation: TunedOperation, way: Way): string {
  const about: Readonly<Record<string, string>> = {
    clear: 'a command for each run of neighbours',
    bounce: 'commands, through a buffer between',
    kernel: 'one dispatch of a compute shader',
    copy: 'a command for each run of neighbours, into staging',
    gather: 'a compute shader packs them for one copy',
    write: 'writeBuffer for each run of neighbours',
    ring: 'packed into buffers that are mapped ahead of use',
    pack: 'packed, written at once, spread by commands',
    scatter: 'packed, written at once, spread by a compute shader',
  };
  return about[operation === 'copy' && way === 'copy' ? 'bounce' : way];
}

export function OperationTables({ result, list }: { result: BandwidthResult; list: ListKind }) {
  return (
    <div class="operations">
      {OPERATIONS.map((operation) => (
        <OperationTable key={operation} operation={operation} result={result} list={list} />
      ))}
      <p class="aside">
        Bold: the way that is taken on this adapter where nothing was asked for. Engines can also be told to
        find the fastest one themselves.
      </p>
    </div>
  );
}

interface OperationTableProps {
  readonly operation: TunedOperation;
  readonly result: BandwidthResult;
  readonly list: ListKind;
}

function OperationTable({ operation, result: { rows, limits }, list }: OperationTableProps) {
  const own = rows.filter((row) => row.operation === operation && row.list === list);
  const ways = [...new Set(own.map(({ way }) => way))];
  const sizes = [...new Set(own.map(({ pageBytes }) => pageBytes))];
  const limit = limits.find(({ name }) => name === LIMIT_OF[operation])!;
  return (
    <section class="panel" aria-labelledby={`operation-${operation}`}>
      <header>
        <h2 id={`operation-${operation}`}>{TITLES[operation]}</h2>
        <p class="aside">
          GB/s. A full bar is {limit.name}: {rate(limit.bytes, limit.milliseconds)} GB/s.
        </p>
      </header>
      <table>
        <thead>
          <tr>
            <th scope="col">Page</th>
            {ways.map((way) => (
              <th key={way} scope="col" class="number">
                {way}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {sizes.map((pageBytes) => (
            <tr key={pageBytes}>
              <th scope="row">{formatBytes(pageBytes)}</th>
              {ways.map((way) => (
                <Cell key={way} row={own.find((row) => row.pageBytes === pageBytes && row.way === way)} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      <dl class="ways">
        {ways.map((way) => (
          <div key={way}>
            <dt>{way}</dt>
            <dd>{aboutWay(operation, way)}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Cell({ row }: { row: BandwidthRow | undefined }) {
  if (row === undefined) return <td />;
  const { bytes, milliseconds, ofLimit, isDefault } = row;
  const share = ofLimit === null ? 'unknown share' : `${(100 * ofLimit).toFixed(0)} %`;
  return (
    <td class={`number ${isDefault ? 'default' : ''}`} title={`${share} of the limit`}>
      {rate(bytes, milliseconds)}
      <meter min={0} max={1} value={Math.min(ofLimit ?? 0, 1)}>
        {share}
      </meter>
    </td>
  );
}
