import { describe, expect, it } from 'vitest';
import { createPrefixHasher, type PrefixHasher } from '../../../src/cache/prefix-key.ts';
import { TokenSequence } from '../../../src/cache/token-sequence.ts';
import { ConfigError } from '../../../src/errors.ts';
import { groupId } from '../../../src/units.ts';
import { hasher, keyAt, range } from './support/fixtures.ts';

const sequenceOf = (tokens: ArrayLike<number>, tokensPerPage = 4): TokenSequence =>
  new TokenSequence({ tokens, unitTokens: tokensPerPage, hasher });

describe('TokenSequence', () => {
  it('counts full pages only, and has keys for these only', () => {
    const sequence = sequenceOf(range(0, 7));
    expect([sequence.length, sequence.unitCount]).toEqual([7, 1]);
    expect(keyAt(sequence, 0)).toMatch(/^[0-9a-f]{64}00000000$/);
    for (const tokens of [0, 2, 8, -4, Number.NaN]) {
      expect(() => sequence.prefixKey(tokens, groupId(0))).toThrow(ConfigError);
    }
    expect(() => sequence.hashWords(2)).toThrow(/no 2 complete units; 7 tokens have 1/);
    sequence.append(7);
    expect(sequence.unitCount).toBe(2);
    expect(keyAt(sequence, 1)).toBe(keyAt(sequenceOf(range(0, 8)), 1));
  });

  it('hashes each page once, and none before it is asked for', () => {
    let hashed = 0;
    const counting: PrefixHasher = {
      seed: hasher.seed,
      hash: (parent, tokens, out) => {
        hashed++;
        hasher.hash(parent, tokens, out);
      },
    };
    const sequence = new TokenSequence({ tokens: range(0, 40), unitTokens: 4, hasher: counting });
    expect(hashed).toBe(0);
    keyAt(sequence, 4);
    keyAt(sequence, 2);
    expect(hashed).toBe(5);
    sequence.pageSeeds(11);
    keyAt(sequence, 9);
    expect(hashed).toBe(10);
    expect(hasher.seed).toEqual(createPrefixHasher().seed);
  });

  it('page seeds are the first 4 bytes of the hash of what comes before the page', () => {
    const sequence = sequenceOf(range(0, 9));
    const seeds = sequence.pageSeeds(3);
    const seedWord = Buffer.from(hasher.seed).readUInt32BE(0);
    const fromKeys = [0, 1].map((page) => Number.parseInt(keyAt(sequence, page).slice(0, 8), 16));
    expect([...seeds]).toEqual([seedWord, ...fromKeys]);
    expect(sequence.pageSeeds(0)).toHaveLength(0);
    expect(() => sequence.pageSeeds(4)).toThrow(/no 4 seeds of pages of 4 tokens/);
    expect([...sequence.pageSeeds(2, 8)]).toEqual([seedWord, fromKeys[1]]);
    expect(() => sequence.pageSeeds(1, 6)).toThrow(ConfigError);
  });

  it('the salt changes the seed of the first page', () => {
    const salted = new TokenSequence({
      tokens: [],
      unitTokens: 4,
      hasher: createPrefixHasher({ salt: 'x' }),
    });
    expect(salted.pageSeeds(1)[0]).not.toBe(sequenceOf([]).pageSeeds(1)[0]);
  });

  it('views handed out keep their contents while the sequence grows past its memory', () => {
    const sequence = sequenceOf(range(0, 6), 2);
    const tokens = sequence.tokens();
    const head = sequence.tokens(3);
    const seeds = sequence.pageSeeds(4);
    const before = [...seeds];
    for (let token = 6; token < 1000; token++) sequence.append(token);
    const grown = sequence.pageSeeds(501);
    expect([...tokens]).toEqual(range(0, 6));
    expect([...head]).toEqual([0, 1, 2]);
    expect([...seeds]).toEqual(before);
    expect([...grown.subarray(0, 4)]).toEqual(before);
    expect([...sequence.tokens()]).toEqual(range(0, 1000));
    expect([...grown]).toEqual([...sequenceOf(range(0, 1000), 2).pageSeeds(501)]);
    expect(keyAt(sequence, 499)).toBe(keyAt(sequenceOf(range(0, 1000), 2), 499));
  });

  it('copies its input', () => {
    const input = Uint32Array.from(range(0, 8));
    const sequence = sequenceOf(input);
    input.fill(99);
    expect([...sequence.tokens()]).toEqual(range(0, 8));
  });

  it('takes every 32-bit id and nothing else, naming index and value', () => {
    const sequence = sequenceOf([0, 2 ** 32 - 1]);
    expect([...sequence.tokens()]).toEqual([0, 2 ** 32 - 1]);
    expect(() => sequenceOf([1, 2 ** 32])).toThrow(/token 1 is 4294967296/);
    expect(() => sequenceOf([0.5])).toThrow(/token 0 is 0.5/);
    expect(() => sequenceOf(new Int32Array([5, -1]))).toThrow(/token 1 is -1/);
    expect(() => sequence.append(Number.NaN)).toThrow(/token 2 is NaN/);
    expect(sequence.length).toBe(2);
  });

  it('refuses page sizes and view ends that do not exist', () => {
    for (const size of [0, -4, 1.5]) expect(() => sequenceOf([], size)).toThrow(ConfigError);
    for (const end of [5, -1, Number.NaN])
      expect(() => sequenceOf(range(0, 4)).tokens(end)).toThrow(ConfigError);
  });

  it('keys carry the group they were made for', () => {
    const sequence = sequenceOf(range(0, 4));
    expect(sequence.prefixKey(4, groupId(258)).slice(-8)).toBe('00000102');
    expect(sequence.prefixKey(4, groupId(0)).slice(-8)).toBe('00000000');
  });
});
