/**
 * Cases that are known to fail in some runtime, each with a public reference. They run all the same: a listed case that
 * fails is reported as `deviates`, and one that passes as passed.
 */
import type { Runtime } from '../runtime/detect.ts';

export interface Deviation {
  /** Ids of cases. */
  readonly cases: readonly string[];
  readonly runtime: Runtime;
  /** Matches what the runtime calls itself and its adapter (`Environment.agent` and `.adapter`), where not all are concerned. */
  readonly where?: RegExp;
  /** What the runtime does instead, in a sentence. */
  readonly what: string;
  /** A public address. */
  readonly reference: string;
}

/** What a deviation is looked up by. */
export interface Environment {
  readonly runtime: Runtime;
  /** Name and version of the runtime, as far as it tells them. */
  readonly agent: string;
  readonly adapter: string;
}

export const DEVIATIONS: readonly Deviation[] = [];

export function knownDeviation(
  id: string,
  { runtime, agent, adapter }: Environment,
  deviations: readonly Deviation[] = DEVIATIONS,
): Deviation | undefined {
  return deviations.find(
    ({ cases, runtime: concerned, where }) =>
      concerned === runtime && cases.includes(id) && (where?.test(`${agent} ${adapter}`) ?? true),
  );
}
