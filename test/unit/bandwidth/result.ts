/** A small result, made by hand, for what draws one. */
import { LIST_KINDS } from '../../../src/bandwidth/page-lists.ts';
import type { BandwidthResult, BandwidthRow } from '../../../src/bandwidth/result.ts';

const GIGABYTE = 1e9;
const measured = (milliseconds: number) => ({
  milliseconds,
  middleHalf: [milliseconds, milliseconds] as const,
  runs: 11,
});

/** 64 KiB pages move at 10 GB/s by each operation's first way, and at twice that by its second. */
export function bandwidthResult(): BandwidthResult {
  const pageBytes = 65_536;
  const row = (operation: BandwidthRow['operation'], way: BandwidthRow['way'], rate: number) =>
    LIST_KINDS.map((list) => ({
      ...{ operation, way, pageBytes, list, bytes: GIGABYTE, ...measured(1000 / rate) },
      ofLimit: rate / 40,
      isDefault: rate === 10,
    }));
  const limit = (
    name: BandwidthResult['limits'][number]['name'],
    milliseconds: number,
    bytes = GIGABYTE,
  ) => ({
    name,
    bytes,
    ...measured(milliseconds),
  });
  return {
    ...{ runtime: 'node', agent: 'Node.js/20', adapter: 'an adapter', software: true, seconds: 2.5 },
    ...{ stagingBuffers: 4, stagingBytes: 2 ** 21 },
    limits: [limit('memcpy', 25), limit('clear', 25), limit('copy', 25), limit('empty submit', 0.5, 0)],
    rows: [
      ...[...row('zero', 'clear', 10), ...row('zero', 'kernel', 20)],
      ...[...row('copy', 'bounce', 10), ...row('copy', 'kernel', 5)],
      ...[...row('store', 'copy', 10), ...row('store', 'gather', 10.5)],
      ...[...row('load', 'write', 10), ...row('load', 'ring', 20)],
    ],
    bothDirections: LIST_KINDS.map((list) => ({
      ...{ pageBytes, list, bytes: 2 * GIGABYTE, ...measured(100) },
      ...{ oneAfterTheOther: 130, gain: 1.3 },
    })),
    release: LIST_KINDS.map((list) => ({ pageBytes, list, pages: 64, ...measured(0.0125) })),
  };
}
