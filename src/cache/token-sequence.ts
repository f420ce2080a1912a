/** The tokens of one request, and the chained hash at the end of each unit of them, computed once. */
import { ConfigError } from '../errors.ts';
import type { GroupId, PrefixKey } from '../units.ts';
import type { CborValue } from './canonical-cbor.ts';
import { HASH_BYTES, prefixKeyOf, type PrefixHasher } from './prefix-key.ts';
import { HASH_WORDS } from './prefix-index.ts';
import { taggedExtras, unitExtras, type RequestIdentity } from './request-identity.ts';

const TOKEN_COUNT = 2 ** 32;
/** Room for the first output tokens, so that a short answer never copies its prompt. */
const SPARE_TOKENS = 64;

export interface TokenSequenceOptions {
  /** Token ids, integers from 0 to 2^32 - 1. They are copied. */
  readonly tokens: ArrayLike<number>;
  /** Tokens that are hashed at once. Every page size is a multiple of it. */
  readonly unitTokens: number;
  readonly hasher: PrefixHasher;
  /** What tells the request apart from others with the same tokens. */
  readonly identity?: RequestIdentity;
}

/**
 * Grows at its end only. Views of tokens and hashes stay what they were when they were handed out: a longer sequence
 * writes behind them, or moves to new memory and leaves the old to them.
 */
export class TokenSequence {
  readonly unitTokens: number;
  readonly #hasher: PrefixHasher;
  readonly #identity: RequestIdentity | null;
  #tokens: Uint32Array;
  #length: number;
  /** Hash of all tokens of the units hashed so far. */
  readonly #chain: Uint8Array;
  readonly #chainView: DataView;
  #hashedUnits = 0;
  /** 8 words a unit; the seed's before those of unit 0. */
  #hashes: Uint32Array;
  /** The media item to begin with for the next unit. */
  #nextMedia = 0;
  /** Page seeds for the page size that was asked for last. */
  #seeds: { readonly tokensPerPage: number; words: Uint32Array; count: number } | null = null;
  /** Key strings that were asked for, by group and unit: most are asked for again. */
  readonly #keys: PrefixKey[][] = [];

  /** Throws `ConfigError` for a unit that is no positive integer and for a token that is no 32-bit id. */
  constructor(options: TokenSequenceOptions) {
    const { tokens, unitTokens, hasher, identity } = options;
    if (!Number.isInteger(unitTokens) || unitTokens < 1) {
      throw new ConfigError(`unitTokens is ${unitTokens}; it must be a positive integer`);
    }
    this.unitTokens = unitTokens;
    this.#hasher = hasher;
    this.#identity = identity === undefined || isPlain(identity) ? null : identity;
    this.#length = tokens.length;
    this.#tokens = new Uint32Array(tokens.length + SPARE_TOKENS);
    if (!(tokens instanceof Uint32Array)) {
      for (let i = 0; i < tokens.length; i++) requireToken(tokens[i], i);
    }
    this.#tokens.set(tokens);
    this.#chain = hasher.seed.slice(0, HASH_BYTES);
    this.#chainView = new DataView(this.#chain.buffer);
    this.#hashes = new Uint32Array((Math.floor(this.#tokens.length / unitTokens) + 1) * HASH_WORDS);
    this.#keepHash(0);
  }

  /** A sequence of its own that begins with the first `tokens` tokens of this one. Nothing is hashed again. */
  fork(tokens: number = this.#length): TokenSequence {
    const child = new TokenSequence({
      tokens: this.tokens(tokens),
      unitTokens: this.unitTokens,
      hasher: this.#hasher,
      ...(this.#identity && { identity: this.#identity }),
    });
    child.#hashedUnits = Math.min(this.#hashedUnits, child.unitCount);
    const words = (child.#hashedUnits + 1) * HASH_WORDS;
    child.#hashes.set(this.#hashes.subarray(0, words));
    for (let i = 0; i < HASH_WORDS; i++) {
      child.#chainView.setUint32(4 * i, child.#hashes[words - HASH_WORDS + i]);
    }
    return child;
  }

  /** Tokens so far. */
  get length(): number {
    return this.#length;
  }

  /** Complete units, which have a hash each. */
  get unitCount(): number {
    return Math.floor(this.#length / this.unitTokens);
  }

  /** View of tokens 0 to `end`, all of them unless given. */
  tokens(end: number = this.#length): Uint32Array {
    if (!isCount(end, this.#length)) {
      throw new ConfigError(`cannot view tokens up to ${end}; the sequence has ${this.#length}`);
    }
    return this.#tokens.subarray(0, end);
  }

  /**
   * View of the hashes of the first `units` units: words 8i to 8i + 7 are the chained hash of all tokens up to the end
   * of unit i, most significant byte first.
   */
  hashWords(units: number): Uint32Array {
    if (!isCount(units, this.unitCount)) {
      throw new ConfigError(
        `there are no ${units} complete units; ${this.#length} tokens have ${this.unitCount}`,
      );
    }
    this.#hashUpTo(units);
    return this.#hashes.subarray(HASH_WORDS, (units + 1) * HASH_WORDS);
  }

  /**
   * The hashes without a view of them, for loops over many: words 8 * units to 8 * units + 7 are the chained hash after
   * that many units. Valid until the sequence grows.
   */
  hashesAfter(units: number): Uint32Array {
    if (units > this.#hashedUnits) this.hashWords(units);
    return this.#hashes;
  }

  /** Key of the first `tokens` tokens, a positive number of complete units, in a group. */
  prefixKey(tokens: number, group: GroupId): PrefixKey {
    const units = tokens / this.unitTokens;
    if (tokens === 0 || !isCount(units, this.unitCount)) {
      throw new ConfigError(
        `${tokens} tokens have no key; take a multiple of ${this.unitTokens} among the ${this.#length} there are`,
      );
    }
    this.#hashUpTo(units);
    const keys = (this.#keys[group] ??= []);
    return (keys[units] ??= prefixKeyOf(this.#hashes, units * HASH_WORDS, group));
  }

  /**
   * View of the first `count` page seeds: word i is the first 4 bytes, most significant first, of the chained hash of all
   * tokens before page i, and word 0 that of the hasher's seed. Pages have `tokensPerPage` tokens, whole units.
   */
  pageSeeds(count: number, tokensPerPage = this.unitTokens): Uint32Array {
    const units = tokensPerPage / this.unitTokens;
    if (!isCount(count, Math.floor(this.#length / tokensPerPage) + 1) || !Number.isInteger(units)) {
      throw new ConfigError(
        `there are no ${count} seeds of pages of ${tokensPerPage} tokens; the sequence has ${this.#length} tokens in units of ${this.unitTokens}`,
      );
    }
    this.#hashUpTo(Math.max(0, count - 1) * units);
    if (this.#seeds?.tokensPerPage !== tokensPerPage) {
      this.#seeds = { tokensPerPage, words: new Uint32Array(count), count: 0 };
    }
    const seeds = this.#seeds;
    if (count > seeds.words.length) seeds.words = grown(seeds.words, 2 * count);
    for (; seeds.count < count; seeds.count++) {
      seeds.words[seeds.count] = this.#hashes[seeds.count * units * HASH_WORDS];
    }
    return seeds.words.subarray(0, count);
  }

  /** What is hashed beside the tokens of a unit, in the portable form, or null. */
  extras(unit: number): readonly CborValue[] | null {
    if (this.#identity === null) return null;
    return unitExtras(this.#identity, unit * this.unitTokens, (unit + 1) * this.unitTokens).extras;
  }

  /** Adds one token at the end. Throws `ConfigError` unless it is an integer from 0 to 2^32 - 1. */
  append(token: number): void {
    requireToken(token, this.#length);
    if (this.#length === this.#tokens.length) this.#tokens = grown(this.#tokens, 2 * this.#length);
    this.#tokens[this.#length++] = token;
  }

  #hashUpTo(units: number): void {
    const size = this.unitTokens;
    for (let unit = this.#hashedUnits; unit < units; unit++) {
      const tokens = this.#tokens.subarray(unit * size, (unit + 1) * size);
      this.#hasher.hash(this.#chain, tokens, this.#chain, this.#nextExtras(unit));
      this.#hashedUnits = unit + 1;
      this.#keepHash(unit + 1);
    }
  }

  /** The chain's hash becomes entry `place`. */
  #keepHash(place: number): void {
    const at = place * HASH_WORDS;
    if (at + HASH_WORDS > this.#hashes.length) this.#hashes = grown(this.#hashes, 2 * this.#hashes.length);
    for (let i = 0; i < HASH_WORDS; i++) this.#hashes[at + i] = this.#chainView.getUint32(4 * i);
  }

  #nextExtras(unit: number): readonly CborValue[] | null {
    if (this.#identity === null) return null;
    const start = unit * this.unitTokens;
    const extrasOf = this.#hasher.tagged === false ? unitExtras : taggedExtras;
    const { extras, nextMedia } = extrasOf(this.#identity, start, start + this.unitTokens, this.#nextMedia);
    this.#nextMedia = nextMedia;
    return extras;
  }
}

function isPlain({ salt = '', adapter, media = [] }: RequestIdentity): boolean {
  return salt === '' && adapter === undefined && media.length === 0;
}

/** Whether it is an integer from 0 to 2^32 - 1. */
export function isToken(token: number): boolean {
  return isCount(token, TOKEN_COUNT - 1);
}

function requireToken(token: number, index: number): void {
  if (!isToken(token)) {
    throw new ConfigError(
      `token ${index} is ${String(token)}; a token id is an integer from 0 to ${TOKEN_COUNT - 1}`,
    );
  }
}

function isCount(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= max;
}

function grown(words: Uint32Array, length: number): Uint32Array {
  const longer = new Uint32Array(length);
  longer.set(words);
  return longer;
}
