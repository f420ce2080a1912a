/**
 * What the cache promises about contents, over random lives: a worker that does what each step lists leaves in every
 * page what its keys say, and every request reads its own prefix.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkDeferredAreHeld, ParentsOutliveChildren } from '../support/cache-model/invariants.ts';
import { Life, type Witness } from '../support/cache-model/life.ts';
import { PageBytes } from '../support/cache-model/page-bytes.ts';
import { worlds } from '../support/cache-model/world.ts';

const OPERATIONS_WANTED = Number(process.env.PAGEFENCE_OPERATIONS ?? 100_000);
const SEED = Number(process.env.PAGEFENCE_SEED ?? 1);
const OPERATIONS_PER_LIFE = 160;
/** Longer runs may take longer, on a busy machine too. */
const TIMEOUT = 120_000 + 2 * OPERATIONS_WANTED;

describe(`contents of pages, seed ${SEED}`, () => {
  it(
    'C-I8, C-I18, C-I22: keys are true, parents outlive children, pages of copies under way are held',
    () => {
      let [operations, rowsRead, keysCompared, parents, deferred] = [0, 0, 0, 0, 0];
      const property = fc.property(worlds(OPERATIONS_PER_LIFE), (world) => {
        const bytes = new PageBytes(world.config.pages);
        const order = new ParentsOutliveChildren();
        const witness: Witness = {
          runStep: (...all) => bytes.runStep(...all),
          load: (...all) => bytes.load(...all),
          afterOperation: (life) => {
            order.check(life);
            deferred += checkDeferredAreHeld(life);
          },
        };
        operations += new Life(world, {}, witness).all();
        rowsRead += bytes.rowsRead;
        keysCompared += bytes.keysCompared;
        parents += order.compared;
      });
      fc.assert(property, { numRuns: Math.ceil(OPERATIONS_WANTED / 500), seed: SEED });
      console.log(
        `${operations} operations, seed ${SEED}: ${rowsRead} rows read, ${keysCompared} keys, ` +
          `${parents} parents, ${deferred} deferred pages`,
      );
      for (const count of [rowsRead, keysCompared, parents, deferred]) expect(count).toBeGreaterThan(0);
    },
    TIMEOUT,
  );

  it.each([
    ['leaves out copies', (step) => ({ ...step, batch: { copies: [] } })],
    [
      'zeroes what everybody holds',
      (step, life) => ({
        ...step,
        zeroed: life.live.map(({ request: { id } }) => life.manager.pageTable(id)),
      }),
    ],
  ] satisfies [string, (step: Step, life: Life) => Step][])(
    'and a worker that %s is caught',
    (_, breakStep) => {
      const property = fc.property(worlds(OPERATIONS_PER_LIFE), (world) => {
        const bytes = new PageBytes(world.config.pages);
        const witness: Witness = {
          runStep: (life, step) => bytes.runStep(life, breakStep(step, life)),
          load: (...all) => bytes.load(...all),
        };
        new Life(world, {}, witness).all();
      });
      // A fixed seed: this asks whether the property bites, not for new failures.
      const { failed } = fc.check(property, { numRuns: 100, seed: 1, endOnFailure: true });
      expect(failed).toBe(true);
    },
  );
});

type Step = Parameters<NonNullable<Witness['runStep']>>[1];
