/** What the connector remembers of a request. */
import type { Holdings } from '../schedule/connector-interface.ts';
import type { Request } from '../schedule/request.ts';
import type { JobId, PrefixKey } from '../units.ts';

export interface RequestState {
  readonly request: Request;
  /**
   * By offloaded group: the next chunk to offer to the host tier. Chunks before it were offered or loaded. Only a reset
   * moves it back.
   */
  readonly cursors: number[];
  /** By offloaded group: chunks before this one were offered once, accepted or not. */
  readonly offered: number[];
  /** In flight: one load, or any number of stores. */
  readonly jobs: Set<JobId>;
  /** Keys of the tails that this request stored or loaded. */
  readonly tails: PrefixKey[];
  /** Keys that this request brought into the host tier. */
  readonly stored: Set<PrefixKey>;
  /** A load failed: the request computes what the tier could not deliver, instead of asking for it for ever. */
  hostRefused: boolean;
  /** Set when the request is over. */
  finished: boolean;
  /** Between the end of the request and the next step: what its last stores may read. */
  last: { readonly holdings: Holdings; readonly computedTokens: number } | null;
}

export function newRequestState(request: Request, groups: number): RequestState {
  return {
    request,
    cursors: new Array<number>(groups).fill(0),
    offered: new Array<number>(groups).fill(0),
    jobs: new Set(),
    tails: [],
    stored: new Set(),
    hostRefused: false,
    finished: false,
    last: null,
  };
}

/**
 * Tokens of a finished request whose rows a forward pass computed. The token sampled last never went through one;
 * an aborted request may have stopped short of sampling, and everything it computed counts.
 */
export function computedAtEnd(request: Request): number {
  if (request.finishReason === 'aborted') return request.computedTokens;
  return Math.min(request.computedTokens, request.sequence.length - 1);
}
