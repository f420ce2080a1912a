/** What a driver is told, what it keeps of a request, and what rows and pages a request needs. */
import type { Request } from '../../../../src/schedule/request.ts';
import type { PageId } from '../../../../src/units.ts';
import { TOKENS_PER_PAGE } from './requests.ts';

export interface DriverOptions {
  pages: number;
  slots: number;
  policy?: 'lru' | 'arc-tier';
  fence?: 'complete' | 'scheduled-and-loads' | 'off';
  workers?: number;
  recency?: 'on-finish' | 'on-lookup';
}

export interface Command {
  /** Prompt of a request that arrives. */
  arrival: readonly number[] | null;
  /** Stores that the worker submits of its own accord. */
  submit: number;
  /** Acknowledgements admitted, taken from `from` on among those that are due. */
  acknowledge: number;
  from: number;
  /** Picks a running request to preempt, or to abort. */
  preempt: number | null;
  abort: number | null;
  /** Transfers whose id is a multiple of it fail. 0: none. */
  failEvery: number;
  reset: boolean;
}

/** A request that the driver holds. */
export interface Running {
  readonly request: Request;
  pages: PageId[];
  /** A page that is zeroed and never offloaded, as a ring is. */
  scratch: PageId[];
  /** Not scheduled since it got its pages. */
  isNew: boolean;
  resumed: boolean;
}

/** Tokens that one request computes in a step. */
export const CHUNK = 6;
export const OUTPUT_TOKENS = 3;

/** What a forward pass leaves for a token: it depends on all tokens up to it. */
export function rowOf(request: Request, token: number): string {
  return request.sequence.tokens(token + 1).join('.');
}

/** Pages of a request at its longest, with its scratch page. */
export function pagesMax(request: Request): number {
  return Math.ceil((request.promptTokens + OUTPUT_TOKENS) / TOKENS_PER_PAGE) + 1;
}
