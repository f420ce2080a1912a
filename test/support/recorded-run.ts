/** Random lives of an engine, recorded, with what `inspect` showed at every moment beside the recording. */
import { cachePreset } from '../../src/config/presets.ts';
import type { EngineConfigInput } from '../../src/config.ts';
import { createEngine } from '../../src/create-engine.ts';
import { ConfigError } from '../../src/errors.ts';
import { inspect, type EngineView } from '../../src/inspect.ts';
import type { RunLog } from '../../src/recording/run-log.ts';
import { ChangeWatch, RunRecorder, type RunCounters } from '../../src/recording/run-recorder.ts';
import type { StepOutcome } from '../../src/schedule/step-plan.ts';
import { TransferLog } from '../../src/transfer-log.ts';
import { Random } from './random.ts';
import { randomConfig } from './random-run.ts';
import { prompt } from './worlds.ts';

export interface RecordedRun {
  readonly log: RunLog<RunCounters>;
  /** By moment. */
  readonly views: readonly EngineView[];
  readonly counters: readonly RunCounters[];
  /** Of the step that led there. */
  readonly outcomes: readonly (StepOutcome | null)[];
}

/** One group or the four of the incident, fence on or off, one or two steps in flight. */
function configOf(random: Random): EngineConfigInput {
  const base = randomConfig(random);
  const fence = random.pick(['complete', 'off'] as const);
  const offload = { ...base.offload, fence };
  const schedule = { ...base.schedule, stepsInFlight: random.pick([1, 2] as const) };
  if (random.chance(0.6)) return { ...base, offload, schedule };
  const cache = { ...cachePreset('incident-small'), pages: random.pick([16, 24, 40]) };
  const pageBytes = Math.max(...cache.groups.map((group) => group.pageBytes));
  const transfer = {
    storeBytesPerStep: pageBytes * random.pick([1, 2, 8]),
    stagingBuffers: 2,
    stagingBytes: pageBytes,
    overflowBytes: 8 * pageBytes,
    acknowledgementLag: random.pick([1, 2, 3]),
  };
  return { cache, offload, transfer };
}

export async function recordedRun({ seed, steps }: { seed: number; steps: number }): Promise<RecordedRun> {
  const random = new Random(seed);
  const config = configOf(random);
  const watch = new ChangeWatch();
  const engine = await createEngine(config, watch);
  const transfers = new TransferLog(engine.config);
  const recorder = new RunRecorder({ engine, watch, transfers });
  const views = [inspect(engine, { transfers })];
  const countersNow = (): RunCounters => {
    const { exposedPages, lateReads } = transfers;
    return { statistics: engine.statistics(), exposedPages, lateReads };
  };
  const counters = [countersNow()];
  const outcomes: (StepOutcome | null)[] = [null];
  let arrivals = 0;
  for (let i = 0; i < steps || engine.hasWork; i += 1) {
    while (i < steps && random.chance(0.4)) {
      const shared = prompt(1000 * random.between(1, 3), random.between(1, 20));
      const tokens = [...shared, ...prompt(random.between(1, 2 ** 30), random.between(0, 4))];
      try {
        engine.add({ id: `r${arrivals}`, tokens, maxOutputTokens: random.between(1, 6) });
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
      }
      arrivals += 1;
    }
    if (arrivals > 0 && random.chance(0.08)) engine.abort(`r${random.between(0, arrivals - 1)}`);
    if (random.chance(0.02)) engine.resetPrefixCache();
    if (random.chance(0.02)) void engine.reset();
    const last = await engine.step();
    transfers.record(last);
    recorder.record(last);
    views.push(inspect(engine, { last, transfers }));
    counters.push(countersNow());
    outcomes.push(last.outcome);
  }
  await engine.close();
  return { log: recorder.log, views, counters, outcomes };
}
