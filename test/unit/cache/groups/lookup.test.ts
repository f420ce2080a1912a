/** Section W of the cases: what windowed and chunked groups find in rows of cached and missing pages. */
import { describe, expect, it } from 'vitest';
import { cacheConfigSchema } from '../../../../src/config.ts';
import { resolveLayout } from '../../../../src/config/layout.ts';
import type { GroupConfigInput } from '../../../../src/config/groups.ts';
import { createGroup } from '../../../../src/cache/groups/create-group.ts';
import { PageCopies } from '../../../../src/cache/page-copies.ts';
import { PagePool } from '../../../../src/cache/page-pool.ts';

function groupOf(config: GroupConfigInput) {
  const [layout] = resolveLayout(cacheConfigSchema.parse({ pages: 64, groups: [config] })).groups;
  const pool = new PagePool(64, { caching: true });
  const options = { layout, pool, copies: new PageCopies(pool), zeroList: null, unwritten: null };
  return createGroup(options, { onAnnounce: null, holdsAnnounced: false });
}

interface Lookup {
  readonly config: GroupConfigInput & { tokensPerPage: number };
  readonly bits: string;
  readonly align?: number;
  /** Tokens of the bound beyond the last page. */
  readonly beyond?: number;
}

/** Tokens and page ids of the hit; page i, if cached, has id 10 + i. */
function found({ config, bits, align, beyond = 0 }: Lookup): string {
  const { tokensPerPage } = config;
  const group = groupOf(config);
  const bound = bits.length * tokensPerPage + beyond;
  const tokens = group.longestHit((at) => bits[at / tokensPerPage - 1] === '1', {
    tokensMax: bound,
    cachedMax: bound,
    step: align ?? tokensPerPage,
  });
  const pages = Array.from({ length: tokens / tokensPerPage }, (_, i) =>
    i < group.firstPageOfHit(tokens) ? 0 : 10 + i,
  );
  return tokens === 0 ? '0' : `${tokens}/[${pages.join()}]`;
}

const window = (tokensPerPage: number, windowTokens: number, draft = false) =>
  ({ kind: 'sliding-window', tokensPerPage, windowTokens, draft, pageBytes: 4 }) as const;
const zeros = (count: number): string => '0,'.repeat(count);

describe('a sliding window finds', () => {
  it.each([
    ['W1', 2, 4, '1', '2/[10]', '0'],
    ['W2', 2, 4, '11', '4/[10,11]', '2/[10]'],
    ['W3', 2, 4, '111', '6/[0,11,12]', '4/[10,11]'],
    ['W4', 2, 4, '110100110111', `24/[${zeros(10)}20,21]`, `22/[${zeros(9)}19,20]`],
    ['W6', 2, 4, '110100110001', `16/[${zeros(6)}16,17]`, '2/[10]'],
    ['W7', 2, 4, '01', '0', '0'],
    ['W8', 2, 4, '011', '6/[0,11,12]', '0'],
    ['W9', 2, 4, '0111', '8/[0,0,12,13]', '6/[0,11,12]'],
    ['W10', 2, 4, '0110', '6/[0,11,12]', '0'],
    ['W11', 4, 4, '1101', '16/[0,0,0,13]', '4/[10]'],
    ['W12', 4, 4, '0001', '16/[0,0,0,13]', '0'],
  ])('%s: pages of %i, window %i, cached %s', (_, tokensPerPage, windowTokens, bits, plain, drafted) => {
    expect(found({ config: window(tokensPerPage, windowTokens), bits })).toBe(plain);
    expect(found({ config: window(tokensPerPage, windowTokens, true), bits })).toBe(drafted);
  });

  it.each(['0001', '1001', '1111', '0111'])('W13: a window of one token, cached %s', (bits) => {
    expect(found({ config: window(4, 1), bits })).toBe('16/[0,0,0,13]');
  });

  it.each([
    ['W14', '00110000', '8/[0,0,12,13]', '0'],
    ['W16', '01100110', '0', '0'],
    ['W17', '00000111', `16/[${zeros(6)}16,17]`, '0'],
  ])('%s: hits that end on multiples of 4, cached %s', (_, bits, plain, drafted) => {
    expect(found({ config: window(2, 4), bits, align: 4 })).toBe(plain);
    expect(found({ config: window(2, 4, true), bits, align: 4 })).toBe(drafted);
  });
});

describe('a chunked group finds', () => {
  const config = { kind: 'chunked-local', tokensPerPage: 2, chunkTokens: 4, pageBytes: 4 } as const;

  it.each([
    ['1', 0, '2/[10]'],
    ['10', 0, '4/[0,0]'],
    ['111', 0, '6/[0,0,12]'],
    ['1110', 0, '8/[0,0,0,0]'],
    ['000000001', 1, `18/[${zeros(8)}18]`],
    ['000000000', 1, `16/[${zeros(7)}0]`],
  ])('W20: pages of 2, chunks of 4, cached %s and %i tokens more', (bits, beyond, expected) => {
    expect(found({ config, bits, beyond })).toBe(expected);
  });

  it('a longer common hit in an earlier chunk, where hits end on larger multiples', () => {
    // Hits end on multiples of 6: 6 lies in chunk 4..8 and needs page 2; 12 is the start of a chunk and needs none.
    expect(found({ config, bits: '111111', align: 6 })).toBe('12/[0,0,0,0,0,0]');
    expect(found({ config, bits: '11111', align: 6 })).toBe('6/[0,0,12]');
    expect(found({ config, bits: '11011', align: 6 })).toBe('0');
  });
});

describe('what nobody reads any more', () => {
  it('W23: behind a window of 4 tokens', () => {
    const group = groupOf(window(4, 4));
    const skipped = Array.from({ length: 13 }, (_, tokens) => group.skippedTokens(tokens));
    expect(skipped).toEqual([0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  it('W24: before a chunk of 8 tokens', () => {
    const group = groupOf({ kind: 'chunked-local', tokensPerPage: 4, chunkTokens: 8, pageBytes: 4 });
    expect([0, 7, 8, 13, 15, 16].map((tokens) => group.skippedTokens(tokens))).toEqual([0, 0, 8, 8, 8, 16]);
  });
});

describe('W25: pages that a request holds at once, at most', () => {
  it.each([
    [16, 64, 128, 1024, 13, 12],
    [16, 1024, 1024, 16384, 129, 128],
    [16, 1024, 2048, 16384, 193, 192],
    // The cap alone is 6; a request of 20 tokens has 5 pages in all.
    [4, 8, 16, 20, 5, 5],
    [4, 8, 16, 1000, 7, 6],
  ])(
    'pages of %i, window or chunk %i, %i in flight, length %i',
    (page, span, inFlight, length, asWindow, asChunk) => {
      expect(groupOf(window(page, span)).pagesNeeded(length, inFlight)).toBe(asWindow);
      const chunked = groupOf({
        kind: 'chunked-local',
        tokensPerPage: page,
        chunkTokens: span,
        pageBytes: 4,
      });
      expect(chunked.pagesNeeded(length, inFlight)).toBe(asChunk);
    },
  );
});
