/** Cases J6 to J8: figures between two readings. */
import { describe, expect, it } from 'vitest';
import {
  addCounts,
  mergeTierMetrics,
  summarize,
  TierMetricsCollector,
  type TierMetrics,
} from '../../../src/offload/tier-metrics.ts';
import { makeConnector, makeRequest, pages, range, run, Steps } from './support/requests.ts';

interface Reading {
  readonly bytes: number;
  readonly sizes: readonly number[];
  readonly skipped: number;
  readonly usage: number;
  readonly latencies: readonly number[];
}

function reading({ bytes, sizes, skipped, usage, latencies }: Reading): TierMetrics {
  const collector = new TierMetricsCollector();
  collector.add('loadBytes', bytes);
  collector.add('storesSkipped', skipped);
  for (const size of sizes) collector.sample('loadSize', size);
  for (const seconds of latencies) collector.sample('lookupSeconds', seconds);
  const none = { count: 0, sum: 0, max: 0 };
  return collector.take({ allocations: none, gauges: { usage, writing: 0, reading: usage } });
}

describe('readings', () => {
  it('J6: counters add up, samples are appended, the last gauge holds', () => {
    const merged = mergeTierMetrics(
      reading({ bytes: 24, sizes: [16, 8], skipped: 1, usage: 3, latencies: [0.1] }),
      reading({ bytes: 10, sizes: [3, 7], skipped: 3, usage: 1, latencies: [0.2, 0.3] }),
    );
    expect(merged.counters).toMatchObject({ loadBytes: 34, storesSkipped: 4 });
    expect(merged.samples.loadSize).toEqual([16, 8, 3, 7]);
    expect(merged.samples.lookupSeconds).toEqual([0.1, 0.2, 0.3]);
    expect(merged.gauges.usage).toBe(1);
    expect(summarize(merged.samples.loadSize)).toEqual({ count: 4, sum: 34, max: 16 });
  });

  it('J7: counts by label add up label by label', () => {
    expect(addCounts<string>({ a: 10, b: 3 }, { a: 7, c: 5 })).toEqual({ a: 17, b: 3, c: 5 });
  });

  it('keep the newest samples of a long time without a reading', () => {
    const collector = new TierMetricsCollector();
    for (let i = 0; i < 50_000; i += 1) collector.sample('loadSize', i);
    const none = { count: 0, sum: 0, max: 0 };
    const { samples } = collector.take({ allocations: none, gauges: { usage: 0, writing: 0, reading: 0 } });
    expect([samples.loadSize.length, samples.loadSize[0], samples.loadSize.at(-1)]).toEqual([
      10_000, 40_000, 49_999,
    ]);
  });
});

describe('of a connector', () => {
  /** A clock that goes on by a second at each look. */
  function clock(): () => number {
    let seconds = 0;
    return () => (seconds += 1) * 1000;
  }

  it('bytes, sizes, hits and shares of the slots, then nothing until more happens', () => {
    const steps = new Steps(makeConnector({ slots: 4 }, { now: clock() }));
    steps.putOnHost(range(8), pages(1, 2));
    const request = makeRequest('r', range(9));
    steps.connector.updateStateAfterAllocation(request, {
      tables: [pages(3, 4)],
      localTokens: 0,
      externalTokens: steps.connector.matchedTokens(request, 0) as number,
    });
    const [load] = steps.build().loads;
    const pinned = steps.connector.takeMetrics();
    expect(pinned.gauges).toEqual({ usage: 0.5, writing: 0, reading: 0.5 });
    expect(pinned.counters).toMatchObject({ storeBytes: 32, loadBytes: 0 });
    expect(pinned.counters.storeSeconds).toBeGreaterThan(0);
    expect(pinned.hits).toEqual({ '0:primary': 2 });
    expect(pinned.allocations).toEqual({ count: 1, sum: 2, max: 2 });
    steps.acknowledge(load.id);
    const loaded = steps.connector.takeMetrics();
    expect(loaded.counters).toMatchObject({ storeBytes: 0, loadBytes: 32 });
    expect(loaded.samples.loadSize).toEqual([32]);
    expect(loaded.gauges.usage).toBe(0);
  });

  it('offers that the tier has no room for', () => {
    const steps = new Steps(makeConnector({ slots: 1 }, { now: clock() }));
    const request = makeRequest('r', range(8));
    steps.build({ scheduled: [run(request, pages(1, 2), { tokens: 8, newPages: pages(1, 2) })] });
    const { counters, allocations } = steps.connector.takeMetrics();
    expect(counters.allocationFailures).toBe(1);
    expect(allocations).toEqual({ count: 1, sum: 2, max: 2 });
  });

  it('J8: a lookup that is asked again and then misses is one delay', () => {
    const steps = new Steps(makeConnector({ slots: 4 }, { now: clock() }));
    const request = makeRequest('r', range(9));
    // Its own store in flight decides what the tier has.
    const [store] = steps.build({
      scheduled: [run(request, pages(1, 2), { tokens: 8, newPages: pages(1, 2) })],
    }).stores;
    steps.build({ preempted: [request] });
    for (let i = 0; i < 3; i += 1) expect(steps.connector.matchedTokens(request, 0)).toBe('ask again');
    steps.fail(store.id);
    expect(steps.connector.matchedTokens(request, 0)).toBe(0);
    const { samples } = steps.connector.takeMetrics();
    expect(samples.deferralSeconds.length).toBe(1);
    expect(samples.deferralSeconds[0]).toBeGreaterThan(0);
    expect(samples.lookupSeconds.length).toBe(1);
  });

  it('a request that ends while it asks is one delay as well', () => {
    const steps = new Steps(makeConnector({ slots: 4 }, { now: clock() }));
    const request = makeRequest('r', range(9));
    steps.build({ scheduled: [run(request, pages(1, 2), { tokens: 8, newPages: pages(1, 2) })] });
    expect(steps.connector.matchedTokens(request, 0)).toBe('ask again');
    steps.finish(request, pages(1, 2), 'aborted');
    expect(steps.connector.takeMetrics().samples.deferralSeconds.length).toBe(1);
  });
});
