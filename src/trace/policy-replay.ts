/** Replays cache policies alone over the block references of a trace: no pages, no tokens, no transfers. */
import { ConfigError } from '../errors.ts';
import { arcHits } from './policies/arc.ts';
import { lruHits } from './policies/lru.ts';
import { minHits } from './policies/min.ts';
import type { PolicyHits } from './policies/policy.ts';
import type { BlockReferences } from './references.ts';

/** `arc` is the textbook rule, not the host tier's `arc-tier`; `min` is the offline optimum. */
export type ReplayPolicy = 'lru' | 'arc' | 'min';

const HITS_OF: Readonly<Record<ReplayPolicy, PolicyHits>> = { lru: lruHits, arc: arcHits, min: minHits };

export const REPLAY_POLICIES = Object.keys(HITS_OF) as readonly ReplayPolicy[];

/** A list of a few bytes a block is the least that a policy needs; more capacity than this is a slip of the hand. */
const CAPACITY_MAX = 2 ** 31;

export interface PolicyResult {
  readonly policy: ReplayPolicy;
  /** Blocks. */
  readonly capacity: number;
  readonly hits: number;
  /** Hits over references, 0 to 1. */
  readonly hitRate: number;
}

/**
 * One result for each policy and capacity, in that order. Throws `ConfigError` for a capacity that is not a whole
 * number from 1 on.
 */
export function replayPolicies(
  trace: Pick<BlockReferences, 'references' | 'uniqueBlocks'>,
  options: { policies: readonly ReplayPolicy[]; capacities: readonly number[] },
): PolicyResult[] {
  const { references, uniqueBlocks } = trace;
  for (const capacity of options.capacities) {
    if (!Number.isInteger(capacity) || capacity < 1 || capacity > CAPACITY_MAX) {
      throw new ConfigError(
        `capacity ${capacity} is not usable; give whole numbers from 1 to ${CAPACITY_MAX}`,
      );
    }
  }
  return options.policies.flatMap((policy) =>
    options.capacities.map((capacity) => {
      const hits = HITS_OF[policy](references, { capacity, uniqueBlocks });
      return { policy, capacity, hits, hitRate: references.length === 0 ? 0 : hits / references.length };
    }),
  );
}
