/** A failing run step by step, in words: what came from outside, and what the step did. */
import type { StepReport } from '../engine.ts';
import type { Command, Script } from './script.ts';
import { simulate, type SimulationOptions } from './simulation.ts';

/** Steps shown before the failure. */
const STEPS_SHOWN = 40;

/** Runs a script again and tells its last steps. */
export async function tell(script: Script, options: SimulationOptions): Promise<string[]> {
  const lines: string[] = [];
  await simulate(script, {
    ...options,
    onStep: (step, commands, report) => {
      lines.push(...commands.map((command) => `  ${describeCommand(command)}`));
      lines.push(`step ${step}`, ...describeStep(report));
    },
  });
  const from = lines.reduce<number[]>(
    (starts, line, i) => (line.startsWith('step ') ? [...starts, i] : starts),
    [],
  );
  return lines.slice(from.at(-STEPS_SHOWN) ?? 0);
}

/** Layout and sizes, one line each. */
export function describeConfig({ config }: Script): string[] {
  const { cache, schedule, offload, transfer } = config;
  const groups = (cache.groups ?? []).map((group, i) => `group ${i}: ${JSON.stringify(group)}`);
  return [
    `${cache.pages} pages, ${cache.contextParallel ?? 1} ranks, zeroing ${cache.zeroing}`,
    ...groups,
    `schedule ${JSON.stringify(schedule)}`,
    `offload ${JSON.stringify(offload)}`,
    `transfer ${JSON.stringify(transfer)}`,
  ];
}

function describeCommand(command: Command): string {
  if (command.type === 'reset') {
    return `reset of the prefix cache${command.isForced ? ', whatever is under way' : ''}`;
  }
  if (command.type === 'abort') return `abort ${command.id}`;
  if (command.type === 'fork') {
    const { id, parent, without, tokens: own, outputTokens: produced } = command;
    return `fork ${id} of ${parent}: without its last ${without} tokens, ${own.length} of its own, ${produced} to produce`;
  }
  const { id, tokens, outputTokens, priority } = command;
  return `add ${id}: ${tokens.length} tokens from ${tokens[0]}, ${outputTokens} to produce, priority ${priority}`;
}

function describeStep({ plan, outcome, finished }: StepReport): string[] {
  const lines: string[] = [];
  const say = (what: string, items: readonly string[]) => {
    if (items.length > 0) lines.push(`    ${what} ${items.join('; ')}`);
  };
  say(
    'flush',
    plan.jobsToFlush.map((id) => `job ${id}`),
  );
  say(
    'zero',
    plan.newPageIdsToZero.map(({ group, pages }) => `${pages.join(' ')} (group ${group})`),
  );
  say(
    'copy',
    plan.copies.map(({ source, destination }) => `${source} to ${destination}`),
  );
  say(
    'load',
    plan.loads.map(
      ({ id, slots, pages }) => `job ${id}: slots ${slots.join(' ')} to pages ${pages.join(' ')}`,
    ),
  );
  say(
    'run',
    plan.forward.map(({ requestId, start, end, tables }) => {
      return `${requestId} tokens ${start} to ${end}, tables ${tables.map((table) => table.join(' ')).join(' | ')}`;
    }),
  );
  say(
    'store',
    plan.stores.map(
      ({ id, pages, slots }) => `job ${id}: pages ${pages.join(' ')} to slots ${slots.join(' ')}`,
    ),
  );
  say(
    'released',
    outcome.released.map((id) => `job ${id}`),
  );
  say(
    'acknowledged',
    outcome.acknowledgements.map(({ job, ok }) => `job ${job}${ok ? '' : ' (failed)'}`),
  );
  say(
    'finished',
    finished.map(({ id, reason }) => `${id} (${reason})`),
  );
  return lines;
}
