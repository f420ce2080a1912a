import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Command, DriverOptions } from '../unit/offload/support/driver-types.ts';
import { Driver } from '../unit/offload/support/driver.ts';

/** Prompts of a few families, so that beginnings are shared and lengths fall on both sides of a page's end. */
const prompt = fc
  .record({ family: fc.nat(2), length: fc.integer({ min: 1, max: 18 }), fork: fc.nat(20) })
  .map(({ family, length, fork }) =>
    Array.from({ length }, (_, i) => (i < fork ? family * 100 + i : 500 + family * 100 + i)),
  );

/** A choice of a running request in one of `n` steps. */
const oneIn = (n: number): fc.Arbitrary<number | null> =>
  fc.oneof({ weight: n - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.nat(5) });

const command: fc.Arbitrary<Command> = fc.record({
  arrival: fc.option(prompt, { freq: 2, nil: null }),
  submit: fc.nat(2),
  acknowledge: fc.nat(3),
  from: fc.nat(5),
  preempt: oneIn(5),
  abort: oneIn(10),
  failEvery: fc.constantFrom(0, 0, 0, 5),
  reset: fc.nat(40).map((n) => n === 0),
});

const options: fc.Arbitrary<DriverOptions> = fc.record({
  pages: fc.integer({ min: 8, max: 20 }),
  slots: fc.constantFrom(1, 3, 6, 12, 40),
  policy: fc.constantFrom('lru', 'arc-tier'),
  workers: fc.constantFrom(1, 1, 3),
  recency: fc.constantFrom('on-finish', 'on-lookup'),
});

const run = fc.array(command, { minLength: 20, maxLength: 120, size: 'max' });

describe('OffloadConnector under a late worker', () => {
  it(
    'moves the right bytes, flushes exactly what it must, and leaves nothing behind',
    { timeout: 60_000 },
    () => {
      const seen = { stores: 0, loads: 0, flushes: 0 };
      fc.assert(
        fc.property(options, run, (setup, commands) => {
          const driver = new Driver(setup);
          for (const each of commands) driver.step(each);
          driver.drain();
          seen.stores += driver.ended.stores;
          seen.loads += driver.ended.loads;
          seen.flushes += driver.worker.flushed.length;
        }),
        { numRuns: 100 },
      );
      // A run in which nothing happens proves nothing.
      expect(Math.min(seen.stores, seen.loads, seen.flushes)).toBeGreaterThan(20);
    },
  );

  // Canaries: with a hole in the fence the same runs must find wrong bytes.
  it.each(['scheduled-and-loads', 'off'] as const)('fence %s is caught', { timeout: 60_000 }, (fence) => {
    const found: string[] = [];
    fc.assert(
      fc.property(options, run, (setup, commands) => {
        const driver = new Driver({ ...setup, fence });
        for (const [i, each] of commands.entries()) {
          // Few stores go of their own accord, so that most of them are late.
          driver.step({ ...each, submit: i % 5 === 0 ? 1 : 0, reset: false });
        }
        found.push(...driver.problems);
      }),
      { numRuns: 40, seed: 7 },
    );
    expect(found.length).toBeGreaterThan(0);
  });
});
