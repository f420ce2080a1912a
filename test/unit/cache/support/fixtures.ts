/** Short ways to say what the cases of the cache tests say: tokens, requests, pools. */
import {
  CacheManager,
  type AllocateOptions,
  type CacheRequest,
  type GroupPages,
} from '../../../../src/cache/cache-manager.ts';
import type { CacheEvent } from '../../../../src/cache/events.ts';
import { createPrefixHasher } from '../../../../src/cache/prefix-key.ts';
import { TokenSequence } from '../../../../src/cache/token-sequence.ts';
import { cacheConfigSchema, type CacheConfig } from '../../../../src/config.ts';
import { groupId, pageId, requestId, type PageId, type PrefixKey } from '../../../../src/units.ts';

export const hasher = createPrefixHasher();

/** Integers `start` to `end` - 1. */
export function range(start: number, end: number): number[] {
  return Array.from({ length: end - start }, (_, i) => start + i);
}

export function pages(...ids: number[]): PageId[] {
  return ids.map(pageId);
}

export function config(
  options: Partial<CacheConfig> & { pages: number; tokensPerPage: number },
): CacheConfig {
  return cacheConfigSchema.parse({ pageBytes: 64, ...options });
}

/** Pages of all groups in one list. */
export function listed(groups: readonly GroupPages[]): PageId[] {
  return groups.flatMap((group) => group.pages);
}

/** Key of a full page of a one-group sequence. */
export function keyAt(sequence: TokenSequence, page: number): PrefixKey {
  return sequence.prefixKey((page + 1) * sequence.unitTokens, groupId(0));
}

/** A manager and everything it reported. */
export function cache(options: Partial<CacheConfig> & { pages: number; tokensPerPage: number }) {
  const events: CacheEvent[] = [];
  const manager = new CacheManager(config(options), { onEvent: (event) => events.push(event) });
  return { manager, events };
}

export function request(
  name: string,
  tokens: ArrayLike<number>,
  tokensPerPage: number,
  salt?: string,
): CacheRequest {
  const ofSalt = salt === undefined ? hasher : createPrefixHasher({ salt });
  return {
    id: requestId(name),
    sequence: new TokenSequence({ tokens, unitTokens: tokensPerPage, hasher: ofSalt }),
  };
}

/** Pages that an allocation adds in the first group, or null. */
export function allocate(manager: CacheManager, who: CacheRequest, options: AllocateOptions) {
  return manager.allocate(who, options)?.[0] ?? null;
}

/** Looks up, and allocates all tokens behind the hit unless told otherwise. */
export function admit(manager: CacheManager, who: CacheRequest, options: Partial<AllocateOptions> = {}) {
  const hit = manager.lookup(who);
  const newTokens = who.sequence.length - hit.tokens - (options.externalTokens ?? 0);
  const added = manager.allocate(who, { hit, computedTokens: 0, newTokens, ...options });
  manager.checkIntegrity();
  return { hit: hit.tokens, hitPages: hit.pages[0] ?? [], added: added?.[0] ?? null };
}

/** Appends the tokens that were sampled, then allocates for those not computed yet. */
export function grow(
  manager: CacheManager,
  who: CacheRequest,
  computedTokens: number,
  tokens: readonly number[],
) {
  for (const token of tokens) who.sequence.append(token);
  const added = manager.allocate(who, { computedTokens, newTokens: who.sequence.length - computedTokens });
  manager.checkIntegrity();
  return added?.[0] ?? null;
}

/** Which pages of a table carry a key. */
export function keyed(manager: CacheManager, who: CacheRequest): boolean[] {
  return manager.pageTable(who.id).map((page) => manager.keyOf(page) !== null);
}
