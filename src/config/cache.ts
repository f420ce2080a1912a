/** The pool of pages, the groups that share it, and how prompts are told apart in it. */
import { z } from 'zod';
import { WORD_BYTES } from '../units.ts';
import { groupConfigSchema, type GroupConfig, type GroupConfigInput } from './groups.ts';
import { layoutProblems } from './layout.ts';

export interface CacheConfig {
  /** Pages of the pool, the null page included: a pool of N pages has N - 1 usable ones. 2 to 2^26. */
  pages: number;
  /** Bytes from one page to the next: those of the largest group's page. A multiple of 4. */
  pageBytes: number;
  /** Tokens that a page of the first group covers, on one rank. */
  tokensPerPage: number;
  /**
   * The kinds of layers that share the pool, at most 256. Instead of them, `tokensPerPage` and `pageBytes` give one
   * full-attention group.
   */
  groups: GroupConfig[];
  /** Whether full pages are published under their prefix keys and found again. Default: true. */
  prefixCaching: boolean;
  /**
   * Which newly allocated pages are overwritten before use. `always` (default): every one but recurrent states, which
   * are written before they are read; `auto`: only where groups differ in kind or format, so that stale bytes could be
   * read as something else, and rings; `poison`: as `always`, but with a NaN pattern instead of zeros, so that a read
   * of an unwritten row shows.
   */
  zeroing: 'auto' | 'always' | 'poison';
  /** Separates the prefix keys of tenants that must not share pages. Default: none. */
  salt: string;
  /** Ranks that share the rows of each attention page; windowed and chunked groups work on one only. Default: 1. */
  contextParallel: number;
  /** Consecutive tokens on one rank: a multiple of every compression ratio. `null` (default): the least of those. */
  interleaveTokens: number | null;
  /** Tokens that are hashed at once: a common divisor of the pages. `null` (default): the greatest one. */
  matchTokens: number | null;
  /** Tokens that a drafter looks ahead while it prefills; the last of them are not final and not published. Default: 0. */
  lookaheadTokens: number;
  /**
   * Where windowed and recurrent groups keep what a hit needs. `null` (default): at every unit; n, a multiple of the
   * unit: every n tokens; 0: nowhere. The end of a prompt and of what it shares with others are kept besides.
   */
  retentionTokens: number | null;
  /** The longest request, which the pool must hold. `null` (default): whatever fits. */
  tokensMax: number | null;
  /** Fraction of the pool that stays free when a waiting request joins running ones. 0 (default) to 1. */
  watermark: number;
}

type Shorthand = 'pageBytes' | 'tokensPerPage' | 'groups';

/** What a caller writes: `pages` or `poolBytes`; `tokensPerPage` and `pageBytes`, or `groups`. */
export interface CacheConfigInput extends Partial<Omit<CacheConfig, Shorthand>> {
  /** Bytes of the pool on one rank: as many whole pages as fit. */
  poolBytes?: number;
  pageBytes?: number;
  tokensPerPage?: number;
  groups?: GroupConfigInput[];
}

/** Pages and slots are counted in lists of 32-bit words; this many are 256 GiB of 4 KiB pages. */
export const PAGES_MAX = 2 ** 26;
/** The null page and one more. */
const PAGES_MIN = 2;
/** A prefix key on a page keeps its group in one byte. */
const GROUPS_MAX = 256;
const count = z.int().min(1);

const fields = {
  pages: z.int().min(PAGES_MIN).max(PAGES_MAX).optional(),
  poolBytes: count.optional(),
  pageBytes: count.multipleOf(WORD_BYTES).optional(),
  tokensPerPage: count.optional(),
  groups: z.array(groupConfigSchema).min(1).max(GROUPS_MAX).optional(),
  prefixCaching: z.boolean().default(true),
  zeroing: z.enum(['auto', 'always', 'poison']).default('always'),
  salt: z.string().default(''),
  contextParallel: count.max(1024).default(1),
  interleaveTokens: count.nullable().default(null),
  matchTokens: count.nullable().default(null),
  lookaheadTokens: z.int().min(0).default(0),
  retentionTokens: z.int().min(0).nullable().default(null),
  tokensMax: count.nullable().default(null),
  watermark: z.number().min(0).max(1).default(0),
};

export const cacheConfigSchema = z.strictObject(fields).transform((input, context): CacheConfig => {
  const fail = (path: readonly (string | number)[], message: string): typeof z.NEVER => {
    context.addIssue({ code: 'custom', path: [...path], message });
    return z.NEVER;
  };
  const groups = input.groups ?? shorthand(input);
  if (groups === null) {
    const missing = input.tokensPerPage === undefined ? 'tokensPerPage' : 'pageBytes';
    return fail([missing], `expected number, received undefined; give ${missing}, or groups`);
  }
  const pageBytes = Math.max(...groups.map((group) => group.pageBytes));
  const [first] = groups;
  const tokensPerPage = first.kind === 'ring' ? first.capacityTokens : first.tokensPerPage;
  for (const [name, value] of [
    ['pageBytes', pageBytes],
    ['tokensPerPage', tokensPerPage],
  ] as const) {
    const given = input[name];
    if (given !== undefined && given !== value) {
      return fail(
        [name],
        `${given} is not what the groups say, which is ${value}; leave it out beside groups`,
      );
    }
  }
  const { pages: given, poolBytes, ...rest } = input;
  if ((given === undefined) === (poolBytes === undefined)) {
    const what = given === undefined ? 'neither is given' : `${given} beside poolBytes ${poolBytes}`;
    return fail(['pages'], `${what}; give either pages or poolBytes, the size of the pool`);
  }
  const pages = given ?? Math.min(Math.floor(poolBytes! / pageBytes), PAGES_MAX);
  if (pages < PAGES_MIN) {
    return fail(
      ['poolBytes'],
      `${poolBytes} bytes hold ${pages} pages of ${pageBytes} bytes; give at least ${PAGES_MIN * pageBytes}`,
    );
  }
  const config: CacheConfig = { ...rest, pages, groups, pageBytes, tokensPerPage };
  for (const { path, message } of layoutProblems(config)) fail(path, message);
  return config;
});

function shorthand({
  tokensPerPage,
  pageBytes,
}: {
  tokensPerPage?: number;
  pageBytes?: number;
}): GroupConfig[] | null {
  if (tokensPerPage === undefined || pageBytes === undefined) return null;
  return [{ kind: 'full-attention', tokensPerPage, pageBytes, draft: false, format: 'f16' }];
}
