import { describe, expect, it } from 'vitest';
import { pageId } from '../../../src/units.ts';
import { Steps, makeConnector, makeRequest, pages, range, run } from './support/requests.ts';
import { pageKey } from '../../support/one-group.ts';

/** Fills the tier and lets a request load all of it, so that nothing can be evicted until the load ends. */
function fillWithPins(steps: Steps, count: number): () => void {
  const tokens = range(count * 4 + 1, 1000);
  const table = range(count, 60).map(pageId);
  steps.putOnHost(tokens.slice(0, -1), table, 'filler');
  const request = makeRequest('pinning', tokens);
  const allocation = { tables: [table], localTokens: 0, externalTokens: count * 4 };
  steps.connector.updateStateAfterAllocation(request, allocation);
  const { loads } = steps.build();
  return () => steps.acknowledge(loads[0].id);
}

describe('which pages are stored', () => {
  it('offers full pages only, as they fill, in one job a step', () => {
    const steps = new Steps(makeConnector());
    const request = makeRequest('r', range(11));
    const table = pages(1, 2, 3);
    const first = steps.build({ scheduled: [run(request, table, { tokens: 9, newPages: table })] });
    expect(first.stores).toEqual([{ id: 0, pages: pages(1, 2), slots: [0, 1] }]);
    expect(first.jobsToFlush).toEqual([]);
    expect(steps.build({ scheduled: [run(request, table, { tokens: 2 })] }).stores).toEqual([]);
    request.sequence.append(50);
    expect(steps.build({ scheduled: [run(request, table, { tokens: 1 })] }).stores).toEqual([
      { id: 1, pages: pages(3), slots: [2] },
    ]);
    expect(steps.connector.metrics).toMatchObject({ storesPrepared: 2, allocationFailures: 0 });
  });

  it('scenario 4: the slot of the token sampled last was never written', () => {
    const steps = new Steps(makeConnector());
    const request = makeRequest('r', [1, 2]);
    const table = pages(1);
    steps.build({ scheduled: [run(request, table, { tokens: 2, newPages: table })] });
    request.sequence.append(3);
    steps.build({ scheduled: [run(request, table, { tokens: 1 })] });
    request.sequence.append(4);
    // Even a scheduler that counts the last token as computed does not get its slot stored.
    request.computedTokens = 4;
    steps.finish(request, table);
    expect(steps.build().stores).toEqual([]);
    expect(steps.connector.hasPendingWork).toBe(false);
    expect(steps.connector.matchedTokens(makeRequest('next', [1, 2, 3, 4, 5]), 0)).toBe(0);
  });

  it('scenario 18: the page that fills in the last step is stored, and found', () => {
    const steps = new Steps(makeConnector());
    const request = makeRequest('r', [1, 2, 3]);
    const table = pages(1, 2);
    steps.build({ scheduled: [run(request, table, { tokens: 3, newPages: pages(1) })] });
    request.sequence.append(4);
    // Not yet stored when the step that writes it was planned with one token less.
    request.computedTokens = 4;
    request.sequence.append(5);
    steps.finish(request, table);
    const { stores } = steps.build();
    expect(stores).toEqual([{ id: 0, pages: pages(1), slots: [0], isLast: true }]);
    steps.acknowledge(stores[0].id);
    expect(steps.connector.matchedTokens(makeRequest('next', [1, 2, 3, 4, 9]), 0)).toBe(4);
  });

  it('scenario 18: a prompt in chunks is stored whole', () => {
    const steps = new Steps(makeConnector());
    const request = makeRequest('r', range(20));
    const table = pages(1, 2, 3, 4, 5);
    const stored = [8, 8, 4].flatMap((tokens) =>
      steps.build({ scheduled: [run(request, table, { tokens })] }).stores.flatMap((job) => [...job.pages]),
    );
    request.sequence.append(50);
    steps.finish(request, table);
    stored.push(...steps.build().stores.flatMap((job) => [...job.pages]));
    expect(stored).toEqual(table);
  });

  it('an aborted request stores what it computed, and one that never ran stores nothing (E10)', () => {
    const steps = new Steps(makeConnector());
    const request = makeRequest('r', range(16));
    const table = pages(1, 2, 3, 4);
    const { manager } = steps.connector;
    const release = fillWithPins(steps, 8);
    expect(steps.build({ scheduled: [run(request, table, { tokens: 9, newPages: table })] }).stores).toEqual(
      [],
    );
    release();
    steps.finish(request, table, 'aborted');
    expect(steps.build().stores.map((job) => job.pages)).toEqual([pages(1, 2)]);

    const queued = makeRequest('queued', range(16, 100));
    expect(steps.connector.matchedTokens(queued, 0)).toBe(0);
    steps.finish(queued, [], 'aborted');
    expect(steps.build().stores).toEqual([]);
    expect(manager.counts.writing).toBe(2);
  });

  it('D6: keys that the tier has are left out, wherever they lie', () => {
    const steps = new Steps(makeConnector());
    const request = makeRequest('r', range(12));
    const { manager } = steps.connector;
    const present = [pageKey(request.sequence, 0), pageKey(request.sequence, 2)];
    manager.completeStore(manager.prepareStore(present)!.keys);
    const table = pages(4, 5, 6);
    const { stores } = steps.build({ scheduled: [run(request, table, { tokens: 12, newPages: table })] });
    expect(stores).toEqual([{ id: 0, pages: pages(5), slots: [2] }]);
    expect(steps.connector.snapshot().cursors.get(request.id)).toEqual([3]);
  });

  it('D7, scenario 23: a refusal leaves the cursor where it is, and the pages are offered again', () => {
    const steps = new Steps(makeConnector({ slots: 3 }));
    const release = fillWithPins(steps, 3);
    const request = makeRequest('r', range(12));
    const table = pages(1, 2, 3);
    expect(steps.build({ scheduled: [run(request, table, { tokens: 12, newPages: table })] }).stores).toEqual(
      [],
    );
    expect(steps.connector.snapshot().cursors.get(request.id)).toEqual([0]);
    expect(steps.connector.metrics.allocationFailures).toBe(1);
    release();
    request.sequence.append(50);
    const { stores } = steps.build({
      scheduled: [run(request, pages(1, 2, 3, 4), { tokens: 1, newPages: pages(4) })],
    });
    expect(stores).toEqual([{ id: 2, pages: table, slots: [0, 1, 2] }]);
    expect(steps.connector.snapshot().cursors.get(request.id)).toEqual([3]);
  });

  it('E9: a prompt that ends at once is refused twice and then forgotten', () => {
    const steps = new Steps(makeConnector({ slots: 1 }));
    const release = fillWithPins(steps, 1);
    const request = makeRequest('r', range(4));
    steps.build({ scheduled: [run(request, pages(1), { tokens: 4, newPages: pages(1) })] });
    request.sequence.append(50);
    steps.finish(request, pages(1));
    expect(steps.connector.hasPendingWork).toBe(true);
    expect(steps.build().stores).toEqual([]);
    expect(steps.connector.metrics.allocationFailures).toBe(2);
    release();
    expect(steps.connector.hasPendingWork).toBe(false);
  });

  it('E16: after a resume the new page table counts', () => {
    const steps = new Steps(makeConnector());
    const request = makeRequest('r', range(12));
    const before = steps.build({
      scheduled: [run(request, pages(1, 2, 3), { tokens: 8, newPages: pages(1, 2, 3) })],
    });
    expect(before.stores.map((job) => job.pages)).toEqual([pages(1, 2)]);
    request.computedTokens = 0;
    expect(steps.build({ preempted: [request] }).jobsToFlush).toEqual([0]);
    steps.acknowledge(before.stores[0].id);
    const resumed = { tokens: 8, newPages: pages(5, 6), resumed: true };
    expect(steps.build({ scheduled: [run(request, pages(5, 6), resumed)] }).stores).toEqual([]);
    const { stores } = steps.build({
      scheduled: [run(request, pages(5, 6, 7), { tokens: 4, newPages: pages(7) })],
    });
    expect(stores.map((job) => job.pages)).toEqual([pages(7)]);
  });

  it('scenario 44: a failed store publishes nothing, gives its slot back and is not tried again', () => {
    const steps = new Steps(makeConnector());
    const request = makeRequest('r', range(9));
    const table = pages(1, 2, 3);
    const { stores } = steps.build({ scheduled: [run(request, table, { tokens: 8, newPages: table })] });
    expect(steps.connector.matchedTokens(makeRequest('twin', range(9)), 0)).toBe('ask again');
    steps.fail(stores[0].id);
    expect(steps.connector.matchedTokens(makeRequest('twin', range(9)), 0)).toBe(0);
    expect(steps.connector.manager.counts).toMatchObject({ free: 8, writing: 0 });
    expect(steps.build({ scheduled: [run(request, table, { tokens: 1 })] }).stores).toEqual([]);
    request.sequence.append(50);
    steps.finish(request, table);
    expect(steps.build().stores).toEqual([]);
    expect(steps.connector.metrics).toMatchObject({ storesFailed: 1, storesCompleted: 0, pagesStored: 0 });
  });

  it('F9: a job ends with the last of its workers, exactly once', () => {
    const events: string[] = [];
    const connector = makeConnector({}, { workers: 3, onEvent: (event) => events.push(event.type) });
    const steps = new Steps(connector);
    const table = pages(1);
    const { stores } = steps.build({
      scheduled: [run(makeRequest('r', range(4)), table, { tokens: 4, newPages: table })],
    });
    const { id } = stores[0];
    steps.acknowledge(id);
    expect(connector.snapshot().jobs[0].workersLeft).toBe(2);
    expect(connector.manager.counts.writing).toBe(1);
    steps.acknowledge(id, id);
    expect(connector.manager.counts.evictable).toBe(1);
    steps.acknowledge(id);
    expect(events).toEqual(['store-prepared', 'tier-stored', 'chunk-stored', 'store-ended']);
  });

  it('F9: one failing worker fails the job, once all have answered', () => {
    const steps = new Steps(makeConnector({}, { workers: 2 }));
    const table = pages(1);
    const { stores } = steps.build({
      scheduled: [run(makeRequest('r', range(4)), table, { tokens: 4, newPages: table })],
    });
    steps.fail(stores[0].id);
    expect(steps.connector.manager.counts.writing).toBe(1);
    steps.acknowledge(stores[0].id);
    expect(steps.connector.manager.counts).toMatchObject({ writing: 0, free: 8 });
  });

  it('F10: each job completes its own keys, and finishing completes none', () => {
    const stored: (readonly string[])[] = [];
    const connector = makeConnector(
      {},
      { onEvent: (event) => event.type === 'tier-stored' && stored.push(event.keys) },
    );
    const steps = new Steps(connector);
    const request = makeRequest('r', range(8));
    const table = pages(1, 2);
    for (const tokens of [4, 4]) {
      const { stores } = steps.build({ scheduled: [run(request, table, { tokens })] });
      steps.acknowledge(stores[0].id);
    }
    request.sequence.append(50);
    steps.finish(request, table);
    steps.build();
    expect(stored).toEqual([[pageKey(request.sequence, 0)], [pageKey(request.sequence, 1)]]);
  });

  it('ignores unknown and repeated acknowledgements', () => {
    const steps = new Steps(makeConnector());
    const table = pages(1);
    const { stores } = steps.build({
      scheduled: [run(makeRequest('r', range(4)), table, { tokens: 4, newPages: table })],
    });
    steps.acknowledge(stores[0].id);
    steps.fail(stores[0].id);
    expect(steps.connector.updateFromAcknowledgements([{ job: 77 as never, ok: true }])).toEqual({
      loaded: [],
      failed: [],
    });
    expect(steps.connector.manager.counts.evictable).toBe(1);
    expect(steps.connector.metrics).toMatchObject({ storesCompleted: 1, storesFailed: 0 });
  });

  it('without slots it does nothing', () => {
    const steps = new Steps(makeConnector({ slots: 0 }));
    const request = makeRequest('r', range(9));
    const table = pages(1, 2, 3);
    expect(steps.connector.matchedTokens(request, 0)).toBe(0);
    steps.connector.updateStateAfterAllocation(request, {
      tables: [table],
      localTokens: 0,
      externalTokens: 0,
    });
    const meta = steps.build({
      scheduled: [run(request, table, { tokens: 9, newPages: table })],
      zero: table,
    });
    expect(meta).toEqual({ loads: [], stores: [], jobsToFlush: [] });
    request.sequence.append(50);
    steps.finish(request, table);
    expect(steps.connector.hasPendingWork).toBe(false);
  });
});
