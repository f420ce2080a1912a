/** Cuts a script that fails down to the commands that the failure takes. */
import type { Command, Script } from './script.ts';
import { simulate, type Failure, type SimulationOptions } from './simulation.ts';

export interface Shrunk {
  readonly script: Script;
  readonly failure: Failure;
  /** Runs that it took. */
  readonly runs: number;
}

const RUNS_MAX = 600;

/** Leaves out halves, quarters and at last single commands, as long as what is left fails in the same way. */
export async function shrink(script: Script, failure: Failure, options: SimulationOptions): Promise<Shrunk> {
  let best: { script: Script; failure: Failure } = { script: cut(script, failure), failure };
  let runs = 0;
  const attempt = async (commands: readonly Command[]): Promise<boolean> => {
    runs += 1;
    const candidate: Script = { ...best.script, commands };
    const result = await simulate(candidate, options);
    if (result.failure?.invariant !== failure.invariant) return false;
    best = { script: cut(candidate, result.failure), failure: result.failure };
    return true;
  };
  for (let size = Math.ceil(best.script.commands.length / 2); size >= 1 && runs < RUNS_MAX;) {
    let removed = false;
    for (let at = 0; at < best.script.commands.length && runs < RUNS_MAX;) {
      const { commands } = best.script;
      if (await attempt([...commands.slice(0, at), ...commands.slice(at + size)])) removed = true;
      else at += size;
    }
    if (size > 1) size = Math.floor(size / 2);
    else if (!removed) break;
  }
  return { ...best, runs };
}

/** Nothing after the failure matters. */
function cut(script: Script, { step }: Failure): Script {
  return {
    ...script,
    steps: Math.min(script.steps, step + 1),
    commands: script.commands.filter((command) => command.step <= step),
  };
}
