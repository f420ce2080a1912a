import { describe, expect, it } from 'vitest';
import { scanForward, type LookupResult } from '../../../src/offload/lookup.ts';
import { answerOf } from './support/answers.ts';

describe('scanForward', () => {
  it.each([
    ['C1', 'HH', 2, 2],
    ['C2', 'MM', 0, 1],
    ['C3', 'HHM', 2, 3],
    ['C4', 'MH', 0, 1],
    ['C5', '', 0, 0],
    ['C6', 'RH', 'ask again', 2],
    ['C7', 'HR', 'ask again', 2],
    ['C8', 'PH', 'ask again', 2],
    ['C9', 'PMH', 'ask again', 2],
    ['C10', 'RMH', 'ask again', 2],
  ] as const)('%s: %s gives %s in %i calls', (_name, letters, answer, calls) => {
    const asked: number[] = [];
    const result = scanForward(
      (page) => {
        asked.push(page);
        return answerOf(letters[page]);
      },
      0,
      letters.length,
    );
    expect(result.pending ? 'ask again' : result.chunks).toBe(answer);
    expect(asked).toHaveLength(calls);
  });

  it('C11: counts from where it starts', () => {
    const asked: number[] = [];
    const lookup = (page: number): LookupResult => {
      asked.push(page);
      return 'HIT';
    };
    expect(scanForward(lookup, 3, 5)).toEqual({ chunks: 2, pending: false });
    expect(asked).toEqual([3, 4]);
  });
});
