/** A recording gives every moment back as it was, in whatever order it is asked for. */
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Delta } from '../../src/recording/delta.ts';
import { InvariantError } from '../../src/errors.ts';
import { RunLog, type RunParts } from '../../src/recording/run-log.ts';
import type { RunCounters } from '../../src/recording/run-recorder.ts';
import { recordedRun, type RecordedRun } from '../support/recorded-run.ts';

const STEPS = 40;

/** A run, and places to look at: fractions of its length. */
const lives = fc.record({
  seed: fc.integer({ min: 1, max: 2 ** 30 }),
  seeks: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 1, maxLength: 30 }),
});

/** The first moment at which the log does not show what was there, or null. */
function firstDifference(
  log: RunLog<RunCounters>,
  run: RecordedRun,
  seeks: readonly number[],
): number | null {
  const moments = seeks.map((fraction) => Math.round(fraction * log.length));
  for (const moment of [...moments, ...[...moments].reverse()]) {
    const shown = log.at(moment);
    const isSame =
      isDeepStrictEqual(shown.view, run.views[moment]) &&
      isDeepStrictEqual(shown.counters, run.counters[moment]) &&
      isDeepStrictEqual(shown.last?.outcome ?? null, run.outcomes[moment]);
    if (!isSame) return moment;
  }
  return null;
}

describe('a recording', () => {
  it('shows at every moment what was there, back and forth', async () => {
    await fc.assert(
      fc.asyncProperty(lives, async ({ seed, seeks }) => {
        const run = await recordedRun({ seed, steps: STEPS });
        const moment = firstDifference(run.log, run, seeks);
        if (moment !== null) expect(run.log.at(moment).view).toEqual(run.views[moment]);
        expect(moment).toBeNull();
      }),
      { numRuns: 60 },
    );
  });

  it('survives JSON', async () => {
    await fc.assert(
      fc.asyncProperty(lives, async ({ seed, seeks }) => {
        const run = await recordedRun({ seed, steps: STEPS });
        const copy = new RunLog<RunCounters>(
          JSON.parse(JSON.stringify(run.log.toParts())) as ReturnType<typeof run.log.toParts>,
        );
        expect(firstDifference(copy, run, seeks)).toBeNull();
      }),
      { numRuns: 10 },
    );
  });

  /** Each field of a delta, spoiled in the middle of a run in which it matters. */
  const FIELDS = [
    'steps',
    'references',
    'keys',
    'slots',
    'suspectPages',
    'suspectSlots',
    'order',
    'requests',
    'ended',
    'begun',
    'unread',
    'staging',
    'counters',
    'step',
  ] as const satisfies readonly (keyof Delta)[];

  it.each(FIELDS)('with a delta without its %s is found out', async (field) => {
    let spoiled = 0;
    let found = 0;
    for (let seed = 1; seed <= 40 && spoiled < 4; seed += 1) {
      const run = await recordedRun({ seed, steps: STEPS });
      const parts = run.log.toParts();
      const at = parts.deltas.findIndex((delta) => field in delta);
      if (at < 0) continue;
      spoiled += 1;
      const { [field]: _, ...rest } = parts.deltas[at];
      const required = { steps: -1, step: parts.first.step };
      const deltas = parts.deltas.with(at, { ...required, ...rest });
      if (isFoundOut({ ...parts, deltas }, run)) found += 1;
    }
    expect(spoiled, 'runs in which it matters').toBeGreaterThan(0);
    // A slot may be given out again before anybody sees that it was suspect.
    if (field === 'suspectSlots') expect(found).toBeGreaterThan(0);
    else expect(found).toBe(spoiled);
  });
});

function isFoundOut(parts: RunParts, run: RecordedRun): boolean {
  try {
    const log = new RunLog<RunCounters>(parts);
    const all = run.views.map((_, moment) => moment / log.length);
    return firstDifference(log, run, all) !== null;
  } catch (error) {
    if (error instanceof InvariantError) return true;
    throw error;
  }
}
