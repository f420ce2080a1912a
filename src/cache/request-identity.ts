/** What tells requests with the same tokens apart: who may share, which adapter computes, what the tokens stand for. */
import { ConfigError } from '../errors.ts';
import type { CborValue } from './canonical-cbor.ts';

/** A picture, a sound or the like, whose content stands behind placeholder tokens. */
export interface MediaItem {
  /** Hash of the content. */
  readonly identifier: string;
  /** First token that it stands behind. */
  readonly offset: number;
  /** Tokens that it stands behind. */
  readonly length: number;
}

export interface RequestIdentity {
  /** Only requests with the same salt share pages. The empty salt and none are the same. */
  readonly salt?: string;
  /** Name of the adapter (LoRA) that the request is computed with. */
  readonly adapter?: string;
  /** In the order of their offsets. */
  readonly media?: readonly MediaItem[];
}

export interface UnitExtras {
  /** What is hashed beside the unit's tokens, null if nothing. */
  readonly extras: readonly CborValue[] | null;
  /** The media item to begin with for the next unit. */
  readonly nextMedia: number;
}

/**
 * What is hashed beside the tokens `start` to `end`: the adapter; each media item that overlaps them, with its place
 * relative to the unit; the salt, in the first unit only, since the chain brings it to all others. `media` items before
 * `firstMedia` end before the unit.
 */
export function unitExtras(
  identity: RequestIdentity,
  start: number,
  end: number,
  firstMedia = 0,
): UnitExtras {
  const { salt = '', adapter, media = [] } = identity;
  const extras: CborValue[] = adapter === undefined ? [] : [adapter];
  let next = firstMedia;
  while (next < media.length && media[next].offset < end) {
    const { identifier, offset, length } = media[next];
    if (offset + length > start) extras.push([identifier, offset - start]);
    // An item that reaches behind the unit is looked at again for the next one.
    if (offset + length > end) break;
    next++;
  }
  if (start === 0 && salt !== '') extras.push(salt);
  return { extras: extras.length === 0 ? null : extras, nextMedia: next };
}

/**
 * The same, each entry with the kind of thing that it is: an adapter and a salt of the same name are not the same. The
 * portable form (`unitExtras`) cannot tell them apart on the first unit.
 */
export function taggedExtras(
  identity: RequestIdentity,
  start: number,
  end: number,
  firstMedia = 0,
): UnitExtras {
  const { salt = '', adapter, media } = identity;
  const { extras, nextMedia } = unitExtras({ media }, start, end, firstMedia);
  const tagged: CborValue[] = (extras ?? []).map((item) => ['media', item]);
  if (adapter !== undefined) tagged.unshift(['adapter', adapter]);
  if (start === 0 && salt !== '') tagged.push(['salt', salt]);
  return { extras: tagged.length === 0 ? null : tagged, nextMedia };
}

/** Throws `ConfigError` that names the request for an identity that could not be told apart from another. */
export function requireIdentity(id: string, { salt, adapter, media = [] }: RequestIdentity): void {
  if (salt !== undefined && typeof salt !== 'string') {
    throw new ConfigError(`request ${id}: salt is ${String(salt)}; give a string`);
  }
  if (adapter !== undefined && (typeof adapter !== 'string' || adapter === '')) {
    throw new ConfigError(
      `request ${id}: adapter is ${JSON.stringify(adapter)}; give its name, or leave it out`,
    );
  }
  if (!Array.isArray(media)) {
    throw new ConfigError(`request ${id}: media is ${JSON.stringify(media)}; give a list of media items`);
  }
  let end = 0;
  for (const [index, item] of (media as readonly (MediaItem | null | undefined)[]).entries()) {
    if (typeof item !== 'object' || item === null) {
      throw new ConfigError(
        `request ${id}: media ${index} is ${String(item)}; give an identifier, an offset and a length`,
      );
    }
    const { identifier, offset, length } = item;
    if (typeof identifier !== 'string' || identifier === '') {
      throw new ConfigError(`request ${id}: media ${index} has no identifier; give the hash of its content`);
    }
    if (!Number.isInteger(offset) || !Number.isInteger(length) || offset < end || length < 1) {
      throw new ConfigError(
        `request ${id}: media ${index} stands at ${offset} for ${length} tokens; give whole numbers, in order, without overlap`,
      );
    }
    end = offset + length;
  }
}
