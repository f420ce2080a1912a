/** The tokens of one request, and the prefix keys of its full pages, each hashed once. */
import { ConfigError } from '../errors.ts';
import { groupId, type GroupId, type PrefixKey } from '../units.ts';
import { HASH_BYTES, makePrefixKey, type PrefixHasher } from './prefix-key.ts';

const TOKEN_COUNT = 2 ** 32;
/** Room for the first output tokens, so that a short answer never copies its prompt. */
const SPARE_TOKENS = 64;

export interface TokenSequenceOptions {
  /** Token ids, integers from 0 to 2^32 - 1. They are copied. */
  readonly tokens: ArrayLike<number>;
  readonly tokensPerPage: number;
  readonly hasher: PrefixHasher;
  /** The group whose keys these are; 0 unless given. */
  readonly group?: GroupId;
}

/**
 * Grows at its end only. Views of tokens and seeds stay what they were when they were handed out: a longer sequence
 * writes behind them, or moves to new memory and leaves the old to them.
 */
export class TokenSequence {
  readonly tokensPerPage: number;
  readonly group: GroupId;
  readonly #hasher: PrefixHasher;
  #tokens: Uint32Array;
  #length: number;
  readonly #keys: PrefixKey[] = [];
  /** Hash of all tokens before page `#keys.length`. */
  readonly #chain: Uint8Array;
  /** Word i is the start of the hash of all tokens before page i; `#keys.length` + 1 words are valid. */
  #seeds: Uint32Array;

  /** Throws `ConfigError` for a page size that is no positive integer and for a token that is no 32-bit id. */
  constructor(options: TokenSequenceOptions) {
    const { tokens, tokensPerPage, hasher, group = groupId(0) } = options;
    if (!Number.isInteger(tokensPerPage) || tokensPerPage < 1) {
      throw new ConfigError(`tokensPerPage is ${tokensPerPage}; it must be a positive integer`);
    }
    this.tokensPerPage = tokensPerPage;
    this.group = group;
    this.#hasher = hasher;
    this.#length = tokens.length;
    this.#tokens = new Uint32Array(tokens.length + SPARE_TOKENS);
    if (!(tokens instanceof Uint32Array)) {
      for (let i = 0; i < tokens.length; i++) requireToken(tokens[i], i);
    }
    this.#tokens.set(tokens);
    this.#chain = hasher.seed.slice(0, HASH_BYTES);
    this.#seeds = new Uint32Array(Math.floor(this.#tokens.length / tokensPerPage) + 1);
    this.#seeds[0] = firstWord(this.#chain);
  }

  /** Tokens so far. */
  get length(): number {
    return this.#length;
  }

  /** Full pages, which is the number of keys. */
  get pageCount(): number {
    return Math.floor(this.#length / this.tokensPerPage);
  }

  /** Key of full page `page`: it stands for all tokens up to the end of that page. */
  key(page: number): PrefixKey {
    if (!isCount(page, this.pageCount - 1)) {
      throw new ConfigError(
        `there is no full page ${page}; ${this.#length} tokens have ${this.pageCount} of them`,
      );
    }
    this.#hashUpTo(page + 1);
    return this.#keys[page];
  }

  /** View of tokens 0 to `end`, all of them unless given. */
  tokens(end: number = this.#length): Uint32Array {
    if (!isCount(end, this.#length)) {
      throw new ConfigError(`cannot view tokens up to ${end}; the sequence has ${this.#length}`);
    }
    return this.#tokens.subarray(0, end);
  }

  /**
   * View of the first `count` page seeds: word i is the first 4 bytes, most significant first, of the chained hash of
   * all tokens before page i, and word 0 that of the hasher's seed. `count` is at most `pageCount` + 1.
   */
  pageSeeds(count: number): Uint32Array {
    if (!isCount(count, this.pageCount + 1)) {
      throw new ConfigError(
        `there are no ${count} page seeds; ${this.pageCount} full pages have ${this.pageCount + 1}`,
      );
    }
    this.#hashUpTo(count - 1);
    return this.#seeds.subarray(0, count);
  }

  /** Adds one token at the end. Throws `ConfigError` unless it is an integer from 0 to 2^32 - 1. */
  append(token: number): void {
    requireToken(token, this.#length);
    if (this.#length === this.#tokens.length) this.#tokens = grown(this.#tokens, 2 * this.#length);
    this.#tokens[this.#length++] = token;
  }

  #hashUpTo(pages: number): void {
    const size = this.tokensPerPage;
    for (let page = this.#keys.length; page < pages; page++) {
      this.#hasher.hash(this.#chain, this.#tokens.subarray(page * size, (page + 1) * size), this.#chain);
      this.#keys.push(makePrefixKey(this.#chain, this.group));
      if (page + 1 === this.#seeds.length) this.#seeds = grown(this.#seeds, 2 * this.#seeds.length);
      this.#seeds[page + 1] = firstWord(this.#chain);
    }
  }
}

function requireToken(token: number, index: number): void {
  if (!isCount(token, TOKEN_COUNT - 1)) {
    throw new ConfigError(
      `token ${index} is ${String(token)}; a token id is an integer from 0 to ${TOKEN_COUNT - 1}`,
    );
  }
}

function isCount(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= max;
}

function firstWord(hash: Uint8Array): number {
  return ((hash[0] << 24) | (hash[1] << 16) | (hash[2] << 8) | hash[3]) >>> 0;
}

function grown(words: Uint32Array, length: number): Uint32Array {
  const longer = new Uint32Array(length);
  longer.set(words);
  return longer;
}
