import { ArcTierPolicy } from './arc-tier.ts';
import { LruPolicy } from './lru.ts';
import type { Policy } from './policy.ts';

/** `slots` is the capacity of the tier. */
export function createPolicy(name: Policy['name'], slots: number): Policy {
  return name === 'lru' ? new LruPolicy() : new ArcTierPolicy(slots);
}
