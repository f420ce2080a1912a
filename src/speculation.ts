/** Speculative decoding as an engine sees it: somebody proposes tokens, a step computes them, and they are verified. */
import type { Request } from './schedule/request.ts';

/** A request that goes on, of whose last drafts `accepted` were right. */
export interface Drafting {
  readonly request: Request;
  readonly accepted: number;
  /** Tokens that may be proposed at most. May be 0. */
  readonly tokensMax: number;
}

export interface Speculation {
  /** Tokens that are proposed for one step at most. */
  readonly tokensMax: number;
  /** Drafts end at a multiple of this many tokens, so that a state stands there. */
  readonly boundaryTokens: number;
  /**
   * Tokens behind `request`'s last one, after a step that computed the drafts as well: those of the drafts that are right,
   * from the first on, and one more.
   */
  verify(request: Request, drafts: readonly number[]): Promise<readonly number[]>;
  /** By request: tokens that may come next. */
  propose(requests: readonly Drafting[]): Promise<readonly (readonly number[])[]>;
}
