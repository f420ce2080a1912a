/** A random but reproducible life of an engine: small pools, shared beginnings, aborts, failing transfers. */
import type { EngineConfigInput } from '../../src/config.ts';
import { ConfigError } from '../../src/errors.ts';
import { freezePlan, type StepRecord } from '../../src/schedule/step-log.ts';
import type { JobId } from '../../src/units.ts';
import { HostShadow } from './host-shadow.ts';
import { Random } from './random.ts';
import { makeWorld, prompt, simulated, type MakeWorker, type World } from './worlds.ts';

/** Far more than any of these lives takes: who gets here is going round in circles. */
const STEPS_MAX = 20_000;

export interface RandomRunOptions {
  readonly seed: number;
  readonly steps: number;
  readonly fence?: 'complete' | 'off';
  readonly zeroing?: 'always' | 'poison' | 'auto';
  /** Tokens that a request produces at most: many of them make for many preemptions. */
  readonly outputTokensMax?: number;
  /** Share of transfers that fail. */
  readonly failures?: number;
  readonly stepsInFlight?: 1 | 2;
  /** Default: the simulated worker. Its faults are then up to it. */
  readonly makeWorker?: MakeWorker;
}

export interface RandomRun {
  readonly world: World;
  readonly config: EngineConfigInput;
  /** Every step, kept. */
  readonly log: readonly StepRecord[];
  readonly finished: number;
  readonly refused: number;
  /** The first step after which a ready slot did not hold what its key promises. */
  readonly wrongSlot: string | null;
}

export function randomConfig(random: Random) {
  const tokensPerPage = random.pick([1, 1, 2, 3, 4, 7]);
  const pageBytes = 4 * random.pick([1, 1, 2, 3, 5, 16]);
  return {
    cache: {
      pages: random.pick([2, 3, 4, 6, 10, 24]),
      pageBytes,
      tokensPerPage,
      prefixCaching: random.chance(0.8),
    },
    schedule: { maxTokensPerStep: random.pick([1, 3, 8, 64]), maxRunning: random.pick([1, 2, 5, 30]) },
    offload: {
      slots: random.pick([0, 1, 2, 3, 8, 40]),
      policy: random.pick(['lru', 'arc-tier'] as const),
    },
    transfer: {
      storeBytesPerStep: pageBytes * random.pick([1, 2, 100]),
      stagingBuffers: random.between(1, 3),
      stagingBytes: pageBytes * random.pick([1, 1, 2, 4]),
      overflowBytes: pageBytes * random.pick([0, 1, 8, 64]),
      acknowledgementLag: random.pick([1, 2, 3, 6]),
    },
  } satisfies EngineConfigInput;
}

/** Beginnings that several prompts share, so that there is something to hit. */
function randomPrompt(random: Random, tokenCountMax: number): number[] {
  const shared = prompt(1000 * random.between(1, 4), random.between(0, tokenCountMax));
  const own = prompt(random.between(1, 2 ** 31), random.between(shared.length === 0 ? 1 : 0, 6));
  return [...shared, ...own].slice(0, tokenCountMax);
}

export async function randomRun(options: RandomRunOptions): Promise<RandomRun> {
  const { seed, steps, fence = 'complete', zeroing = 'always', failures = 0, outputTokensMax = 6 } = options;
  const random = new Random(seed);
  const base = randomConfig(random);
  const config: EngineConfigInput = {
    ...base,
    cache: { ...base.cache, zeroing },
    offload: { ...base.offload, fence },
    schedule: { ...base.schedule, stepsInFlight: options.stepsInFlight ?? 1 },
  };
  // Faults are drawn from the job, not from the order in which the worker asks.
  const fails = (job: JobId): boolean => new Random(seed * 7919 + job).chance(failures);
  const world = await makeWorld(config, options.makeWorker ?? simulated({ store: fails, load: fails }));
  const { engine } = world;
  const tokenCountMax = (base.cache.pages - 1) * base.cache.tokensPerPage;
  const log: StepRecord[] = [];
  let finished = 0;
  let refused = 0;
  let arrivals = 0;
  const shadow = new HostShadow(world);
  let wrongSlot: string | null = null;
  const step = async () => {
    shadow.learn();
    const running = engine.step();
    // While the step is under way, too.
    if (arrivals > 0 && random.chance(0.05)) engine.abort(`r${random.between(0, arrivals - 1)}`);
    const report = await running;
    const record = { plan: freezePlan(report.plan), outcome: report.outcome };
    finished += report.finished.length;
    log.push(record);
    if (log.length > STEPS_MAX) throw new Error(`seed ${seed}: no end after ${STEPS_MAX} steps`);
    engine.checkIntegrity();
    const wrong = shadow.findWrongSlot();
    if (wrong !== null) wrongSlot ??= `step ${report.plan.step}: ${wrong}`;
  };
  for (let i = 0; i < steps; i += 1) {
    while (random.chance(0.5)) {
      try {
        engine.add({
          id: `r${arrivals}`,
          tokens: randomPrompt(random, tokenCountMax + 1),
          maxOutputTokens: random.between(1, outputTokensMax),
        });
      } catch (error) {
        if (!(error instanceof ConfigError)) throw error;
        refused += 1;
      }
      arrivals += 1;
    }
    if (random.chance(0.03)) engine.resetPrefixCache();
    if (arrivals > 0 && random.chance(0.1)) engine.abort(`r${random.between(0, arrivals - 1)}`);
    await step();
  }
  while (engine.hasWork) await step();
  return { world, config, log, finished, refused, wrongSlot };
}
