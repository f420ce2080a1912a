import { describe, expect, it } from 'vitest';
import { ArcTierPolicy } from '../../../src/offload/policies/arc-tier.ts';
import { Steps, makeConnector, makeRequest, pages, range, run } from './support/requests.ts';
import { pageKey } from '../../support/one-group.ts';

describe('recency', () => {
  /** Two requests fill the tier; which page goes when a third needs room? */
  function evictedAfter(first: number[], second: number[], slots: number): string[] {
    const removed: string[] = [];
    const connector = makeConnector(
      { slots },
      { onEvent: (event) => event.type === 'tier-removed' && removed.push(...event.keys) },
    );
    const steps = new Steps(connector);
    steps.putOnHost(first, pages(1, 2, 3), 'first');
    steps.putOnHost(second, pages(4, 5, 6), 'second');
    return removed;
  }

  it('the head of a prefix outlives its tail', () => {
    const { sequence } = makeRequest('r', range(8));
    expect(evictedAfter(range(8), range(4, 100), 2)).toEqual([pageKey(sequence, 1)]);
  });

  it('the head outlives its tail from the moment that their store has ended, while the request still runs', () => {
    const connector = makeConnector({ slots: 2 });
    const steps = new Steps(connector);
    const running = makeRequest('runs on', range(8));
    const { stores } = steps.build({
      scheduled: [run(running, pages(1, 2), { tokens: 8, newPages: pages(1, 2) })],
    });
    expect(stores.map((job) => job.pages)).toEqual([pages(1, 2)]);
    steps.acknowledge(stores[0].id);
    // Another one's page needs a slot before the end of the first request could put its keys in order.
    const other = makeRequest('other', range(4, 100));
    steps.build({ scheduled: [run(other, pages(3), { tokens: 4, newPages: pages(3) })] });
    const { manager } = connector;
    expect([0, 1].map((page) => manager.lookup(pageKey(running.sequence, page)))).toEqual(['HIT', 'MISS']);
  });

  it('a use of the device copy keeps the host copy young', () => {
    const steps = new Steps(makeConnector({ slots: 2 }));
    steps.putOnHost(range(4), pages(1), 'a');
    steps.putOnHost(range(4, 100), pages(2), 'b');
    // Runs on the device's page 1; nothing is stored, nothing is loaded.
    steps.putOnHost(range(4), pages(1), 'a again');
    steps.putOnHost(range(4, 200), pages(3), 'c');
    const { manager } = steps.connector;
    expect(manager.lookup(pageKey(makeRequest('a', range(4)).sequence, 0))).toBe('HIT');
    expect(manager.lookup(pageKey(makeRequest('b', range(4, 100)).sequence, 0))).toBe('MISS');
  });

  it('on-lookup: asking is a use', () => {
    const steps = new Steps(makeConnector({ slots: 2 }, { recency: 'on-lookup' }));
    steps.putOnHost(range(4), pages(1), 'a');
    steps.putOnHost(range(4, 100), pages(2), 'b');
    steps.connector.matchedTokens(makeRequest('asks', range(5)), 0);
    steps.putOnHost(range(4, 200), pages(3), 'c');
    const { manager } = steps.connector;
    expect(manager.lookup(pageKey(makeRequest('a', range(4)).sequence, 0))).toBe('HIT');
    expect(manager.lookup(pageKey(makeRequest('b', range(4, 100)).sequence, 0))).toBe('MISS');
  });

  it('on-finish: asking is none', () => {
    const steps = new Steps(makeConnector({ slots: 2 }));
    steps.putOnHost(range(4), pages(1), 'a');
    steps.putOnHost(range(4, 100), pages(2), 'b');
    steps.connector.matchedTokens(makeRequest('asks', range(5)), 0);
    steps.putOnHost(range(4, 200), pages(3), 'c');
    expect(steps.connector.manager.lookup(pageKey(makeRequest('a', range(4)).sequence, 0))).toBe('MISS');
  });

  it('arc-tier: a key that returns after its eviction moves the target, once', () => {
    const connector = makeConnector({ slots: 2, policy: 'arc-tier' });
    const steps = new Steps(connector);
    const { policy } = connector.manager;
    if (!(policy instanceof ArcTierPolicy)) throw new Error(policy.name);
    const target = (): number => policy.target;
    steps.putOnHost(range(4), pages(1), 'a');
    steps.putOnHost(range(4, 100), pages(2), 'b');
    steps.putOnHost(range(4, 200), pages(3), 'c');
    expect(target()).toBe(0);
    const returning = makeRequest('a again', range(4));
    const { stores } = steps.build({
      scheduled: [run(returning, pages(4), { tokens: 4, newPages: pages(4) })],
    });
    expect(target()).toBe(1);
    steps.acknowledge(stores[0].id);
    returning.sequence.append(50);
    steps.finish(returning, pages(4));
    steps.build();
    expect(target()).toBe(1);
    // It was stored by its only user: no reuse yet.
    expect(policy.lists.t2).toEqual([]);
  });
});
