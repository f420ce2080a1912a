/**
 * Figures of the host tier between two readings, for dashboards: counters that add up, samples that are collected, and
 * gauges of which the last one counts. Readings of several connectors are merged by the same rules.
 */

/** Samples kept of one kind between two readings; the oldest go first. */
const SAMPLES_MAX = 10_000;

export const COUNTERS = [
  'loadBytes',
  'loadSeconds',
  'storeBytes',
  'storeSeconds',
  /** Offers that the tier had no room for. */
  'allocationFailures',
  /** Keys that the reuse filter held back. */
  'storesSkipped',
] as const;

export const SAMPLES = [
  /** Bytes of a transfer that succeeded. */
  'loadSize',
  'storeSize',
  /** Seconds of a lookup. */
  'lookupSeconds',
  /** Seconds from the first `ask again` of a request to its answer, or to its end. */
  'deferralSeconds',
] as const;

export type CounterName = (typeof COUNTERS)[number];
export type SampleName = (typeof SAMPLES)[number];

/** Shares of the slots, 0 to 1. */
export interface TierGauges {
  /** Slots that cannot be evicted: being written or read. */
  readonly usage: number;
  readonly writing: number;
  readonly reading: number;
}

export interface TierMetrics {
  readonly counters: Readonly<Record<CounterName, number>>;
  /** By tier, `0:primary` the host memory: keys that were found. */
  readonly hits: Readonly<Record<string, number>>;
  readonly samples: Readonly<Record<SampleName, readonly number[]>>;
  /** Slots that offers asked for, those that were refused as well. */
  readonly allocations: SampleSummary;
  readonly gauges: TierGauges;
}

export interface SampleSummary {
  readonly count: number;
  readonly sum: number;
  readonly max: number;
}

export const PRIMARY_TIER = '0:primary';

export class TierMetricsCollector {
  #counters = zeroCounters();
  #samples = emptySamples();
  #hits = 0;

  add(counter: CounterName, value: number): void {
    this.#counters[counter] += value;
  }

  sample(name: SampleName, value: number): void {
    const list = this.#samples[name];
    list.push(value);
    if (list.length >= 2 * SAMPLES_MAX) list.splice(0, SAMPLES_MAX);
  }

  hit(keys: number): void {
    this.#hits += keys;
  }

  /** Gives what came together since the last call, and starts anew. */
  take(rest: Pick<TierMetrics, 'allocations' | 'gauges'>): TierMetrics {
    const samples = this.#samples;
    for (const name of SAMPLES) samples[name] = samples[name].slice(-SAMPLES_MAX);
    const metrics = { counters: this.#counters, hits: { [PRIMARY_TIER]: this.#hits }, samples, ...rest };
    this.#counters = zeroCounters();
    this.#samples = emptySamples();
    this.#hits = 0;
    return metrics;
  }
}

/** Two readings as one: counts are added, samples appended, and the later gauges hold. */
export function mergeTierMetrics(earlier: TierMetrics, later: TierMetrics): TierMetrics {
  const samples = emptySamples();
  for (const name of SAMPLES) samples[name] = [...earlier.samples[name], ...later.samples[name]];
  return {
    counters: addCounts(earlier.counters, later.counters),
    hits: addCounts<string>(earlier.hits, later.hits),
    samples,
    allocations: {
      count: earlier.allocations.count + later.allocations.count,
      sum: earlier.allocations.sum + later.allocations.sum,
      max: Math.max(earlier.allocations.max, later.allocations.max),
    },
    gauges: later.gauges,
  };
}

/** Sums by name; a name that only one of them has keeps its value. */
export function addCounts<Name extends string>(
  a: Readonly<Record<Name, number>>,
  b: Readonly<Record<Name, number>>,
): Record<Name, number> {
  const sums: Record<Name, number> = { ...a };
  for (const name of Object.keys(b) as Name[]) sums[name] = (a[name] ?? 0) + b[name];
  return sums;
}

export function summarize(samples: readonly number[]): SampleSummary {
  let sum = 0;
  let max = 0;
  for (const value of samples) {
    sum += value;
    max = Math.max(max, value);
  }
  return { count: samples.length, sum, max };
}

function zeroCounters(): Record<CounterName, number> {
  return Object.fromEntries(COUNTERS.map((name) => [name, 0])) as Record<CounterName, number>;
}

function emptySamples(): Record<SampleName, number[]> {
  return Object.fromEntries(SAMPLES.map((name) => [name, []])) as unknown as Record<SampleName, number[]>;
}
