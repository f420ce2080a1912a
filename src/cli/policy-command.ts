/** `pagefence replay --policy-only`: the references of a trace through cache policies, without pages. */
import { BadLines } from '../trace/bad-lines.ts';
import { REPLAY_POLICIES, replayPolicies, type PolicyResult } from '../trace/policy-replay.ts';
import { readReferences } from '../trace/references.ts';
import { alignColumns, filesText, formatCount, formatSeconds } from './format.ts';
import { writeText, type CliIo } from './io.ts';
import type { ReplayCliOptions } from './replay-options.ts';
import { openTraces, skippedNotes } from './traces.ts';

export interface PolicyOnlyResult {
  readonly results: readonly PolicyResult[];
  readonly blockReferences: number;
  /** Distinct blocks. */
  readonly unique: number;
  readonly requests: number;
  readonly linesSkipped: number;
  readonly files: readonly string[];
  readonly seconds: number;
}

export async function policyCommand(
  paths: readonly string[],
  options: Pick<ReplayCliOptions, 'policy' | 'capacity' | 'skipBadLines' | 'json'>,
  io: CliIo,
): Promise<void> {
  const begin = performance.now();
  const { files } = await openTraces(paths);
  const badLines = new BadLines({ skip: options.skipBadLines === true });
  const trace = await readReferences(files, { badLines });
  const policies = [...new Set(options.policy ?? REPLAY_POLICIES)];
  const capacities = [...new Set(options.capacity)];
  const result: PolicyOnlyResult = {
    results: replayPolicies(trace, { policies, capacities }),
    blockReferences: trace.references.length,
    unique: trace.uniqueBlocks,
    requests: trace.requests,
    linesSkipped: badLines.count,
    files: files.map(({ name }) => name),
    seconds: (performance.now() - begin) / 1000,
  };
  if (options.json === true) {
    await writeText(io.stdout, `${JSON.stringify(result)}\n`);
    return;
  }
  for (const note of skippedNotes(badLines)) io.stderr.write(`${note}\n`);
  await writeText(io.stdout, policyText(result));
}

/** One line a capacity, one column a policy. */
function policyText({
  results,
  blockReferences,
  unique,
  requests,
  files,
  seconds,
}: PolicyOnlyResult): string {
  const policies = [...new Set(results.map(({ policy }) => policy))];
  const capacities = [...new Set(results.map(({ capacity }) => capacity))];
  const rateOf = (policy: string, capacity: number) =>
    results.find((each) => each.policy === policy && each.capacity === capacity)!.hitRate.toFixed(4);
  const table = [
    ['capacity', ...policies],
    ...capacities.map((capacity) => [
      formatCount(capacity),
      ...policies.map((policy) => rateOf(policy, capacity)),
    ]),
  ];
  const notes = [
    policies.includes('arc')
      ? 'arc is the textbook rule; the host tier of a replay through pages has its own, arc-tier.'
      : '',
    policies.includes('min') ? 'min is the offline optimum: no policy gets more hits.' : '',
  ];
  return [
    `${filesText(files)}: ${formatCount(requests)} requests, ${formatCount(blockReferences)} block references, ` +
      `${formatCount(unique)} distinct blocks`,
    '',
    'Hits over references, by blocks that the cache holds',
    ...alignColumns(table, { indent: 2, right: table[0].map((_, index) => index) }),
    '',
    ...notes.filter((note) => note !== ''),
    `Read and replayed in ${formatSeconds(seconds)}.`,
    '',
  ].join('\n');
}
