/** What every policy of the policy-only replay is: a function from references to hits. */

export interface PolicyOptions {
  /** Blocks that the cache holds, at least 1. */
  readonly capacity: number;
  /** Every reference is below it. */
  readonly uniqueBlocks: number;
}

/** Hits of a cache that begins empty and brings in every block that is referenced. */
export type PolicyHits = (references: Uint32Array, options: PolicyOptions) => number;
