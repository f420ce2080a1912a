/** The common form of one request of a trace, and the prompt tokens that stand for it. */

/** Where a request was read. */
export interface TraceSource {
  /** File name as the caller gave it. */
  readonly file: string;
  /** Line in the file, counted from 1; `null` in formats that are one document a file. */
  readonly line: number | null;
  /** Position among the requests of the file, counted from 0; requests that were skipped as bad count too. */
  readonly index: number;
}

export interface TraceRequest {
  /** Name of the request, for messages and pictures. Unique within its file; across files use `ordinal`. */
  readonly id: string;
  /** Position among all requests read with one `IdSpace`, counted from 0 and without gaps. */
  readonly ordinal: number;
  /** Global block ids, front to back. Equal ids mean equal tokens in equal context. */
  readonly blocks: Uint32Array;
  /** Tokens that one block stands for; the last block may stand for fewer. */
  readonly blockTokens: number;
  /** Tokens of the prompt, at least 1. */
  readonly promptTokens: number;
  /** Tokens that were generated when the trace was recorded; may be 0. */
  readonly outputTokens: number;
  /** Milliseconds since the trace began; `null` where the trace does not say. */
  readonly arrivalMs: number | null;
  readonly source: TraceSource;
}

/**
 * First token id that no block has. Block ids lie below it; prompt tokens that belong to no block of the trace get
 * `TAIL_TOKEN_FIRST + ordinal`, so they equal no block's tokens and no other request's tail.
 */
export const TAIL_TOKEN_FIRST = 0xf000_0000;

/** Requests that can have a tail token of their own. */
export const ORDINALS_MAX = 2 ** 32 - TAIL_TOKEN_FIRST;

/**
 * Tokens of the prompt: each block's id repeated `blockTokens` times, cut at `promptTokens`. Where the blocks end
 * before the prompt does (a trace that names full blocks only), the rest is the request's own tail token.
 */
export function promptTokensOf(
  request: Pick<TraceRequest, 'blocks' | 'blockTokens' | 'promptTokens' | 'ordinal'>,
): Uint32Array<ArrayBuffer> {
  const { blocks, blockTokens, promptTokens, ordinal } = request;
  const tokens = new Uint32Array(promptTokens);
  for (const [index, block] of blocks.entries()) {
    tokens.fill(block, index * blockTokens, (index + 1) * blockTokens);
  }
  const covered = blocks.length * blockTokens;
  if (covered < promptTokens) tokens.fill(TAIL_TOKEN_FIRST + ordinal, covered);
  return tokens;
}
