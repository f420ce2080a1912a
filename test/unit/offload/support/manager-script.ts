/** Runs a list of manager calls with the answers they must give. Keys are integers, as the cases are written. */
import { expect } from 'vitest';
import type { TierEvent } from '../../../../src/offload/events.ts';
import type { LookupResult } from '../../../../src/offload/lookup.ts';
import { OffloadManager, type OffloadManagerOptions } from '../../../../src/offload/offload-manager.ts';
import { ArcTierPolicy } from '../../../../src/offload/policies/arc-tier.ts';
import { LruPolicy } from '../../../../src/offload/policies/lru.ts';
import type { PrefixKey } from '../../../../src/units.ts';

export const key = (n: number): PrefixKey => String(n) as PrefixKey;
export const keys = (numbers: readonly number[]): PrefixKey[] => numbers.map(key);
const numbers = (list: Iterable<PrefixKey>): number[] => [...list].map(Number);

interface Stored {
  store?: number[];
  slots?: number[];
  evicted?: number[];
}

export type Step =
  | { prepareStore: number[]; gives?: Stored | null }
  /** Prepare and complete. */
  | { store: number[]; gives?: Stored }
  | { completeStore: number[]; success?: boolean }
  | { prepareLoad: number[]; slots?: number[] }
  | { completeLoad: number[] }
  | { touch: number[] }
  | { reset: true }
  | { lookup: Record<number, LookupResult> }
  /** LRU: evictable keys, oldest first. */
  | { order: number[] }
  /** Since the last such step. */
  | { events: [type: 'stored' | 'removed', keys: number[]][] }
  | { evictable: number }
  | { usage: { write: number; read: number; total: number } }
  | { free: number }
  | { arc: { t1?: number[]; t2?: number[]; b1?: number[]; b2?: number[]; p?: number } }
  | { tracked: Record<number, number> }
  | { skipped: number };

export interface Script {
  name: string;
  options: Omit<OffloadManagerOptions, 'onEvent'>;
  steps: Step[];
}

export class ScriptRunner {
  readonly manager: OffloadManager;
  events: TierEvent[] = [];

  constructor(options: Script['options']) {
    this.manager = new OffloadManager({ ...options, onEvent: (event) => this.events.push(event) });
  }

  run(steps: readonly Step[]): void {
    for (const [i, step] of steps.entries()) {
      this.#step(step, `step ${i}: ${JSON.stringify(step)}`);
      this.manager.checkIntegrity();
    }
  }

  #prepare(input: number[], gives: Stored | null | undefined, what: string): PrefixKey[] {
    const result = this.manager.prepareStore(keys(input));
    if (gives === null) expect(result, what).toBeNull();
    else {
      expect(result, what).not.toBeNull();
      if (gives?.store !== undefined) expect(numbers(result!.keys), what).toEqual(gives.store);
      if (gives?.slots !== undefined) expect(result!.slots, what).toEqual(gives.slots);
      if (gives?.evicted !== undefined) expect(numbers(result!.evicted), what).toEqual(gives.evicted);
    }
    return [...(result?.keys ?? [])];
  }

  #step(step: Step, what: string): void {
    const { manager } = this;
    if ('prepareStore' in step) this.#prepare(step.prepareStore, step.gives, what);
    else if ('store' in step) manager.completeStore(this.#prepare(step.store, step.gives, what));
    else if ('completeStore' in step) manager.completeStore(keys(step.completeStore), step.success);
    else if ('prepareLoad' in step) {
      const slots = manager.prepareLoad(keys(step.prepareLoad));
      if (step.slots !== undefined) expect(slots, what).toEqual(step.slots);
    } else if ('completeLoad' in step) manager.completeLoad(keys(step.completeLoad));
    else if ('touch' in step) manager.touch(keys(step.touch));
    else if ('reset' in step) manager.reset();
    else this.#check(step, what);
  }

  #check(step: Step, what: string): void {
    const { manager } = this;
    const { policy } = manager;
    if ('lookup' in step) {
      for (const [n, answer] of Object.entries(step.lookup)) {
        expect(manager.lookup(key(Number(n))), what).toBe(answer);
      }
    } else if ('order' in step) {
      if (!(policy instanceof LruPolicy)) throw new Error(`${what}: the policy is ${policy.name}`);
      expect(numbers(policy.order), what).toEqual(step.order);
    } else if ('events' in step) {
      const seen = this.events.map((event) => [
        event.type.replace('tier-', ''),
        'keys' in event ? numbers(event.keys) : [],
      ]);
      expect(seen, what).toEqual(step.events);
      this.events = [];
    } else if ('evictable' in step) expect(manager.evictableCount, what).toBe(step.evictable);
    else if ('usage' in step) expect(manager.usage, what).toEqual(step.usage);
    else if ('free' in step) expect(manager.counts.free, what).toBe(step.free);
    else if ('arc' in step) {
      if (!(policy instanceof ArcTierPolicy)) throw new Error(`${what}: the policy is ${policy.name}`);
      const { lists, target } = policy;
      const { p, ...expected } = step.arc;
      if (p !== undefined) expect(target, what).toBe(p);
      for (const [name, list] of Object.entries(expected)) {
        expect(numbers(lists[name as keyof typeof lists]), `${what}: ${name}`).toEqual(list);
      }
    } else if ('tracked' in step) {
      const tracked = Object.fromEntries(
        manager.reuseFilter!.tracked.map(([k, count]) => [Number(k), count]),
      );
      expect(tracked, what).toEqual(step.tracked);
    } else if ('skipped' in step) expect(manager.takeStatistics().storesSkipped, what).toBe(step.skipped);
  }
}
