/**
 * Prefix keys: a chained hash of everything up to the end of a full page, and the group whose rows the page holds.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { ConfigError } from '../errors.ts';
import { groupId, type GroupId, type PrefixKey } from '../units.ts';
import { createCborPrefixHasher, encodeCbor, type CborValue } from './canonical-cbor.ts';

/** Bytes of a chained hash. */
export const HASH_BYTES = 32;
const GROUP_DIGITS = 8;

/** Hashes the units of a prompt one after the other, each onto the hash of all that comes before it. */
export interface PrefixHasher {
  /** Whether extras come with their kinds (`taggedExtras`). Portable hashes have none. Default: true. */
  readonly tagged?: boolean;
  /** Parent of the first page, 32 bytes. */
  readonly seed: Uint8Array;
  /**
   * Writes the 32-byte hash of one unit into `out`, which may be `parent`. `extras` is what tells the unit apart beside
   * its tokens: see `unitExtras` and `taggedExtras`.
   */
  hash(parent: Uint8Array, tokens: Uint32Array, out: Uint8Array, extras?: readonly CborValue[] | null): void;
}

export interface PrefixHasherOptions {
  /** Separates prompts that must not share pages. The empty salt and no salt are the same. */
  readonly salt?: string;
  /**
   * `binary`, the default, is the fast one. `cbor` gives the hashes that other caches compute over canonical CBOR,
   * for exchange with them.
   */
  readonly encoding?: 'binary' | 'cbor';
  /** For `cbor`: the text whose hash is the seed. */
  readonly seedText?: string;
}

/**
 * A hasher of SHA-256 strength. With the binary encoding one unit is hashed as
 *
 *   32 bytes of parent hash | each token as 4 bytes, least significant first | extras as canonical CBOR, if any
 *
 * which is unambiguous: all units of a cache have the same number of tokens, so the first two fields have fixed sizes,
 * and what is behind them is one CBOR list or nothing. The seed is the hash of a fixed text, a zero byte and the salt's UTF-16 units, two bytes each.
 * Units rather than UTF-8, so that no two strings have the same form, not even ill-formed ones. The salt comes last
 * and nothing follows it, so its length needs no field; it reaches every page through the chain.
 */
export function createPrefixHasher(options: PrefixHasherOptions = {}): PrefixHasher {
  const { salt = '', encoding = 'binary', seedText } = options;
  if (encoding === 'cbor') {
    return createCborPrefixHasher(seedText === undefined ? { salt } : { salt, seedText });
  }
  if (seedText !== undefined) {
    throw new ConfigError(
      `seedText ${JSON.stringify(seedText)} has no meaning without encoding 'cbor'; use salt`,
    );
  }
  return { seed: binarySeed(salt), hash: hashUnit };
}

/** True where the bytes of a `Uint32Array` are in the order of the encoding, so that they are hashed in place. */
const LITTLE_ENDIAN = new Uint8Array(Uint32Array.of(1).buffer)[0] === 1;

function hashUnit(
  parent: Uint8Array,
  tokens: Uint32Array,
  out: Uint8Array,
  extras: readonly CborValue[] | null = null,
): void {
  const hash = sha256.create().update(parent);
  hash.update(LITTLE_ENDIAN ? bytesOf(tokens) : bytesOf(tokens.map(swapBytes)));
  if (extras !== null) hash.update(encodeCbor(extras));
  hash.digestInto(out);
}

function bytesOf(words: Uint32Array): Uint8Array {
  return new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
}

function swapBytes(word: number): number {
  return ((word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0;
}

function binarySeed(salt: string): Uint8Array {
  const label = new TextEncoder().encode('pagefence prefix key 1\0');
  const message = new Uint8Array(label.length + 2 * salt.length);
  message.set(label);
  for (let i = 0; i < salt.length; i++) {
    const unit = salt.charCodeAt(i);
    message[label.length + 2 * i] = unit >>> 8;
    message[label.length + 2 * i + 1] = unit;
  }
  return sha256(message);
}

const HEX_DIGITS = Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0));
/** Scratch for one key: a string made at once from its codes takes a quarter of the time of one joined from pieces. */
const codes: number[] = [];

/** A hash as 8 words, as `TokenSequence.hashWords` gives them, in lower-case hex, and the group as 8 hex digits. */
export function prefixKeyOf(words: Uint32Array, at: number, group: GroupId): PrefixKey {
  const bytes = new Uint8Array(HASH_BYTES);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < HASH_BYTES / 4; i++) view.setUint32(4 * i, words[at + i]);
  return makePrefixKey(bytes, group);
}

/** The hash in lower-case hex, followed by the group as 8 hex digits. */
export function makePrefixKey(hash: Uint8Array, group: GroupId): PrefixKey {
  let length = 0;
  for (let i = 0; i < hash.length; i++) {
    codes[length++] = HEX_DIGITS[hash[i] >>> 4];
    codes[length++] = HEX_DIGITS[hash[i] & 15];
  }
  for (let digit = GROUP_DIGITS - 1; digit >= 0; digit--) {
    codes[length++] = HEX_DIGITS[(group >>> (4 * digit)) & 15];
  }
  codes.length = length;
  return String.fromCharCode(...codes) as PrefixKey;
}

/** The group of a key that `makePrefixKey` made. */
export function groupOfKey(key: PrefixKey): GroupId {
  return groupId(Number.parseInt(key.slice(-GROUP_DIGITS), 16));
}

/** The last 8 bytes of a hash as an unsigned integer: the short form for events that other systems read. */
export function hashLow64(hash: Uint8Array): bigint {
  return new DataView(hash.buffer, hash.byteOffset, hash.byteLength).getBigUint64(hash.byteLength - 8);
}
