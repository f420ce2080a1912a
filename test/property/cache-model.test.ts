/**
 * The cache manager against a model of arrays and loops: one to five groups over one pool, in random layouts and lives.
 * What these lives can find is shown by caches that are broken on purpose: the property must refute each of them.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BROKEN } from '../support/cache-model/broken.ts';
import { Life, REACHABLE } from '../support/cache-model/life.ts';
import { worlds } from '../support/cache-model/world.ts';

const OPERATIONS_WANTED = Number(process.env.PAGEFENCE_OPERATIONS ?? 100_000);
const SEED = Number(process.env.PAGEFENCE_SEED ?? 1);
const OPERATIONS_PER_LIFE = 160;
const CAUGHT_WITHIN = 5000;
/** Longer runs may take longer, on a busy machine too. */
const TIMEOUT = 120_000 + 2 * OPERATIONS_WANTED;

describe(`the cache agrees with the model, seeds from ${SEED}`, () => {
  it(
    `in hits, tables, free order, references, keys, zero lists and copies, after each of ${OPERATIONS_WANTED} operations`,
    () => {
      const reached = new Set<string>();
      let operations = 0;
      let seed = SEED;
      for (; operations < OPERATIONS_WANTED; seed++) {
        const property = fc.property(worlds(OPERATIONS_PER_LIFE), (world) => {
          const life = new Life(world);
          operations += life.all();
          for (const what of life.reached) reached.add(what);
        });
        fc.assert(property, { numRuns: 200, seed });
      }
      console.log(`${operations} operations on the cache and its model, seeds ${SEED} to ${seed - 1}`);
      expect([...reached].sort()).toEqual([...REACHABLE].sort());
    },
    TIMEOUT,
  );

  it.each(Object.entries(BROKEN))(
    `and a cache that %s is caught within ${CAUGHT_WITHIN} operations`,
    (_, parts) => {
      let operations = 0;
      const property = fc.property(worlds(OPERATIONS_PER_LIFE), (world) => {
        operations += world.operations.length;
        new Life(world, parts).all();
      });
      // A fixed seed: this asks whether the property bites, not for new failures.
      const { failed } = fc.check(property, { numRuns: 400, seed: 1, endOnFailure: true });
      expect(failed).toBe(true);
      expect(operations).toBeLessThanOrEqual(CAUGHT_WITHIN);
    },
  );
});
