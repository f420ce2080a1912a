/** Each guard taken away is missed: a random life shows wrong bytes or broken books, and with the guard it shows nothing. */
import { describe, expect, it } from 'vitest';
import { GUARDS, guardNamed } from '../../src/simulate/guards.ts';
import { drawScript } from '../../src/simulate/script.ts';
import { shrink } from '../../src/simulate/shrink.ts';
import { simulate } from '../../src/simulate/simulation.ts';

const STEPS = 60;

/** The first seed that misses the guard, and the rule that is broken then: `pagefence simulate --table`. */
const FIRST: Readonly<Record<string, readonly [seed: number, invariant: string]>> = {
  fence: [2, 'O-I2'],
  'zero-list': [23, 'O-I2'],
  'check-before-build': [3, 'O-I2'],
  'finished-owners': [2, 'O-I2'],
  'running-owners': [4, 'O-I2'],
  'last-stores': [7, 'O-I2'],
  'preempted-owners': [17, 'O-I2'],
  'skip-set': [4, 'O-I8'],
  'load-order': [4, 'C-I8'],
  copies: [1, 'C-I8'],
  pins: [4, 'integrity'],
  'publish-after-complete': [2, 'O-I2'],
  'failed-stores': [2, 'O-I2'],
  'failed-loads': [31, 'C-I8'],
  'acknowledgements-by-id': [2, 'O-I2'],
  'withheld-pages': [30, 'integrity'],
  'steps-in-flight': [104, 'C-I8'],
  'windows-in-flight': [579, 'C-I8'],
  'drained-reset': [18, 'O-I2'],
};

describe('without a guard', () => {
  it.each(GUARDS.map((guard) => [guard.name, guard] as const))(
    '%s something is found',
    async (name, without) => {
      const [seed, invariant] = FIRST[name];
      const script = drawScript({ seed, steps: STEPS });
      const { failure } = await simulate(script, { without });
      expect(failure).toMatchObject({ seed, invariant });
      expect((await simulate(script)).failure, 'with it').toBeNull();
    },
  );

  it('the incident is found by itself, in a layout with a ring, and cut down to a few requests', async () => {
    const without = guardNamed('zero-list');
    const [seed] = FIRST['zero-list'];
    const script = drawScript({ seed, steps: STEPS });
    expect(script.config.cache.groups?.map(({ kind }) => kind)).toContain('ring');
    const { failure } = await simulate(script, { without });
    const shrunk = await shrink(script, failure!, { without });
    expect(shrunk.failure.invariant).toBe('O-I2');
    expect(shrunk.script.commands.length).toBeLessThanOrEqual(8);
    expect((await simulate(shrunk.script)).failure).toBeNull();
  });

  it('that does not exist, the guards that do are named', () => {
    expect(() => guardNamed('luck')).toThrow(/no guard luck; the guards are fence, zero-list/);
  });
});
