/** What stores let go on beside them: loads, and work on the pages that were stored. */
import type { ListKind } from '../../../src/bandwidth/page-lists.ts';
import type { BandwidthResult } from '../../../src/bandwidth/result.ts';
import { formatBytes } from '../../../src/units.ts';

/** Browsers round their clocks to a tenth of a millisecond. */
const CLOCK_MS = 0.1;

function released(milliseconds: number): string {
  return milliseconds < CLOCK_MS ? `under ${CLOCK_MS} ms` : `${milliseconds.toFixed(1)} ms`;
}

export function OverlapTable({ result, list }: { result: BandwidthResult; list: ListKind }) {
  const releases = result.release.filter((row) => row.list === list);
  return (
    <section class="panel" aria-labelledby="overlap">
      <header>
        <h2 id="overlap">Stores beside other work</h2>
        <p class="aside">
          Storing and loading at once, against one after the other; and the CPU time from the decision to
          store up to {result.release[0].pages} pages until other work may overwrite them.
        </p>
      </header>
      <table>
        <thead>
          <tr>
            <th scope="col">Page</th>
            <th scope="col" class="number">
              Both at once
            </th>
            <th scope="col" class="number">
              Released after
            </th>
          </tr>
        </thead>
        <tbody>
          {releases.map(({ pageBytes, milliseconds }) => {
            const both = result.bothDirections.find(
              (row) => row.pageBytes === pageBytes && row.list === list,
            );
            return (
              <tr key={pageBytes}>
                <th scope="row">{formatBytes(pageBytes)}</th>
                <td class="number">{gainText(both?.gain)}</td>
                <td class="number">{released(milliseconds)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </section>
  );
}

function gainText(gain: number | null | undefined): string {
  if (gain === undefined) return '';
  return gain === null ? 'too quick to tell' : `${gain.toFixed(2)} times as fast`;
}
