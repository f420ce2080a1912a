/**
 * The part of canonical CBOR (RFC 8949, section 4.2) that portable prefix hashes need, and the hasher that uses it.
 * Its hashes equal those of other caches that hash (parent, tokens, extra) in this form.
 */
import { sha256 } from '@noble/hashes/sha2.js';
import { ConfigError } from '../errors.ts';
import type { PrefixHasher } from './prefix-key.ts';

/** A 32-bit token array counts as a list of integers. */
export type CborValue = null | number | string | Uint8Array | Uint32Array | readonly CborValue[];

const MAJOR_UNSIGNED = 0;
const MAJOR_NEGATIVE = 1;
const MAJOR_BYTES = 2;
const MAJOR_TEXT = 3;
const MAJOR_ARRAY = 4;
const NULL_BYTE = 0xf6;

/** Canonical: each head is the shortest one. Throws `ConfigError` for a number that is not a safe integer. */
export function encodeCbor(value: CborValue): Uint8Array {
  const out: number[] = [];
  write(out, value);
  return Uint8Array.from(out);
}

function write(out: number[], value: CborValue): void {
  if (value === null) {
    out.push(NULL_BYTE);
  } else if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) {
      throw new ConfigError(`cannot encode ${value}; prefix hashes take integers below 2^53 only`);
    }
    if (value < 0) writeHead(out, MAJOR_NEGATIVE, -1 - value);
    else writeHead(out, MAJOR_UNSIGNED, value);
  } else if (typeof value === 'string') {
    const bytes = encodeText(value);
    writeHead(out, MAJOR_TEXT, bytes.length);
    for (const byte of bytes) out.push(byte);
  } else if (value instanceof Uint8Array) {
    writeHead(out, MAJOR_BYTES, value.length);
    for (const byte of value) out.push(byte);
  } else {
    writeHead(out, MAJOR_ARRAY, value.length);
    for (const item of value) write(out, item);
  }
}

function writeHead(out: number[], major: number, argument: number): void {
  const top = major << 5;
  if (argument < 24) {
    out.push(top | argument);
    return;
  }
  const [sizeCode, bytes] =
    argument < 2 ** 8 ? [24, 1] : argument < 2 ** 16 ? [25, 2] : argument < 2 ** 32 ? [26, 4] : [27, 8];
  out.push(top | sizeCode);
  // Division instead of shifts: the argument may need more than 32 bits.
  for (let i = bytes - 1; i >= 0; i--) out.push(Math.floor(argument / 2 ** (8 * i)) % 256);
}

function encodeText(text: string): Uint8Array {
  // UTF-8 has no form for half a surrogate pair, and a replacement character would let two texts collide.
  if (/\p{Surrogate}/u.test(text)) {
    throw new ConfigError(
      `the text ${JSON.stringify(text)} holds half a surrogate pair; use well-formed text`,
    );
  }
  return new TextEncoder().encode(text);
}

/**
 * SHA-256 over the canonical CBOR of (parent hash, token list, extras or null). The salt is the last extra of the first
 * unit, and reaches later ones through the chain. This form cannot tell an adapter from a salt of the same name on the
 * first unit, as those other caches cannot; prefer the binary form where nothing is exchanged. The seed is the hash of `seedText`.
 */
export function createCborPrefixHasher(options: { salt?: string; seedText?: string } = {}): PrefixHasher {
  const { salt = '', seedText = 'vllm-none-hash' } = options;
  const seed = sha256(encodeCbor(seedText));
  return {
    seed,
    tagged: false,
    hash(parent, tokens, out, extras = null) {
      const isFirst = salt !== '' && seed.every((byte, i) => byte === parent[i]);
      out.set(sha256(encodeCbor([parent, tokens, isFirst ? [...(extras ?? []), salt] : extras])));
    },
  };
}
