/** Scans of windows, and what several groups agree on. Cases C, D10 and E1 of the host tier. */
import { describe, expect, it } from 'vitest';
import { isReachable, type OffloadGroup } from '../../../src/offload/groups.ts';
import { agreeOnHit, scanWindow, type LookupResult } from '../../../src/offload/lookup.ts';
import { groupId } from '../../../src/units.ts';
import { answerOf } from './support/answers.ts';

describe('scanWindow', () => {
  it.each([
    ['C12', 'HH', 2, 2],
    ['C13', 'MMM', 1, 0],
    ['C14', 'MHH', 2, 3],
    ['C15', 'MHHM', 2, 3],
    ['C16', 'HHM', 3, 2],
    ['C17', 'MHH', 1, 3],
    ['C18', 'MHHMH', 2, 3],
    ['C21', '', 1, 0],
    ['C22', 'HR', 2, 'ask again'],
    ['C23', 'HHRH', 2, 'ask again'],
    ['C24', 'HP', 2, 'ask again'],
    ['C25', 'HPH', 3, 'ask again'],
    ['C26', 'HHMP', 2, 2],
  ] as const)('%s: %s with a window of %i gives %s', (_name, letters, window, answer) => {
    const { chunks, pending } = scanWindow((chunk) => answerOf(letters[chunk]), 0, letters.length, window);
    expect(pending ? 'ask again' : chunks).toBe(answer);
  });

  it('a window that reaches back over nothing asks for nothing', () => {
    const lookup = (): LookupResult => {
      throw new Error('asked');
    };
    expect(scanWindow(lookup, 2, 5, 0)).toEqual({ chunks: 3, pending: false });
  });
});

/** A group of pages of 4 tokens, and its answers by chunk. */
function group(
  letters: string,
  options: Partial<OffloadGroup> = {},
): { group: OffloadGroup; letters: string } {
  return {
    group: {
      id: groupId(0),
      tokensPerPage: 4,
      tokensPerChunk: 4,
      windowChunks: null,
      isState: false,
      draft: false,
      segmentChunks: null,
      ...options,
    },
    letters,
  };
}

function agreed(groups: ReturnType<typeof group>[], tokens: number, localTokens = 0): number | 'ask again' {
  const letters = new Map(groups.map((one) => [one.group, one.letters]));
  const lookup = (one: OffloadGroup, chunk: number) => answerOf(letters.get(one)![chunk] ?? 'M');
  const keyedTokens = tokens - (tokens % 4);
  const bounds = { localTokens, tokensMax: tokens - 1, keyedTokens, unitTokens: 4 };
  return agreeOnHit(
    groups.map((one) => one.group),
    lookup,
    bounds,
  );
}

describe('agreeOnHit', () => {
  // D10: a drafter needs one chunk more than it may use.
  it.each([
    ['full, 3 of 3', [group('HHH', { draft: true })], 12, 8],
    ['full, 1 of 1', [group('H', { draft: true })], 4, 0],
    ['full, none', [group('MM', { draft: true })], 8, 0],
    ['window of 2, 2 keys', [group('HH', { draft: true, windowChunks: 2 })], 9, 4],
    ['window of 2, 3 keys', [group('HHH', { draft: true, windowChunks: 2 })], 13, 8],
    ['window of 2, 4 keys', [group('HHHH', { draft: true, windowChunks: 2 })], 17, 12],
    ['normal 3, draft 3: popped once', [group('HHH'), group('HHH', { draft: true })], 12, 8],
    // Upstream gives 0 here. The drafter has the chunk behind the first one, so the first one is of use.
    ['normal 1, draft 3', [group('HMM'), group('HHH', { draft: true })], 12, 4],
  ] as const)('D10: drafters, %s', (_name, groups, tokens, expected) => {
    expect(agreed([...groups], tokens)).toBe(expected);
  });

  it('is not the shorter of two answers: the window has none at the length that the other one leaves', () => {
    const full = group('HHHM');
    const window = group('HMMHH', { windowChunks: 2 });
    expect(agreed([full, window], 21)).toBe(4);
    expect(agreed([window, full], 21)).toBe(4);
  });

  it('a state is needed at the very end, wherever else there are some', () => {
    expect(agreed([group('HHHH'), group('MHMM', { windowChunks: 1, isState: true })], 17)).toBe(8);
  });

  it('asks again only for what would be used', () => {
    expect(agreed([group('HHP'), group('HHH', { windowChunks: 1 })], 13)).toBe('ask again');
    // The window ends the hit before the chunk that is on its way, and without it nothing is gained.
    expect(agreed([group('HHP'), group('HMM', { windowChunks: 1 })], 13)).toBe(4);
    expect(agreed([group('HHP'), group('MMM', { windowChunks: 1 })], 13)).toBe(0);
  });

  it('goes on behind what the device has', () => {
    expect(agreed([group('MMHH'), group('MMMH', { windowChunks: 1 })], 17, 8)).toBe(16);
    expect(agreed([group('MMMH')], 17, 8)).toBe(8);
  });
});

describe('isReachable (E1)', () => {
  it.each([
    [61, 64, 64, 2, false, false],
    [62, 64, 64, 2, false, true],
    [60, 64, 64, 2, true, false],
    [61, 64, 64, 2, true, true],
    [45, 48, 64, 2, false, false],
    [46, 48, 64, 2, false, true],
    [44, 48, 64, 2, true, false],
    [45, 48, 64, 2, true, true],
    [76, 80, 64, 3, false, false],
    [77, 80, 64, 3, false, true],
    [0, 1, null, null, false, true],
    [0, 2, 64, 2, false, true],
  ])(
    'chunk %i of %i, segments of %s, window %s, draft %s: %s',
    (chunk, storable, segmentChunks, windowChunks, draft, kept) => {
      expect(isReachable(chunk, storable, { segmentChunks, windowChunks, draft })).toBe(kept);
    },
  );
});
