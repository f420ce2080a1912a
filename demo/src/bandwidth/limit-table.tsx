/** What the machine can do at best. */
import type { LimitName, MachineLimit } from '../../../src/bandwidth/limits.ts';
import { formatBytes } from '../../../src/units.ts';
import { rate } from './rate.ts';

const ABOUT: Readonly<Record<LimitName, string>> = {
  memcpy: 'from host memory to host memory',
  clear: 'one buffer, by one command',
  copy: 'one buffer onto another, by one command',
  'copy to staging': 'onto a buffer that can be mapped',
  'map, memcpy, unmap': 'such a buffer to host memory',
  writeBuffer: 'host memory to a buffer, by one call',
  'mapped at creation': 'host memory to a new buffer, and from there',
  'empty submit': 'until the device says that nothing is done',
};

export function LimitTable({ limits }: { limits: readonly MachineLimit[] }) {
  return (
    <section class="panel" aria-labelledby="limits">
      <header>
        <h2 id="limits">What this machine can do at best</h2>
        <p class="aside">{formatBytes(limits[0]?.bytes ?? 0)} in one piece.</p>
      </header>
      <table>
        <tbody>
          {limits.map(({ name, bytes, milliseconds }) => (
            <tr key={name}>
              <th scope="row">
                {name} <span class="aside">{ABOUT[name]}</span>
              </th>
              <td class="number">
                {bytes === 0 ? `${milliseconds.toFixed(2)} ms` : `${rate(bytes, milliseconds)} GB/s`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
