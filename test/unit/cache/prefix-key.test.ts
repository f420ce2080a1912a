import { sha256 } from '@noble/hashes/sha2.js';
import { describe, expect, it } from 'vitest';
import { encodeCbor } from '../../../src/cache/canonical-cbor.ts';
import { createPrefixHasher, groupOfKey, hashLow64, makePrefixKey } from '../../../src/cache/prefix-key.ts';
import { TokenSequence } from '../../../src/cache/token-sequence.ts';
import { ConfigError } from '../../../src/errors.ts';
import { groupId, type PrefixKey } from '../../../src/units.ts';
import { keyAt, range } from './support/fixtures.ts';

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/** Hashes of the full pages of a prompt, without the group. */
function chain(
  tokens: number[],
  tokensPerPage: number,
  options: Parameters<typeof createPrefixHasher>[0],
): string[] {
  const sequence = new TokenSequence({
    tokens,
    unitTokens: tokensPerPage,
    hasher: createPrefixHasher(options),
  });
  return range(0, sequence.unitCount).map((unit) => keyAt(sequence, unit).slice(0, 64));
}

describe('portable prefix hashes (SHA-256 over canonical CBOR)', () => {
  it('A1, A2: the seed is the hash of a text', () => {
    expect(hex(encodeCbor('vllm-none-hash'))).toBe('6e766c6c6d2d6e6f6e652d68617368');
    expect(hex(createPrefixHasher({ encoding: 'cbor' }).seed)).toBe(
      '9bd96a485ad84efdafb72ee48a1d7a69bcead0f8f0433173941b276b9581eef0',
    );
    expect(hex(createPrefixHasher({ encoding: 'cbor', seedText: '0' }).seed)).toBe(
      '4e1195df020de59e0d65a33a4279f1183e7ae4e5d980e309f8b55adff2e61c3e',
    );
  });

  it('A3: only full pages are hashed, each onto the one before', () => {
    expect(chain(range(0, 9), 4, { encoding: 'cbor' })).toEqual([
      'c49ab11fb576db6f376aef58c24f728a0ba1807e8cac5f940f1a5c4c20741898',
      '9d0a7c928c548f9aeea31ae98471cf515045a206851732ac14cb3083c18d40f9',
    ]);
  });

  it('A4: the salt enters the first page and reaches the others through the chain', () => {
    expect(chain(range(0, 9), 4, { encoding: 'cbor', salt: 'salt1' })).toEqual([
      '544f1c32ceef05795df4763a3b8dc0ba14039414ab441ededfed1b9c29fdfa39',
      '85d19e36723e1cc89beec11194c0f6617a980648049b50077d0bede6d59f31a6',
    ]);
  });

  it('A6, A7: encodes bytes, integers of every width, text, lists and null', () => {
    const bytes = Uint8Array.of(1, 2);
    const tokens = Uint32Array.of(0, 1, 2, 3, 300, 70000);
    expect(hex(encodeCbor([bytes, tokens, null]))).toBe('83420102860001020319012c1a00011170f6');
    expect(hex(encodeCbor([bytes, [0, 1, 2, 3], ['salt', ['img', -5]]]))).toBe(
      '834201028400010203826473616c748263696d6724',
    );
  });

  it('takes the shortest head on both sides of each border', () => {
    const cases: [number, string][] = [
      [23, '17'],
      [24, '1818'],
      [255, '18ff'],
      [256, '190100'],
      [65535, '19ffff'],
      [65536, '1a00010000'],
      [2 ** 32 - 1, '1affffffff'],
      [2 ** 32, '1b0000000100000000'],
      [-24, '37'],
      [-25, '3818'],
    ];
    for (const [value, encoded] of cases) expect(hex(encodeCbor(value))).toBe(encoded);
  });

  it('refuses what would not survive the encoding', () => {
    expect(() => encodeCbor(0.5)).toThrow(ConfigError);
    expect(() => encodeCbor('a\ud800')).toThrow(/half a surrogate pair/);
    expect(hex(encodeCbor('\u{1f600}'))).toBe('64f09f9880');
  });

  it('A8: the group is the last 8 hex digits of a key', () => {
    expect(makePrefixKey(Uint8Array.of(0xaa, 0xbb), groupId(3))).toBe('aabb00000003');
    expect(groupOfKey('ff00000102' as PrefixKey)).toBe(258);
  });

  it('A9: the low 64 bits of a hash', () => {
    const hash = Buffer.from('c49ab11fb576db6f376aef58c24f728a0ba1807e8cac5f940f1a5c4c20741898', 'hex');
    expect(hashLow64(hash)).toBe(1088283741995145368n);
  });
});

describe('binary prefix hashes', () => {
  it('may be written over their own parent, and leave the tokens alone', () => {
    const tokens = Uint32Array.from(range(0, 20));
    const parent = new Uint8Array(32).fill(9);
    const out = new Uint8Array(32);
    const hasher = createPrefixHasher();
    hasher.hash(parent, tokens, out);
    hasher.hash(parent, tokens, parent);
    expect(parent).toEqual(out);
    expect([...tokens]).toEqual(range(0, 20));
  });

  it('are SHA-256 of parent bytes and little-endian tokens, from a seed of label and salt', () => {
    const seed = sha256(
      Buffer.concat([Buffer.from('pagefence prefix key 1\0'), Buffer.from([0, 0x61, 0x20, 0xac])]),
    );
    const hasher = createPrefixHasher({ salt: 'a\u20ac' });
    expect(hex(hasher.seed)).toBe(hex(seed));
    const first = sha256(Buffer.concat([seed, Buffer.from('01000000feffffff', 'hex')]));
    expect(chain([1, 0xfffffffe], 2, { salt: 'a\u20ac' })).toEqual([hex(first)]);
  });

  it('scenario 35: tokens, salts and groups separate keys, on the first page and on later ones', () => {
    const salts = ['', 'X', 'a', 'ab', 'abc', 'bc', 'A', '\ud800', '\ud801', '\ufffd', 'X\0'];
    for (const page of [0, 1]) {
      const keys = salts.map((salt) => chain(range(0, 9), 4, { salt })[page]);
      expect(new Set(keys).size).toBe(salts.length);
    }
    expect(chain(range(0, 9), 4, { salt: '' })).toEqual(chain(range(0, 9), 4, {}));
    expect(chain([1, 23], 2, {})).not.toEqual(chain([12, 3], 2, {}));
    const hash = new Uint8Array(32);
    expect(makePrefixKey(hash, groupId(0))).not.toBe(makePrefixKey(hash, groupId(1)));
  });

  it('a later page depends on all before it', () => {
    const keys = [chain([1, 2, 3, 4], 2, {})[1], chain([2, 2, 3, 4], 2, {})[1]];
    expect(keys[0]).not.toBe(keys[1]);
  });

  it('refuses a seed text, which it would not use', () => {
    expect(() => createPrefixHasher({ seedText: 'x' })).toThrow(ConfigError);
  });
});
