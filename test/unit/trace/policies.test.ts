import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { replayPolicies, REPLAY_POLICIES, type ReplayPolicy } from '../../../src/trace/policy-replay.ts';
import { readReferences } from '../../../src/trace/references.ts';
import { arcModelHits, lruModelHits, minModelHits } from './policy-models.ts';
import { mooncakeLine } from './helpers.ts';

const BLOCKS = 12;

function hits(policy: ReplayPolicy, references: readonly number[], capacity: number): number {
  const trace = { references: Uint32Array.from(references), uniqueBlocks: BLOCKS };
  return replayPolicies(trace, { policies: [policy], capacities: [capacity] })[0].hits;
}

describe('policies, by hand', () => {
  it.each([
    ['lru', [0, 1, 0, 2, 0, 1], 2, 2],
    ['lru', [0, 1, 2, 0, 1, 2], 2, 0],
    ['lru', [0, 0, 0], 1, 2],
    ['min', [0, 1, 2, 0, 1, 2], 2, 2],
    ['min', [0, 1, 0, 1], 1, 0],
    // 0 and 1 are in T2 before the scan, which runs through T1 alone.
    ['arc', [0, 1, 0, 1, 2, 3, 4, 5, 0, 1], 3, 4],
    ['lru', [0, 1, 0, 1, 2, 3, 4, 5, 0, 1], 3, 2],
  ] as const)('%s over %j with %i blocks hits %i times', (policy, references, capacity, expected) => {
    expect(hits(policy, references, capacity)).toBe(expected);
  });
});

describe('policies and their models', () => {
  const trace = fc.array(fc.nat(BLOCKS - 1), { maxLength: 200 });
  const capacity = fc.integer({ min: 1, max: BLOCKS + 2 });

  it.each([
    ['lru', lruModelHits],
    ['arc', arcModelHits],
    ['min', minModelHits],
  ] as const)('%s agrees with the plain one', (policy, model) => {
    fc.assert(
      fc.property(trace, capacity, (references, blocks) => {
        expect(hits(policy, references, blocks)).toBe(model(references, blocks));
      }),
      { numRuns: 500 },
    );
  });

  it('none beats min, and min and lru never lose by having more room', () => {
    fc.assert(
      fc.property(trace, capacity, (references, blocks) => {
        const best = hits('min', references, blocks);
        expect(hits('lru', references, blocks)).toBeLessThanOrEqual(best);
        expect(hits('arc', references, blocks)).toBeLessThanOrEqual(best);
        expect(hits('min', references, blocks + 1)).toBeGreaterThanOrEqual(best);
        expect(hits('lru', references, blocks + 1)).toBeGreaterThanOrEqual(hits('lru', references, blocks));
      }),
    );
  });

  it('min finds the furthest reference in long traces, too', () => {
    // More than 32 * 32 * 32 positions, so that its set of positions has four levels.
    const references = Array.from(
      { length: 40_000 },
      (_, index) => (index * index * 7 + (index >> 3)) % BLOCKS,
    );
    expect(hits('min', references, 5)).toBe(minModelHits(references, 5));
  });
});

describe('replayPolicies', () => {
  it('gives a result for each policy and capacity, in order', () => {
    const trace = { references: Uint32Array.of(0, 1, 0, 1), uniqueBlocks: 2 };
    expect(replayPolicies(trace, { policies: REPLAY_POLICIES, capacities: [1, 2] })).toEqual([
      { policy: 'lru', capacity: 1, hits: 0, hitRate: 0 },
      { policy: 'lru', capacity: 2, hits: 2, hitRate: 0.5 },
      { policy: 'arc', capacity: 1, hits: 0, hitRate: 0 },
      { policy: 'arc', capacity: 2, hits: 2, hitRate: 0.5 },
      { policy: 'min', capacity: 1, hits: 0, hitRate: 0 },
      { policy: 'min', capacity: 2, hits: 2, hitRate: 0.5 },
    ]);
  });

  it.each([0, -1, 1.5, NaN, Infinity])('refuses the capacity %d', (capacity) => {
    const trace = { references: Uint32Array.of(0), uniqueBlocks: 1 };
    expect(() => replayPolicies(trace, { policies: ['lru'], capacities: [capacity] })).toThrow(
      `capacity ${capacity} is not usable; give whole numbers from 1 to 2147483648`,
    );
  });
});

describe('readReferences', () => {
  it('strings the blocks of all requests together, partial ones included', async () => {
    const text = `${mooncakeLine()}\n${mooncakeLine({ input_length: 1025, hash_ids: [10, 12, 13] })}\n`;
    expect(await readReferences([{ name: 'f', chunks: [text] }])).toEqual({
      references: Uint32Array.of(0, 1, 0, 2, 3),
      uniqueBlocks: 4,
      requests: 2,
    });
  });

  it('expands runs of pages', async () => {
    expect(await readReferences([{ name: 'f', chunks: ['5 3 0 0\r\n', '  7 2 0 1 \n'] }])).toEqual({
      references: Uint32Array.of(0, 1, 2, 2, 3),
      uniqueBlocks: 4,
      requests: 2,
    });
  });

  it.each([
    ['5 3 0', 'line: expected four whole numbers: start, count, ignore, request, got 5 3 0'],
    ['5 3 0 0 0', 'line: expected four whole numbers: start, count, ignore, request, got 5 3 0 0 0'],
    ['5 x 0 0', 'line: expected four whole numbers: start, count, ignore, request, got 5 x 0 0'],
    ['-5 1 0 0', 'line: expected four whole numbers: start, count, ignore, request, got -5 1 0 0'],
    ['5 0 0 0', 'count: expected a whole number from 1 to 1048576, got 0'],
    ['5 1048577 0 0', 'count: expected a whole number from 1 to 1048576, got 1048577'],
  ])('refuses the run %j', async (line, expected) => {
    const chunks = [`1 1 0 0\n${line}\n`];
    await expect(readReferences([{ name: 'f', chunks }])).rejects.toThrow(`f:2: ${expected}`);
  });
});
