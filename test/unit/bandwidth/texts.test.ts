/** What is printed of a result: of one runtime, and of several beside each other. */
import { expect, it } from 'vitest';
import { bandwidthTable } from '../../../scripts/support/bandwidth-table.ts';
import { bandwidthText } from '../../../src/cli/bandwidth-text.ts';
import { bandwidthResult } from './result.ts';

it('one runtime: limits, ways, where the kernel wins, both directions, release', () => {
  expect(`\n${bandwidthText(bandwidthResult())}`).toMatchInlineSnapshot(`
    "
    Node.js/20 on an adapter, a software adapter; 4 staging buffers of 2 MiB; medians; in 2.50 s

    What the machine can do at best
      memcpy, 954 MiB  40.0 GB/s
      clear, 954 MiB   40.0 GB/s
      copy, 954 MiB    40.0 GB/s
      empty submit       0.50 ms

    Zero: GB/s, and share of clear at 40.0 GB/s
              neighbouring pages           scattered pages
      page    clear         kernel         clear         kernel
      64 KiB   10.0  25 %*    20.0  50 %    10.0  25 %*    20.0  50 %
      neighbouring: the kernel is faster at every size
      scattered: the kernel is faster at every size

    Copy within the pool: GB/s, and share of copy at 40.0 GB/s
              neighbouring pages            scattered pages
      page    bounce         kernel         bounce         kernel
      64 KiB    10.0  25 %*     5.0  13 %     10.0  25 %*     5.0  13 %
      neighbouring: commands are faster at every size
      scattered: commands are faster at every size

    Store, pool to host: GB/s, and share of memcpy at 40.0 GB/s
              neighbouring pages          scattered pages
      page    copy         gather         copy         gather
      64 KiB  10.0  25 %*    10.5  26 %   10.0  25 %*    10.5  26 %

    Load, host to pool: GB/s, and share of memcpy at 40.0 GB/s
              neighbouring pages         scattered pages
      page    write         ring         write         ring
      64 KiB   10.0  25 %*  20.0  50 %    10.0  25 %*  20.0  50 %

    Both directions at once: GB/s of both together, times as fast as one after the other
      page    neighbouring          scattered
      64 KiB          20.0  1.30 x       20.0  1.30 x

    CPU time until stored pages may be overwritten, up to 64 pages
      page    neighbouring  scattered
      64 KiB      0.013 ms   0.013 ms

    *  the way for this adapter where nothing is asked for and nothing was tuned
    "
  `);
});

it('one runtime that was stopped early', () => {
  const result = { ...bandwidthResult(), rows: [], bothDirections: [], release: [] };
  expect(bandwidthText(result)).not.toMatch(/Zero|Both directions/);
  expect(bandwidthText({ ...result, limits: [] })).toMatch(/Ended before anything was measured/);
});

it('several runtimes: the default way, a clearly faster one, and what could not run', () => {
  const node = bandwidthResult();
  const browser = { ...node, rows: node.rows.slice(0, 4), bothDirections: [], release: [] };
  const table = bandwidthTable([
    { name: 'Node', result: node },
    { name: 'Chromium', result: browser },
    { name: 'Deno', missing: 'no\n  adapter' },
  ]);
  expect(`\n${table}\n`).toMatchInlineSnapshot(`
    "
    Node: Node.js/20 on an adapter
    Chromium: Node.js/20 on an adapter
    Deno: not run: no adapter

    GB/s by the default way and its share of the limit; behind it a way that is faster by a tenth or more, if any

    zero                  Node                      Chromium
    clear                 40.0                      40.0
    64 KiB  neighbouring  10.0  25 % (kernel 20.0)  10.0  25 % (kernel 20.0)
    64 KiB  scattered     10.0  25 % (kernel 20.0)  10.0  25 % (kernel 20.0)

    copy                  Node        Chromium
    copy                  40.0        40.0
    64 KiB  neighbouring  10.0  25 %  -
    64 KiB  scattered     10.0  25 %  -

    store                 Node        Chromium
    memcpy                40.0        40.0
    64 KiB  neighbouring  10.0  25 %  -
    64 KiB  scattered     10.0  25 %  -

    load                  Node                    Chromium
    memcpy                40.0                    40.0
    64 KiB  neighbouring  10.0  25 % (ring 20.0)  -
    64 KiB  scattered     10.0  25 % (ring 20.0)  -

    both directions at once: times as fast as one after the other
                          Node    Chromium
    64 KiB  neighbouring  1.30 x  -
    64 KiB  scattered     1.30 x  -

    CPU time until stored pages may be overwritten, ms for up to 64 pages
                          Node   Chromium
    64 KiB  neighbouring  0.013  -
    64 KiB  scattered     0.013  -
    "
  `);
});

it('no runtime at all', () => {
  expect(bandwidthTable([{ name: 'Deno', missing: 'no adapter' }])).toBe('Deno: not run: no adapter');
});
