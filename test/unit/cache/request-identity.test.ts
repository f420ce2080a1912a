/** What keeps strangers with the same tokens apart: cases A10 to A16, and what reaches the keys. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createPrefixHasher } from '../../../src/cache/prefix-key.ts';
import { requireIdentity, unitExtras, type RequestIdentity } from '../../../src/cache/request-identity.ts';
import { TokenSequence } from '../../../src/cache/token-sequence.ts';
import { ConfigError } from '../../../src/errors.ts';
import { groupId } from '../../../src/units.ts';
import { range } from './support/fixtures.ts';

const media = [
  { identifier: 'hash1', offset: 0, length: 5 },
  { identifier: 'hash2', offset: 10, length: 5 },
];

describe('extras of a unit', () => {
  it.each([
    ['A10', 0, 5, [['hash1', 0]], 1],
    ['A11', 3, 8, [['hash1', -3]], 1],
    ['A12', 6, 10, null, 1],
    [
      'A13',
      0,
      15,
      [
        ['hash1', 0],
        ['hash2', 10],
      ],
      2,
    ],
    [
      'A14',
      4,
      12,
      [
        ['hash1', -4],
        ['hash2', 6],
      ],
      1,
    ],
  ])('%s: tokens %i to %i', (_, start, end, extras, nextMedia) => {
    expect(unitExtras({ media }, start, end)).toEqual({ extras, nextMedia });
  });

  it('A16: adapter, media and salt in this order, the salt in the first unit only', () => {
    const identity = { adapter: 'L', media: media.slice(0, 1), salt: 'salt' };
    expect(unitExtras(identity, 0, 5).extras).toEqual(['L', ['hash1', 0], 'salt']);
    expect(unitExtras(identity, 5, 10, 1).extras).toEqual(['L']);
  });

  it('an item that reaches over several units is in each of them', () => {
    const long = [{ identifier: 'x', offset: 2, length: 9 }];
    const units = [0, 4, 8, 12].map((start) => unitExtras({ media: long }, start, start + 4).extras);
    expect(units).toEqual([[['x', 2]], [['x', -2]], [['x', -6]], null]);
  });
});

describe('keys', () => {
  const keyOf = (identity: RequestIdentity, encoding: 'binary' | 'cbor' = 'binary', tokens = 8) => {
    const hasher = createPrefixHasher({ encoding });
    const sequence = new TokenSequence({ tokens: range(0, 12), unitTokens: 4, hasher, identity });
    return sequence.prefixKey(tokens, groupId(0));
  };

  it.each(['binary', 'cbor'] as const)('scenario 35: differ by salt, adapter and media (%s)', (encoding) => {
    const identities: RequestIdentity[] = [
      {},
      { salt: 'a' },
      { adapter: 'a' },
      { adapter: 'a', salt: 'a' },
      { media: [{ identifier: 'a', offset: 0, length: 1 }] },
      { media: [{ identifier: 'a', offset: 1, length: 1 }] },
      { media: [{ identifier: 'b', offset: 0, length: 1 }] },
      { media: [{ identifier: 'a', offset: 4, length: 1 }] },
    ];
    expect(new Set(identities.map((identity) => keyOf(identity, encoding))).size).toBe(identities.length);
    // An adapter and a salt of one name differ on the first unit already, but for the portable form.
    const isPortable = encoding === 'cbor';
    expect(keyOf({ salt: 'a' }, encoding, 4) === keyOf({ adapter: 'a' }, encoding, 4)).toBe(isPortable);
    expect(keyOf({ salt: '' }, encoding)).toBe(keyOf({}, encoding));
    // What comes later leaves the keys before it alone.
    const later = { media: [{ identifier: 'a', offset: 4, length: 1 }] };
    expect(keyOf(later, encoding, 4)).toBe(keyOf({}, encoding, 4));
  });

  it('A4: a salt of the request hashes as other caches hash it', () => {
    const hasher = createPrefixHasher({ encoding: 'cbor' });
    const identity = { salt: 'salt1' };
    const sequence = new TokenSequence({ tokens: range(0, 9), unitTokens: 4, hasher, identity });
    expect(sequence.prefixKey(4, groupId(0)).slice(0, 64)).toBe(
      '544f1c32ceef05795df4763a3b8dc0ba14039414ab441ededfed1b9c29fdfa39',
    );
    expect(sequence.prefixKey(8, groupId(0)).slice(0, 64)).toBe(
      '85d19e36723e1cc89beec11194c0f6617a980648049b50077d0bede6d59f31a6',
    );
  });

  it('differ whenever tokens or extras do', () => {
    const text = fc.string({ maxLength: 3 });
    const identity = fc.record({ adapter: fc.option(text, { nil: undefined }), salt: text });
    const hasher = createPrefixHasher();
    const hash = (tokens: number[], extras: RequestIdentity): string => {
      const out = new Uint8Array(32);
      hasher.hash(hasher.seed, Uint32Array.from(tokens), out, unitExtras(extras, 0, 2).extras);
      return Buffer.from(out).toString('hex');
    };
    const token = fc.nat(3);
    const pair = fc.record({ tokens: fc.tuple(token, token), identity });
    fc.assert(
      fc.property(pair, pair, (a, b) => {
        const isSame =
          JSON.stringify([a.tokens, unitExtras(a.identity, 0, 2).extras]) ===
          JSON.stringify([b.tokens, unitExtras(b.identity, 0, 2).extras]);
        expect(hash(a.tokens, a.identity) === hash(b.tokens, b.identity)).toBe(isSame);
      }),
      { numRuns: 500, seed: 3 },
    );
  });

  it.each([
    [{ salt: 5 }, /request r: salt is 5; give a string/],
    [{ adapter: '' }, /request r: adapter is ""/],
    [{ media: [{ identifier: '', offset: 0, length: 1 }] }, /media 0 has no identifier/],
    [{ media: [{ identifier: 'a', offset: -1, length: 1 }] }, /media 0 stands at -1 for 1 tokens/],
    [{ media: [media[1], media[0]] }, /media 1 stands at 0 for 5 tokens; .*in order, without overlap/],
  ])('%j is refused', (identity, message) => {
    const check = () => requireIdentity('r', identity as RequestIdentity);
    expect(check).toThrow(ConfigError);
    expect(check).toThrow(message);
  });
});
