/** `pagefence explore`: every interleaving of a small world. */
import { ConfigError } from '../errors.ts';
import { explore, PROMPTS_MAX, type ExploreResult } from '../simulate/explore.ts';
import { formatCount, formatSeconds } from './format.ts';
import { writeText, type CliIo } from './io.ts';

export interface ExploreCliOptions {
  readonly requests: number;
  readonly pages: number;
  readonly fence: 'complete' | 'scheduled-and-loads' | 'off';
  readonly states: number;
  readonly json?: boolean;
}

/** 1 if a counterexample was found, else 0. */
export async function exploreCommand(options: ExploreCliOptions, io: CliIo): Promise<number> {
  const { requests, pages, fence, states: statesMax } = options;
  if (requests > PROMPTS_MAX) {
    throw new ConfigError(
      `--requests ${requests} is too many to try every interleaving; use 1 to ${PROMPTS_MAX}`,
    );
  }
  const begin = performance.now();
  const result = await explore({ requests, pages, fence, statesMax });
  const seconds = (performance.now() - begin) / 1000;
  const text =
    options.json === true ? JSON.stringify({ ...result, seconds }) : report(result, options, seconds);
  await writeText(io.stdout, `${text}\n`);
  return result.counterexample === null ? 0 : 1;
}

function report(result: ExploreResult, { requests, pages }: ExploreCliOptions, seconds: number): string {
  const { states, transitions, depth, complete, counterexample } = result;
  const head =
    `${requests} requests on ${pages} pages, one group of states and one of rings: ${formatCount(states)} states, ` +
    `${formatCount(transitions)} steps tried, up to ${depth} in a row, in ${formatSeconds(seconds)}`;
  if (counterexample) {
    const steps = counterexample.story.map((line, i) => `  step ${i + 1}  ${line}`);
    return [head, 'The shortest way to a fault:', ...steps, `  then    ${counterexample.symptom}`].join('\n');
  }
  return `${head}\n${complete ? 'Every state was visited, and nothing was wrong.' : 'Nothing was wrong so far; give more --states to go on.'}`;
}
