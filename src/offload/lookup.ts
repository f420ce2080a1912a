/** How the host tier answers, and the scans that turn answers into a length that every group can use. */
import type { OffloadGroup } from './groups.ts';
import { floorTo } from '../units.ts';

/**
 * `HIT_PENDING`: the key has a slot whose bytes are not there yet. `RETRY`: the answer is not known yet, ask once
 * more (a tier behind this one would say so; the host tier itself never does).
 */
export type LookupResult = 'MISS' | 'HIT_PENDING' | 'HIT' | 'RETRY';

export interface ScanResult {
  /** Chunks from `start` on that are in the tier, or will be, and that a hit can end behind. */
  readonly chunks: number;
  /** One of them is on its way, or its answer is: the count is not final. */
  readonly pending: boolean;
}

/**
 * The longest run of keys in the tier from `start` on: what full attention can use. A `RETRY` does not count but the
 * scan goes on behind it, so that every undecided key is asked for at once; the first `MISS` ends it.
 */
export function scanForward(lookup: (chunk: number) => LookupResult, start: number, end: number): ScanResult {
  let chunks = 0;
  let pending = false;
  for (let chunk = start; chunk < end; chunk += 1) {
    const result = lookup(chunk);
    if (result === 'MISS') break;
    if (result !== 'HIT') pending = true;
    if (result !== 'RETRY') chunks += 1;
  }
  return { chunks, pending };
}

/**
 * The last place that `window` keys in a row lead up to: what a window, or a state (a window of one), can use. Without
 * such a place the run that begins at `start` counts, since what it lacks lies before `start`. What is still being
 * written counts if it is part of the answer; what is undecided could always change it.
 */
export function scanWindow(
  lookup: (chunk: number) => LookupResult,
  start: number,
  end: number,
  window: number,
): ScanResult {
  if (window === 0) return { chunks: Math.max(0, end - start), pending: false };
  let run = 0;
  let writing = false;
  let undecided = false;
  for (let chunk = end - 1; chunk >= start; chunk -= 1) {
    const result = lookup(chunk);
    if (result === 'MISS' || result === 'RETRY') {
      run = 0;
      writing = false;
      undecided ||= result === 'RETRY';
      continue;
    }
    run += 1;
    writing ||= result === 'HIT_PENDING';
    if (run === window) return { chunks: chunk + window - start, pending: writing || undecided };
  }
  return { chunks: run, pending: writing || undecided };
}

export interface AgreeBounds {
  /** Tokens that the device has. */
  readonly localTokens: number;
  /** The hit ends here at most. */
  readonly tokensMax: number;
  /** Tokens of whole units of the request: keys exist up to here. */
  readonly keyedTokens: number;
  /** A hit is a multiple of this. */
  readonly unitTokens: number;
}

/**
 * The longest length that every group can serve, the local tokens included, as a fixed point; `localTokens` if there is
 * none. A group that gives less than another one makes both be asked again, since a window may fail there.
 */
export function agreeOnHit(
  groups: readonly OffloadGroup[],
  lookup: (group: OffloadGroup, chunk: number) => LookupResult,
  bounds: AgreeBounds,
): number | 'ask again' {
  const { localTokens, unitTokens } = bounds;
  let tokens = floorTo(bounds.tokensMax, unitTokens);
  for (;;) {
    const before = tokens;
    let pending = false;
    for (const group of groups) {
      if (tokens < localTokens + unitTokens) return localTokens;
      const found = scanGroup(group, (chunk) => lookup(group, chunk), { ...bounds, tokensMax: tokens });
      pending ||= found.pending;
      tokens = floorTo(Math.min(tokens, found.tokens), unitTokens);
    }
    if (tokens <= localTokens) return localTokens;
    if (tokens === before) return pending ? 'ask again' : tokens;
  }
}

function scanGroup(
  group: OffloadGroup,
  lookup: (chunk: number) => LookupResult,
  { localTokens, tokensMax, keyedTokens }: AgreeBounds,
): { tokens: number; pending: boolean } {
  const { tokensPerChunk, windowChunks, draft } = group;
  const start = Math.floor(localTokens / tokensPerChunk);
  // A drafter's last chunk is no use, so one more must be there than is used.
  const extra = draft ? 1 : 0;
  const keyed = Math.floor(keyedTokens / tokensPerChunk);
  const end = Math.min(Math.floor(tokensMax / tokensPerChunk) + extra, keyed);
  const { chunks, pending } =
    windowChunks === null
      ? scanForward(lookup, start, end)
      : scanWindow(lookup, start, end, windowChunks + extra);
  return { tokens: (start + Math.max(0, chunks - extra)) * tokensPerChunk, pending };
}
