/** How the host tier answers, and the scans that turn answers into a number of pages. */

/**
 * `HIT_PENDING`: the key has a slot whose bytes are not there yet. `RETRY`: the answer is not known yet, ask once
 * more (a tier behind this one would say so; the host tier itself never does).
 */
export type LookupResult = 'MISS' | 'HIT_PENDING' | 'HIT' | 'RETRY';

export interface ScanResult {
  /** Pages from `start` on that are in the tier, or will be. */
  readonly pages: number;
  /** One of them is on its way, or its answer is: the count is not final. */
  readonly pending: boolean;
}

/**
 * The longest run of keys in the tier from `start` on: what full attention can use. A `RETRY` does not count but the
 * scan goes on behind it, so that every undecided key is asked for at once; the first `MISS` ends it.
 */
export function scanForward(lookup: (page: number) => LookupResult, start: number, end: number): ScanResult {
  let pages = 0;
  let pending = false;
  for (let page = start; page < end; page += 1) {
    const result = lookup(page);
    if (result === 'MISS') break;
    if (result !== 'HIT') pending = true;
    if (result !== 'RETRY') pages += 1;
  }
  return { pages, pending };
}
