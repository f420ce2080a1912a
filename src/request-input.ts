/** What callers ask of an engine, and which of it makes sense. */
import { requireIdentity, type MediaItem } from './cache/request-identity.ts';
import { isToken } from './cache/token-sequence.ts';
import { ConfigError } from './errors.ts';

/** How a request goes on from its first tokens. */
interface Continuation {
  /** Unique among the requests that are not finished. */
  readonly id: string;
  /** Tokens to produce; the request is finished after that many. At least one. */
  readonly maxOutputTokens?: number;
  /** Sampling one of these ends the request; it is its last output token. Default: none. */
  readonly stopTokens?: ArrayLike<number>;
  /** Less is more urgent. Needs `schedule.policy: 'priority'`. Default: 0; of a fork, its parent's. */
  readonly priority?: number;
}

export interface RequestInput extends Continuation {
  /** Prompt token ids, unsigned 32-bit integers. At least one. */
  readonly tokens: ArrayLike<number>;
  /** Only requests with the same salt share pages. Default: none. */
  readonly salt?: string;
  /** Name of the adapter (LoRA) that the request is computed with: other adapters' pages are no use to it. */
  readonly adapter?: string;
  /** What stands behind placeholder tokens, in the order of the offsets. */
  readonly media?: readonly MediaItem[];
  /** Compute the whole prompt, whatever is cached; others may find it afterwards. Default: false. */
  readonly ignoreCache?: boolean;
}

export interface ForkInput extends Continuation {
  /** So many of the parent's tokens the fork begins with. Default: all that it has, its output included. */
  readonly parentTokens?: number;
  /** Tokens of its own behind those, as a beam has: unsigned 32-bit integers. Default: none. */
  readonly tokens?: ArrayLike<number>;
}

/** Throws `ConfigError` that names the field, its value and the remedy. */
export function requireRequest(input: RequestInput): void {
  requireContinuation(input);
  const { id, tokens, ignoreCache = false } = input;
  requireTokens(id, 'tokens', tokens);
  if (tokens.length === 0) throw new ConfigError(`request ${id} has no prompt tokens; give it at least one`);
  if (typeof ignoreCache !== 'boolean') {
    throw new ConfigError(`request ${id}: ignoreCache is ${shown(ignoreCache)}; use true or false`);
  }
  requireIdentity(id, input);
}

/** The same for a fork of a request that has `length` tokens. */
export function requireFork(input: ForkInput, length: number): void {
  requireContinuation(input);
  const { id, parentTokens = length, tokens = [] } = input;
  requireTokens(id, 'tokens', tokens);
  if (!Number.isInteger(parentTokens) || parentTokens < 0 || parentTokens > length) {
    throw new ConfigError(
      `request ${id}: parentTokens is ${shown(parentTokens)}; use an integer from 0 to the ${length} tokens of its parent`,
    );
  }
  if (parentTokens + tokens.length === 0) {
    throw new ConfigError(`request ${id} has no tokens to begin with; give it at least one`);
  }
}

function requireContinuation(input: Continuation): void {
  const { id, maxOutputTokens = 1, stopTokens = [], priority = 0 } = input;
  if (typeof id !== 'string' || id === '') {
    throw new ConfigError(`a request's id is ${shown(id)}; give it a string that is not empty`);
  }
  if (!Number.isInteger(maxOutputTokens) || maxOutputTokens < 1) {
    throw new ConfigError(
      `request ${id}: maxOutputTokens is ${shown(maxOutputTokens)}; use an integer of at least 1`,
    );
  }
  if (!Number.isFinite(priority)) {
    throw new ConfigError(`request ${id}: priority is ${shown(priority)}; use a number`);
  }
  requireTokens(id, 'stopTokens', stopTokens);
  const wrong = Array.from(stopTokens).find((token) => !isToken(token));
  if (wrong !== undefined) {
    throw new ConfigError(
      `request ${id}: stop token ${shown(wrong)} is no token id; use integers from 0 to 2^32 - 1`,
    );
  }
}

/** The ids themselves are looked at where they are copied. */
function requireTokens(id: string, name: string, tokens: unknown): void {
  const isList =
    typeof tokens === 'object' && tokens !== null && 'length' in tokens && isCount(tokens.length);
  if (!isList) throw new ConfigError(`request ${id}: ${name} is not a list; give an array of token ids`);
}

function isCount(value: unknown): boolean {
  return Number.isInteger(value) && (value as number) >= 0;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
