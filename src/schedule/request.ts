/** One request: its tokens, how far they are computed, and where it stands. */
import type { TokenSequence } from '../cache/token-sequence.ts';
import type { RequestId } from '../units.ts';

/**
 * `waiting`: in the queue, holds no pages. `parked`: holds pages, its load is in flight. `loaded`: its load has ended,
 * it holds pages and is to run next. `running`. `preempted`: back in the queue, holds no pages. `finished`.
 */
export type RequestStatus = 'waiting' | 'parked' | 'loaded' | 'running' | 'preempted' | 'finished';

/** `length`: it has all tokens that it asked for. `stop`: it sampled one of its stop tokens, which is the last one. */
export type FinishReason = 'length' | 'stop' | 'aborted';

export interface Request {
  readonly id: RequestId;
  /** Prompt and output so far, with the prefix keys of its full pages. */
  readonly sequence: TokenSequence;
  /** Where its prompt ends. A fork's is its parent's: what the parent had generated is no prompt. */
  readonly promptTokens: number;
  /** Tokens that it began with; what it is asked for comes behind them. The prompt, unless it is a fork. */
  readonly begunTokens: number;
  readonly maxOutputTokens: number;
  /** Tokens that end it when they are sampled. */
  readonly stopTokens: ReadonlySet<number>;
  /** Whether nothing that others computed is used. Its own pages can be found and stored as any. */
  readonly ignoresCache: boolean;
  /** Less is more urgent. Only under the policy `priority`. */
  readonly priority: number;
  /** Requests that were added before it: the order of those that are equally urgent. */
  readonly arrival: number;
  status: RequestStatus;
  /** Tokens whose rows are in pages, or will be once the steps dispatched so far have run. */
  computedTokens: number;
  /** Steps that it takes part in and that are dispatched and not processed, and the tokens that they compute. */
  stepsInFlight: number;
  inFlightTokens: number;
  /**
   * Tokens at the end of the sequence that steps in flight sample. The device has them; the scheduler may not act on
   * what they are before their step is processed.
   */
  unseenTokens: number;
  /** Whose row of the step in flight its next token comes from: its parent's right after a fork, else its own. */
  sampledFrom: RequestId;
  /** Proposed tokens behind the sequence: the step that computes its last token computes them as well. */
  drafts: readonly number[];
  /** Tokens that it did not compute itself since it was last admitted: found on the device, or loaded. */
  foundTokens: number;
  /** What its prompt shares with others beyond what could be found: states that end there are worth keeping. */
  sharedPrefixTokens: number;
  finishReason: FinishReason | null;
  preemptions: number;
  /** Tokens found on the device and in the host tier at admission; the first admission counts, later ones do not. */
  hitTokens: { device: number; host: number } | null;
}

/** What a request is from the start. */
export type NewRequest = Pick<
  Request,
  | 'id'
  | 'sequence'
  | 'promptTokens'
  | 'begunTokens'
  | 'maxOutputTokens'
  | 'stopTokens'
  | 'ignoresCache'
  | 'priority'
  | 'arrival'
>;

/** Written out, not spread: every step reads these fields, and engines keep a spread of this size in a slow form. */
export function createRequest(what: NewRequest): Request {
  return {
    id: what.id,
    sequence: what.sequence,
    promptTokens: what.promptTokens,
    begunTokens: what.begunTokens,
    maxOutputTokens: what.maxOutputTokens,
    stopTokens: what.stopTokens,
    ignoresCache: what.ignoresCache,
    priority: what.priority,
    arrival: what.arrival,
    status: 'waiting',
    computedTokens: 0,
    stepsInFlight: 0,
    inFlightTokens: 0,
    unseenTokens: 0,
    sampledFrom: what.id,
    drafts: [],
    foundTokens: 0,
    sharedPrefixTokens: 0,
    finishReason: null,
    preemptions: 0,
    hitTokens: null,
  };
}

/** Tokens of a request that the scheduler knows: the prompt, and what processed steps sampled. */
export function seenTokens({ sequence, unseenTokens }: Request): number {
  return sequence.length - unseenTokens;
}

/** A request that is over. */
export interface FinishedRequest {
  readonly id: string;
  readonly reason: FinishReason;
  /** Tokens that it began with: its prompt, and for a fork what it took over of its parent's output as well. */
  readonly promptTokens: number;
  readonly outputTokens: number;
  /** Those of them that were not computed, by the tier that supplied them. */
  readonly hitTokens: { readonly device: number; readonly host: number };
  readonly preemptions: number;
}
