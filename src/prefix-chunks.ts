/**
 * The bytes of a cached prefix, read from where they are and put into the host tier. A chunk is what one slot holds.
 * The engine must be idle: then no page is reused while it is read, and no slot is pinned.
 */
import { createPrefixHasher } from './cache/prefix-key.ts';
import { requireIdentity } from './cache/request-identity.ts';
import { TokenSequence } from './cache/token-sequence.ts';
import type { Engine } from './engine.ts';
import { ConfigError, invariant } from './errors.ts';
import { chunkKey, hitUnitOf, offloadGroups, type OffloadGroup } from './offload/groups.ts';
import { agreeOnHit } from './offload/lookup.ts';
import { slotId, type GroupId, type PageId } from './units.ts';

/** One chunk of a group: tokens `chunk` x tokens a chunk, and so many on. */
export interface ChunkPlace {
  readonly group: GroupId;
  readonly chunk: number;
}

export interface PrefixChunk extends ChunkPlace {
  /** The group's own bytes of each page, one page behind the other. */
  readonly bytes: Uint8Array;
}

/** Tokens as the engine's requests have them, so that they have the same keys. */
export function prefixSequence(
  { config, cache }: Engine,
  { tokens, salt }: { readonly tokens: ArrayLike<number>; readonly salt?: string | undefined },
): TokenSequence {
  requireIdentity('of a prefix', { salt });
  return new TokenSequence({
    tokens,
    unitTokens: cache.layout.hashTokens,
    hasher: createPrefixHasher({ salt: config.cache.salt }),
    ...(salt !== undefined && { identity: { salt } }),
  });
}

/** Bytes of a chunk of a group. */
export function chunkBytes({ config, cache }: Engine, group: GroupId): number {
  return config.offload.pagesPerSlot * cache.layout.groups[group].pageBytes;
}

/**
 * What is cached of a sequence's beginning, on the device or in the host tier, and that every group can serve. Of windows
 * and states it has what a hit at its end needs, and a hit one unit before that, as by the very same tokens.
 */
export async function readPrefix(
  engine: Engine,
  sequence: TokenSequence,
): Promise<{ readonly tokens: number; readonly chunks: readonly PrefixChunk[] }> {
  requireIdle(engine);
  const groups = groupsOf(engine);
  const unitTokens = hitUnitOf(groups, engine.cache.layout);
  const isCached = (group: OffloadGroup, chunk: number) =>
    slotOf(engine, sequence, group, chunk) !== null || pagesOf(engine, sequence, group, chunk) !== null;
  const keyedTokens = sequence.unitCount * sequence.unitTokens;
  const tokens = agreeOnHit(groups, (group, chunk) => (isCached(group, chunk) ? 'HIT' : 'MISS'), {
    localTokens: 0,
    tokensMax: sequence.length,
    keyedTokens,
    unitTokens,
  });
  invariant(tokens !== 'ask again', 'a prefix is read while its bytes are on their way');
  const places = placesOf(groups, { tokens, unitTokens }, isCached);
  // What is in memory is copied at once; pages take a while.
  const fromHost = places.map(({ group, chunk }) => hostBytes(engine, sequence, group, chunk));
  const chunks: PrefixChunk[] = [];
  for (const [i, { group, chunk }] of places.entries()) {
    const bytes = fromHost[i] ?? (await deviceBytes(engine, sequence, group, chunk));
    chunks.push({ group: group.id, chunk, bytes });
  }
  return { tokens, chunks };
}

/** Whether these are chunks of a prefix of so many tokens, in order, with none missing that a hit at its end needs. */
export function isWholePrefix(engine: Engine, tokens: number, places: readonly ChunkPlace[]): boolean {
  const groups = groupsOf(engine);
  const unitTokens = hitUnitOf(groups, engine.cache.layout);
  if (tokens === 0 || tokens % unitTokens !== 0) return false;
  const present = new Map(groups.map(({ id }) => [id, new Set<number>()]));
  for (const { group, chunk } of places) present.get(group)?.add(chunk);
  const isPresent = ({ id }: OffloadGroup, chunk: number) => present.get(id)!.has(chunk);
  const expected = placesOf(groups, { tokens, unitTokens }, isPresent);
  return (
    expected.length === places.length &&
    expected.every(({ group, chunk }, i) => places[i].group === group.id && places[i].chunk === chunk)
  );
}

/**
 * Puts chunks into the host tier, where requests that begin with these tokens find them. Those that are there stay.
 *
 * Throws `ConfigError`, with nothing changed, where the tier has too few places.
 */
export function putPrefix(engine: Engine, sequence: TokenSequence, chunks: readonly PrefixChunk[]): void {
  requireIdle(engine);
  const { host, config, connector, cache } = engine;
  const { manager } = connector;
  const { slots, pagesPerSlot } = config.offload;
  const groups = groupsOf(engine);
  const keys = chunks.map(({ group, chunk }) =>
    chunkKey(
      sequence,
      groups.find(({ id }) => id === group)!,
      chunk,
    ),
  );
  const prepared = host === null || slots < keys.length ? null : manager.prepareStore(keys);
  if (host === null || prepared === null) {
    throw new ConfigError(
      `hostSlots is ${slots}, and the prefix needs ${keys.length} places in host memory; use at least ${keys.length}`,
    );
  }
  const bytesOf = new Map(keys.map((key, i) => [key, chunks[i]]));
  for (const [i, key] of prepared.keys.entries()) {
    const { group, bytes } = bytesOf.get(key)!;
    const { pageBytes } = cache.layout.groups[group];
    for (let page = 0; page < pagesPerSlot; page += 1) {
      const slot = host.view(slotId(prepared.slots[i] * pagesPerSlot + page));
      slot.set(bytes.subarray(page * pageBytes, (page + 1) * pageBytes));
      slot.fill(0, pageBytes);
    }
  }
  // The head of a prefix goes last: without it the rest cannot be reached.
  manager.completeStore([...prepared.keys].reverse());
  manager.touch(keys, new Set(prepared.keys));
}

function requireIdle({ hasWork, requestCount }: Engine): void {
  if (!hasWork) return;
  throw new ConfigError(
    `${requestCount} requests and their transfers are under way; step the engine until it has no work`,
  );
}

function groupsOf({ config, cache }: Engine): OffloadGroup[] {
  const groups = offloadGroups(cache.layout, config.offload.pagesPerSlot);
  const other = cache.layout.groups.find(({ id }) => !groups.some((group) => group.id === id));
  if (other) throw new ConfigError(`group ${other.id} is a ${other.kind}, whose pages belong to no prefix`);
  if (config.cache.contextParallel > 1 || groups.some(({ draft }) => draft)) {
    throw new ConfigError(
      `prefixes over ${config.cache.contextParallel} ranks, or with a drafter's own rows, cannot be read; use one rank and no draft groups`,
    );
  }
  return groups;
}

/** Chunks of a prefix of so many tokens, in order: those that a hit at its end needs, and of the unit before what is there. */
function placesOf(
  groups: readonly OffloadGroup[],
  { tokens, unitTokens }: { readonly tokens: number; readonly unitTokens: number },
  isThere: (group: OffloadGroup, chunk: number) => boolean,
): { readonly group: OffloadGroup; readonly chunk: number }[] {
  return groups.flatMap((group) => {
    const { windowChunks, tokensPerChunk } = group;
    const end = tokens / tokensPerChunk;
    const needed = windowChunks === null ? 0 : Math.max(0, end - windowChunks);
    const first = Math.max(0, needed - unitTokens / tokensPerChunk);
    return range(first, end)
      .filter((chunk) => chunk >= needed || isThere(group, chunk))
      .map((chunk) => ({ group, chunk }));
  });
}

function slotOf(
  { connector: { manager } }: Engine,
  sequence: TokenSequence,
  group: OffloadGroup,
  chunk: number,
): number | null {
  const key = chunkKey(sequence, group, chunk);
  return manager.lookup(key) === 'HIT' ? (manager.slotOf(key) ?? null) : null;
}

/** The pages of a chunk on the device, if all of them are there. */
function pagesOf(
  { cache, config }: Engine,
  sequence: TokenSequence,
  group: OffloadGroup,
  chunk: number,
): PageId[] | null {
  const pages: PageId[] = [];
  for (let i = 1; i <= config.offload.pagesPerSlot; i += 1) {
    const tokens = chunk * group.tokensPerChunk + i * group.tokensPerPage;
    const page = cache.cachedPage(sequence, tokens, group.id);
    if (page === null) return null;
    pages.push(page);
  }
  return pages;
}

function hostBytes(
  engine: Engine,
  sequence: TokenSequence,
  group: OffloadGroup,
  chunk: number,
): Uint8Array | null {
  const { host, cache, config } = engine;
  const slot = slotOf(engine, sequence, group, chunk);
  if (host === null || slot === null) return null;
  const { pageBytes } = cache.layout.groups[group.id];
  const { pagesPerSlot } = config.offload;
  const bytes = new Uint8Array(chunkBytes(engine, group.id));
  for (let page = 0; page < pagesPerSlot; page += 1) {
    const view = host.view(slotId(slot * pagesPerSlot + page));
    bytes.set(view.subarray(0, pageBytes), page * pageBytes);
  }
  return bytes;
}

/** Only the group's own bytes: behind them a page may have those of another prefix. */
async function deviceBytes(
  engine: Engine,
  sequence: TokenSequence,
  group: OffloadGroup,
  chunk: number,
): Promise<Uint8Array> {
  const { cache, worker } = engine;
  const { pageBytes } = cache.layout.groups[group.id];
  const bytes = new Uint8Array(chunkBytes(engine, group.id));
  const pages = pagesOf(engine, sequence, group, chunk);
  invariant(pages !== null, 'a page of a prefix was reused before it was read');
  for (const [i, page] of pages.entries()) {
    bytes.set((await worker.readPage(page)).subarray(0, pageBytes), i * pageBytes);
  }
  const after = pagesOf(engine, sequence, group, chunk);
  invariant(
    after !== null && after.every((page, i) => page === pages[i]),
    'a page of a prefix was reused while it was read; leave the steps of the engine to its owner',
  );
  return bytes;
}

function range(first: number, end: number): number[] {
  return Array.from({ length: end - first }, (_, i) => first + i);
}
