/** Random layouts and lists of operations. Any list can be run: what an operation cannot do just now, it leaves. */
import fc from 'fast-check';
import { cacheConfigSchema, type CacheConfig, type CacheConfigInput } from '../../../src/config.ts';
import type { GroupConfigInput } from '../../../src/config/groups.ts';

export const OPERATIONS = [
  'admit',
  'admit with load',
  'continue',
  'finish',
  'preempt',
  'fork',
  'load done',
  'load failed',
  'step',
  'reset',
] as const;

type PagedConfig = CacheConfigInput & { readonly pages: number };

/** Four free numbers, which each operation reads in its own way. */
export interface Operation {
  readonly kind: (typeof OPERATIONS)[number];
  readonly who: number;
  readonly length: number;
  readonly chunk: number;
  readonly extra: number;
}

export interface World {
  readonly config: PagedConfig;
  readonly announces: boolean;
  readonly operations: readonly Operation[];
}

export function parse(config: CacheConfigInput): CacheConfig {
  return cacheConfigSchema.parse(config);
}

const group = (base: number): fc.Arbitrary<GroupConfigInput> => {
  const common = {
    tokensPerPage: fc.constantFrom(base, base, 2 * base, 3 * base),
    pageBytes: fc.constantFrom(8, 16),
  };
  // One in four is a drafter's.
  const draft = fc.nat(3).map((drawn) => drawn === 0);
  const chunked = fc
    .record({ ...common, chunks: fc.integer({ min: 1, max: 3 }) })
    .map(({ chunks, ...rest }): GroupConfigInput => {
      return { kind: 'chunked-local', chunkTokens: chunks * rest.tokensPerPage, ...rest };
    });
  return fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('full-attention'), draft, ...common }) },
    {
      weight: 1,
      arbitrary: fc.record({ kind: fc.constant('compressed'), ratio: fc.constant(base), ...common }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('sliding-window'),
        windowTokens: fc.integer({ min: 1, max: 9 }),
        draft,
        ...common,
      }),
    },
    { weight: 1, arbitrary: chunked },
    {
      weight: 3,
      arbitrary: fc.record({
        kind: fc.constant('recurrent'),
        states: fc.constantFrom('aligned', 'aligned', 'aligned', 'all'),
        speculativePages: fc.constantFrom(0, 0, 2),
        ...common,
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        kind: fc.constant('ring'),
        capacityTokens: fc.integer({ min: 2, max: 6 }),
        after: fc.constantFrom('tail', 'history'),
        pageBytes: common.pageBytes,
      }),
    },
  );
};

const config: fc.Arbitrary<PagedConfig> = fc
  .constantFrom(1, 2, 4)
  .chain((base) =>
    fc.record({
      pages: fc.integer({ min: 4, max: 40 }),
      groups: fc.array(group(base), { minLength: 1, maxLength: 5, size: 'max' }),
      contextParallel: fc.constantFrom(1, 1, 1, 2),
      prefixCaching: fc.nat(11).map((drawn) => drawn > 0),
      zeroing: fc.constantFrom('always', 'auto', 'poison'),
      lookaheadTokens: fc.constantFrom(0, 0, 0, 2),
      retentionTokens: fc.constantFrom(null, null, null, 0, 12),
    }),
  )
  .filter((drawn) => cacheConfigSchema.safeParse(drawn).success);

// Admission and growth come more often than what empties the pool again, so that pools run full.
const kind = fc.oneof(
  { weight: 5, arbitrary: fc.constant('admit' as const) },
  { weight: 7, arbitrary: fc.constant('continue' as const) },
  { weight: 3, arbitrary: fc.constant('step' as const) },
  { weight: 10, arbitrary: fc.constantFrom(...OPERATIONS) },
);

export function worlds(operationsMax: number): fc.Arbitrary<World> {
  return fc.record({
    config,
    announces: fc.boolean(),
    operations: fc.array(
      fc.record({
        kind,
        who: fc.nat(9),
        length: fc.integer({ min: 1, max: 26 }),
        chunk: fc.nat(12),
        extra: fc.nat(11),
      }),
      { minLength: 1, maxLength: operationsMax, size: 'max' },
    ),
  });
}
