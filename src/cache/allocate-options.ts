/** How much a request wants in one step, and which amounts make sense. */
import type { CacheLayout } from '../config/layout.ts';
import { ConfigError, invariant } from '../errors.ts';
import type { RequestId } from '../units.ts';
import { NO_HIT, type PrefixHit } from './coordinator.ts';
import type { CacheRequest } from './groups/group.ts';

export interface AllocateOptions {
  /** First allocation only: what `lookup` gave. Its pages are touched and become the start of the tables. */
  readonly hit?: PrefixHit;
  /** First allocation only: tokens behind the hit that a load will bring. They end where a hit could end. */
  readonly externalTokens?: number;
  /** Tokens computed before this step; 0 at the first allocation, which adds hit and external itself. */
  readonly computedTokens: number;
  /** Tokens to compute in this step, unverified drafts included. 0 only with external tokens. */
  readonly newTokens: number;
  /** Room for tokens beyond the new ones. It is allocated, and never published. Recurrent groups need none. */
  readonly lookaheadTokens?: number;
  /** The request can never get longer than this; lookahead past it needs no room. */
  readonly tokensMax?: number;
  /** Whether full pages are published now. `false` while a load is outstanding: then `publish` does it. */
  readonly publish?: boolean;
  /** Pages that must stay free for others. */
  readonly reservedPages?: number;
  /** Tokens among the computed ones whose steps are dispatched and not processed: they may still read any page. */
  readonly inFlightTokens?: number;
  /** Full pages are published up to here at most: what later tokens are is not known yet. Default: the sequence. */
  readonly seenTokens?: number;
  /** Keep the configured watermark free as well: for a waiting request that joins running ones. */
  readonly useWatermark?: boolean;
  /**
   * Refuse unless the whole request would fit at once: its length, and how many tokens can be in flight, which is what
   * a window adds to its own span.
   */
  readonly fullSequence?: { readonly tokens: number; readonly inFlightTokens: number };
}

/** Throws `ConfigError` for amounts that fit no request. */
export function requireAmounts(request: CacheRequest, options: AllocateOptions, layout: CacheLayout): void {
  const { hit = NO_HIT, externalTokens = 0, computedTokens, newTokens } = options;
  const { id, sequence } = request;
  requireCount('computedTokens', computedTokens, id);
  requireCount('newTokens', newTokens, id);
  requireCount('externalTokens', externalTokens, id);
  requireCount('lookaheadTokens', options.lookaheadTokens ?? 0, id);
  requireCount('tokensMax', options.tokensMax ?? 0, id);
  requireCount('reservedPages', options.reservedPages ?? 0, id);
  requireCount('inFlightTokens', options.inFlightTokens ?? 0, id);
  requireCount('seenTokens', options.seenTokens ?? 0, id);
  if (newTokens === 0 && externalTokens === 0) {
    throw new ConfigError(
      `request ${id}: neither new nor external tokens; allocate only for a step with work`,
    );
  }
  if (externalTokens === 0) return;
  const end = hit.tokens + externalTokens;
  if (end % layout.hitTokens !== 0 || end > sequence.length || hit.tokens % layout.unitTokens !== 0) {
    throw new ConfigError(
      `request ${id}: ${externalTokens} external tokens behind ${hit.tokens}; take a multiple of ` +
        `${layout.hitTokens}, within the ${sequence.length} tokens of the request, behind a hit of whole pages`,
    );
  }
}

/** Throws `InvariantError` for an allocation that does not fit what the request holds and what the cache still has. */
export function requirePlace(
  { id }: CacheRequest,
  options: AllocateOptions,
  held: { readonly isFirst: boolean; readonly tokens: number; readonly isHitValid: boolean },
): void {
  const { hit = NO_HIT, externalTokens = 0, computedTokens } = options;
  if (held.isFirst) {
    invariant(
      computedTokens === 0,
      `request ${id} holds no pages and cannot have ${computedTokens} computed tokens`,
    );
    invariant(
      held.isHitValid,
      `request ${id}: its hit of ${hit.tokens} tokens is not what the cache holds; look up again before allocating`,
    );
    return;
  }
  invariant(
    hit.tokens === 0 && externalTokens === 0,
    `request ${id} holds pages already; a hit or a load belongs to its first allocation`,
  );
  invariant(
    computedTokens <= held.tokens,
    `request ${id}: ${computedTokens} computed tokens, but it holds pages for ${held.tokens} only`,
  );
}

/** Throws `ConfigError` unless the value is a whole number, 0 or more. */
export function requireCount(name: string, value: number, id: RequestId): void {
  if (!Number.isInteger(value) || value < 0) {
    throw new ConfigError(`request ${id}: ${name} is ${value}; it must be a whole number, 0 or more`);
  }
}
