/** How much a request wants in one step, and which amounts make sense. */
import { ConfigError, invariant } from '../errors.ts';
import type { RequestId } from '../units.ts';
import { NO_HIT, type CacheGroup, type CacheRequest, type PrefixHit } from './groups/group.ts';

export interface AllocateOptions {
  /** First allocation only: what `lookup` gave. Its pages are touched and become the start of the table. */
  readonly hit?: PrefixHit;
  /** First allocation only: tokens behind the hit that a load will bring, a multiple of the page size. */
  readonly externalTokens?: number;
  /** Tokens computed before this step; 0 at the first allocation, which adds hit and external itself. */
  readonly computedTokens: number;
  /** Tokens to compute in this step, unverified drafts included. 0 only with external tokens. */
  readonly newTokens: number;
  /** Room for tokens beyond the new ones. It is allocated, and never published. */
  readonly lookaheadTokens?: number;
  /** The request can never get longer than this; lookahead past it needs no room. */
  readonly tokensMax?: number;
  /** Whether full pages are published now. `false` while a load is outstanding: then `publish` does it. */
  readonly publish?: boolean;
  /** Pages that must stay free for others. */
  readonly reservedPages?: number;
}

/** Throws `ConfigError` for amounts that fit no request. */
export function requireAmounts(request: CacheRequest, options: AllocateOptions, tokensPerPage: number): void {
  const { hit = NO_HIT, externalTokens = 0, computedTokens, newTokens } = options;
  const { id, sequence } = request;
  requireCount('computedTokens', computedTokens, id);
  requireCount('newTokens', newTokens, id);
  requireCount('externalTokens', externalTokens, id);
  requireCount('lookaheadTokens', options.lookaheadTokens ?? 0, id);
  requireCount('tokensMax', options.tokensMax ?? 0, id);
  requireCount('reservedPages', options.reservedPages ?? 0, id);
  if (newTokens === 0 && externalTokens === 0) {
    throw new ConfigError(
      `request ${id}: neither new nor external tokens; allocate only for a step with work`,
    );
  }
  if (externalTokens % tokensPerPage !== 0 || hit.tokens + externalTokens > sequence.length) {
    throw new ConfigError(
      `request ${id}: ${externalTokens} external tokens behind ${hit.tokens}; take a multiple of ` +
        `${tokensPerPage}, within the ${sequence.length} tokens of the request`,
    );
  }
}

/** Throws `InvariantError` for an allocation that does not fit where the request's table and its hit stand. */
export function requirePlace(request: CacheRequest, options: AllocateOptions, group: CacheGroup): void {
  const { hit = NO_HIT, externalTokens = 0, computedTokens } = options;
  const { id } = request;
  if (!group.has(id)) {
    invariant(
      computedTokens === 0,
      `request ${id} holds no pages and cannot have ${computedTokens} computed tokens`,
    );
    group.requireHit(request, hit);
    return;
  }
  invariant(
    hit.tokens === 0 && externalTokens === 0,
    `request ${id} holds pages already; a hit or a load belongs to its first allocation`,
  );
  const held = group.pageTable(id).length;
  const needed = group.pagesNeeded(computedTokens);
  invariant(
    needed <= held,
    `request ${id}: ${computedTokens} computed tokens need ${needed} pages, it holds ${held}`,
  );
}

/** Throws `ConfigError` unless the value is a whole number, 0 or more. */
export function requireCount(name: string, value: number, id: RequestId): void {
  if (!Number.isInteger(value) || value < 0) {
    throw new ConfigError(`request ${id}: ${name} is ${value}; it must be a whole number, 0 or more`);
  }
}
