/**
 * The cache against a model of arrays and loops, over random lists of operations. What these runs can find is shown by
 * pools that are broken on purpose: the property must refute each of them.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PageOwner } from '../../src/cache/events.ts';
import { PagePool, type Publication } from '../../src/cache/page-pool.ts';
import type { TokenSequence } from '../../src/cache/token-sequence.ts';
import type { GroupId, PageId, PrefixKey } from '../../src/units.ts';
import { OPERATIONS, REACHABLE, Run, type PoolMaker, type World } from '../unit/cache/support/run.ts';

// Admission and growth come more often than what empties the pool again, so that pools run full.
const kind = fc.oneof(
  { weight: 4, arbitrary: fc.constant('admit' as const) },
  { weight: 4, arbitrary: fc.constant('continue' as const) },
  { weight: 10, arbitrary: fc.constantFrom(...OPERATIONS) },
);
const world: fc.Arbitrary<World> = fc.record({
  pages: fc.integer({ min: 2, max: 14 }),
  tokensPerPage: fc.integer({ min: 1, max: 4 }),
  operations: fc.array(
    fc.record({
      kind,
      who: fc.nat(9),
      length: fc.integer({ min: 1, max: 18 }),
      chunk: fc.nat(12),
      extra: fc.nat(6),
    }),
    { minLength: 1, maxLength: 40, size: 'max' },
  ),
});

/** The same on every machine; another one by the environment. */
const SEED = Number(process.env.PAGEFENCE_SEED ?? 20);

const property = (makePool?: PoolMaker) => fc.property(world, (drawn) => new Run(drawn, makePool).all());

/** Frees the head of a table before its tail. */
class HeadFirstPool extends PagePool {
  override free(pages: readonly PageId[], owner: PageOwner | null = null): void {
    super.free(pages.toReversed(), owner);
  }
}

/** Finds pages under keys that they have lost. */
class ForgetfulPool extends PagePool {
  readonly #seen = new Map<PrefixKey, PageId>();
  override lookup(sequence: TokenSequence, tokens: number, group: GroupId): PageId | null {
    const key = sequence.prefixKey(tokens, group);
    const page = super.lookup(sequence, tokens, group);
    if (page !== null) this.#seen.set(key, page);
    return page ?? this.#seen.get(key) ?? null;
  }
}

/** Does not hold the last page of a hit. */
class LooseHitPool extends PagePool {
  override touch(pages: readonly PageId[], owner: PageOwner | null = null): void {
    super.touch(pages.slice(0, -1), owner);
  }
}

/** Leaves one page to a key: the one published last. */
class DeduplicatingPool extends PagePool {
  override publish(publication: Publication): void {
    const { owner, firstPage, pages, sequence, tokensPerPage } = publication;
    for (let i = 0; i < pages.length; i++) {
      const earlier = this.lookup(sequence, (firstPage + i + 1) * tokensPerPage, owner.group);
      if (earlier !== null && this.refCount(earlier) > 0 && !pages.includes(earlier))
        this.withdrawKeys(earlier);
    }
    super.publish(publication);
  }
}

describe('the cache agrees with the model', () => {
  it('in hits, tables, free order, keys, references and zero list, after every operation; all comes home', () => {
    fc.assert(property(), { numRuns: 300, seed: SEED });
  });

  it('and the runs reach what they are meant to reach', () => {
    const reached = new Set<string>();
    fc.assert(
      fc.property(world, (drawn) => {
        const run = new Run(drawn);
        run.all();
        for (const name of run.reached) reached.add(name);
      }),
      { numRuns: 100, seed: 1 },
    );
    expect([...reached].sort()).toEqual([...REACHABLE].sort());
  });

  const broken = { HeadFirstPool, ForgetfulPool, LooseHitPool, DeduplicatingPool };
  for (const [name, Pool] of Object.entries(broken)) {
    it(`and a ${name} is caught`, () => {
      const makePool: PoolMaker = (pages, onEvent) => new Pool(pages, { caching: true, onEvent });
      // A fixed seed: this asks whether the property bites, not for new failures.
      const { failed } = fc.check(property(makePool), { numRuns: 300, seed: 1, endOnFailure: true });
      expect(failed).toBe(true);
    });
  }
});
