/** `pagefence simulate`: seeds of random lives on the simulated worker, and what went wrong in them. */
import { ConfigError } from '../errors.ts';
import { runCampaign, type CampaignResult } from '../simulate/campaign.ts';
import { GUARDS, guardNamed, type Guard } from '../simulate/guards.ts';
import { drawScript } from '../simulate/script.ts';
import { shrink } from '../simulate/shrink.ts';
import type { Failure } from '../simulate/simulation.ts';
import { describeConfig, tell } from '../simulate/story.ts';
import { alignColumns, formatCount, formatSeconds } from './format.ts';
import { writeText, type CliIo } from './io.ts';

export interface SimulateCliOptions {
  readonly seed?: number;
  readonly seeds?: { readonly first: number; readonly last: number };
  readonly steps: number;
  readonly fence: 'complete' | 'scheduled-and-loads' | 'off';
  readonly without?: string;
  readonly table?: boolean;
  readonly json?: boolean;
}

const SEEDS = { first: 1, last: 100 };

/** 1 if something was found, else 0. */
export async function simulateCommand(options: SimulateCliOptions, io: CliIo): Promise<number> {
  if (options.table === true) return tableCommand(options, io);
  const without = options.without === undefined ? null : namedGuard(options.without);
  const { first, last } =
    options.seed === undefined ? (options.seeds ?? SEEDS) : { first: options.seed, last: options.seed };
  const { steps, fence } = options;
  const begin = performance.now();
  const result = await runCampaign({ firstSeed: first, lastSeed: last, steps, fence, without });
  const seconds = (performance.now() - begin) / 1000;
  if (options.json === true) {
    await writeText(io.stdout, `${JSON.stringify({ ...result, seconds })}\n`);
  } else {
    const story = result.failures.length > 0 ? await storyOf(result.failures[0], options, without) : [];
    await writeText(io.stdout, [...summary(result, seconds), ...story, ''].join('\n'));
  }
  return result.failures.length > 0 ? 1 : 0;
}

function summary({ seeds, steps, failures, seen }: CampaignResult, seconds: number): string[] {
  const counts = Object.entries(seen).map(([what, count]) => `${formatCount(count)} ${WORDS[what] ?? what}`);
  return [
    `${formatCount(seeds)} seeds, ${formatCount(steps)} steps in ${formatSeconds(seconds)} (${formatCount(Math.round(steps / seconds))} a second): ${counts.join(', ')}`,
    failures.length === 0 ? 'Nothing was found.' : `Found in ${formatCount(failures.length)} seeds:`,
    ...failures.slice(0, 10).map(failureLine),
  ];
}

const WORDS: Readonly<Record<string, string>> = {
  deviceHits: 'tokens found on the device',
  hostHits: 'in the host tier',
  flushes: 'stores flushed',
  failures: 'transfers failed',
  preemptions: 'preemptions',
};

function failureLine({ seed, step, invariant, symptom }: Failure): string {
  return `  seed ${seed}, step ${step}, ${invariant}: ${symptom}`;
}

/** The first failure, cut down and told step by step. */
async function storyOf(
  failure: Failure,
  options: SimulateCliOptions,
  without: Guard | null,
): Promise<string[]> {
  const script = drawScript({ seed: failure.seed, steps: options.steps, fence: options.fence });
  const shrunk = await shrink(script, failure, { without });
  return [
    '',
    `The shortest run with this failure that ${shrunk.runs} attempts found, of seed ${failure.seed}:`,
    ...describeConfig(shrunk.script).map((line) => `  ${line}`),
    ...(await tell(shrunk.script, { without })),
    failureLine(shrunk.failure),
  ];
}

/** For each guard: how many seeds it takes to miss it. */
async function tableCommand({ steps, seeds = SEEDS, json }: SimulateCliOptions, io: CliIo): Promise<number> {
  const rows: {
    guard: string;
    purpose: string;
    found: number;
    seeds: number;
    first: Failure | null;
    steps: number;
  }[] = [];
  for (const without of GUARDS) {
    const result = await runCampaign({ firstSeed: seeds.first, lastSeed: seeds.last, steps, without });
    const [first = null] = result.failures;
    rows.push({
      guard: without.name,
      purpose: without.purpose,
      found: result.failures.length,
      seeds: result.seeds,
      steps: result.steps,
      first,
    });
  }
  if (json === true) {
    await writeText(io.stdout, `${JSON.stringify({ guards: rows })}\n`);
  } else {
    const cells = rows.map(({ guard, found, seeds: count, first }) => [
      guard,
      `${found} of ${count}`,
      first === null ? '-' : String(first.seed),
      first === null ? '-' : String(first.step),
      first === null ? 'not missed' : `${first.invariant}: ${first.symptom}`,
    ]);
    const table = [['guard taken away', 'seeds', 'first', 'step', 'what its first seed shows'], ...cells];
    await writeText(io.stdout, `${alignColumns(table, { indent: 0, right: [1, 2, 3] }).join('\n')}\n`);
  }
  return rows.some(({ found }) => found === 0) ? 1 : 0;
}

function namedGuard(name: string): Guard {
  try {
    return guardNamed(name);
  } catch (error) {
    throw new ConfigError(`--without ${name}: ${(error as Error).message}`);
  }
}
