/** Ways that take turns, so that what disturbs one disturbs all. */
import { quantile } from '../gpu/quantile.ts';

export interface Contestant {
  /** Milliseconds of one run. */
  readonly run: () => Promise<number>;
}

export interface Measured {
  /** Median of the runs. */
  readonly milliseconds: number;
  /** Milliseconds at the first and at the third quartile. */
  readonly middleHalf: readonly [number, number];
  readonly runs: number;
}

export interface Pace {
  /** Runs of each way, at least 1. */
  readonly runs: number;
  /** Milliseconds after which a way that has run a few times sits out. */
  readonly budgetMs: number;
  /** Called before each run, and waited for. Throws to end it all. */
  readonly pause: () => void | Promise<void>;
}

/** The first runs pay for what is made and compiled on first use. */
const WARM_UPS = 4;
const RUNS_MIN = 3;

/** In the order of the contestants. */
export async function interleave(contestants: readonly Contestant[], pace: Pace): Promise<Measured[]> {
  const { runs, budgetMs, pause } = pace;
  const round = async (times: readonly number[][], runsMin: number) => {
    for (const [index, { run }] of contestants.entries()) {
      const spent = times[index].reduce((sum, time) => sum + time, 0);
      if (times[index].length >= runsMin && spent >= budgetMs) continue;
      await pause();
      times[index].push(await run());
    }
  };
  const warmUps: number[][] = contestants.map(() => []);
  for (let i = 0; i < WARM_UPS; i += 1) await round(warmUps, 1);
  const times: number[][] = contestants.map(() => []);
  for (let i = 0; i < runs; i += 1) await round(times, RUNS_MIN);
  return times.map((each) => ({
    milliseconds: quantile(each, 0.5),
    middleHalf: [quantile(each, 0.25), quantile(each, 0.75)],
    runs: each.length,
  }));
}
