/** Many seeds in a row: what was found, and how fast. */
import type { OffloadConfig } from '../config.ts';
import type { Guard } from './guards.ts';
import { drawScript } from './script.ts';
import { simulate, type Failure } from './simulation.ts';

export interface CampaignOptions {
  readonly firstSeed: number;
  readonly lastSeed: number;
  /** Steps with arrivals; a seed goes on until everything is over. */
  readonly steps: number;
  readonly fence?: OffloadConfig['fence'];
  readonly without?: Guard | null;
  /** Called after each seed; true ends the campaign. */
  readonly onSeed?: (result: CampaignResult) => boolean;
}

export interface CampaignResult {
  readonly seeds: number;
  /** Steps of all seeds. */
  readonly steps: number;
  readonly failures: readonly Failure[];
  /** What the runs went through, to see that they went where the trouble is. */
  readonly seen: Readonly<Record<string, number>>;
}

export async function runCampaign(options: CampaignOptions): Promise<CampaignResult> {
  const { firstSeed, lastSeed, steps, fence, without, onSeed } = options;
  const failures: Failure[] = [];
  const seen: Record<string, number> = {};
  const total = { seeds: 0, steps: 0, failures, seen };
  for (let seed = firstSeed; seed <= lastSeed; seed += 1) {
    const result = await simulate(drawScript({ seed, steps, fence }), { without });
    total.seeds += 1;
    total.steps += result.steps;
    if (result.failure) failures.push(result.failure);
    for (const [what, count] of Object.entries(result.seen)) seen[what] = (seen[what] ?? 0) + count;
    if (onSeed?.(total) === true) break;
  }
  return total;
}
