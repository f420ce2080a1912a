import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../../src/errors.ts';
import type { Request } from '../../../src/schedule/request.ts';
import { requestId, type PageId } from '../../../src/units.ts';
import { Steps, holdingsOf, makeConnector, makeRequest, pages, range, run } from './support/requests.ts';

const prompt = range(9);

function withHost(tokens: readonly number[] = range(8), slots = 8): Steps {
  const steps = new Steps(makeConnector({ slots }));
  steps.putOnHost(tokens, pages(21, 22, 23, 24));
  return steps;
}

/** Asks, and admits the request for what the tier has. */
function admit(steps: Steps, request: Request, table: readonly PageId[], localTokens = 0): number {
  const externalTokens = steps.connector.matchedTokens(request, localTokens);
  if (typeof externalTokens !== 'number') throw new Error(externalTokens);
  steps.connector.updateStateAfterAllocation(request, { tables: [table], localTokens, externalTokens });
  if (externalTokens > 0) request.status = 'parked';
  return externalTokens;
}

describe('matchedTokens', () => {
  it('never covers the last token', () => {
    const steps = withHost();
    expect(steps.connector.matchedTokens(makeRequest('r', range(8)), 0)).toBe(4);
    expect(steps.connector.matchedTokens(makeRequest('r', range(9)), 0)).toBe(8);
    expect(steps.connector.matchedTokens(makeRequest('r', range(1)), 0)).toBe(0);
  });

  it('starts behind what the device has (D8)', () => {
    const steps = withHost();
    expect(steps.connector.matchedTokens(makeRequest('r', prompt), 4)).toBe(4);
    expect(steps.connector.matchedTokens(makeRequest('r', prompt), 8)).toBe(0);
    expect(() => steps.connector.matchedTokens(makeRequest('r', prompt), 3)).toThrow(
      /3 tokens are not a whole number of pages of 4/,
    );
  });

  it('D17: asks again while another request loads the same key', () => {
    const steps = withHost();
    const [first, second] = [makeRequest('first', prompt), makeRequest('second', [...range(8), 77])];
    expect(admit(steps, first, pages(1, 2))).toBe(8);
    expect(steps.connector.matchedTokens(second, 0)).toBe('ask again');
    const { loads } = steps.build();
    expect(loads).toEqual([{ id: 1, slots: [0, 1], pages: pages(1, 2) }]);
    steps.acknowledge(loads[0].id);
    // The device has the pages now.
    expect(steps.connector.matchedTokens(second, 8)).toBe(0);
    expect(steps.connector.metrics.loadsPrepared).toBe(1);
  });

  it.each([
    [false, [1]],
    [true, [0, 1]],
  ] as const)('D16: with offerLoaded %s, chunks %j are offered after a load', (offerLoaded, chunks) => {
    const steps = new Steps(makeConnector({ slots: 8, pagesPerSlot: 3, offerLoaded }));
    steps.putOnHost(range(12), pages(21, 22, 23));
    const request = makeRequest('r', range(25));
    expect(admit(steps, request, pages(1, 2, 3))).toBe(12);
    steps.acknowledge(steps.build().loads[0].id);
    // Evicted while it was being used: only who offers it again brings it back.
    steps.connector.manager.reset();
    request.computedTokens = 12;
    const table = pages(1, 2, 3, 4, 5, 6, 7);
    const { stores } = steps.build({
      scheduled: [run(request, table, { tokens: 13, newPages: table.slice(3) })],
    });
    expect(stores.flatMap((store) => store.pages)).toEqual(
      chunks.flatMap((chunk) => table.slice(3 * chunk, 3 * chunk + 3)),
    );
  });

  it('F8: asks again, and looks nothing up, while a job of the request is in flight', () => {
    const steps = withHost();
    const request = makeRequest('r', [...range(8), 1, 2, 3, 4, 5]);
    steps.build({ scheduled: [run(request, pages(1, 2, 3, 4), { tokens: 12 })], preempted: [] });
    steps.build({ preempted: [request] });
    const lookup = steps.connector.manager.lookup.bind(steps.connector.manager);
    let calls = 0;
    steps.connector.manager.lookup = (key) => {
      calls += 1;
      return lookup(key);
    };
    expect(steps.connector.matchedTokens(request, 0)).toBe('ask again');
    expect(calls).toBe(0);
  });

  it('scenario 32: asking pins nothing', () => {
    const steps = withHost(range(8), 2);
    const request = makeRequest('r', prompt);
    for (let i = 0; i < 50; i += 1) {
      steps.connector.matchedTokens(request, 0);
      steps.connector.matchedTokens(request, 8);
    }
    expect(steps.connector.manager.counts).toMatchObject({ pinned: 0, evictable: 2 });
    steps.putOnHost(range(8, 100), pages(5, 6), 'other');
    expect(steps.connector.metrics.pagesStored).toBe(4);
  });
});

describe('loads', () => {
  it('F1: go out with the next step, pin their slots and are never fenced', () => {
    const steps = withHost();
    const request = makeRequest('r', prompt);
    expect(admit(steps, request, pages(9, 1), 4)).toBe(4);
    const { loads, stores, jobsToFlush } = steps.build({ zero: pages(3) });
    expect({ loads, stores, jobsToFlush }).toEqual({
      loads: [{ id: 1, slots: [1], pages: pages(1) }],
      stores: [],
      jobsToFlush: [],
    });
    expect(steps.connector.snapshot().fence.size).toBe(0);
    expect(steps.connector.manager.counts.pinned).toBe(1);
    expect(steps.build().loads).toEqual([]);
    expect(steps.acknowledge(loads[0].id)).toEqual({ loaded: [requestId('r')], failed: [] });
    expect(steps.connector.manager.counts.pinned).toBe(0);
    expect(steps.connector.metrics).toMatchObject({ loadsCompleted: 1, pagesLoaded: 1, hitPages: 1 });
  });

  it('scenario 7: what was admitted is pinned, so a store of the same step is refused, not mixed in', () => {
    const steps = withHost(range(8), 2);
    const [a, b] = [makeRequest('a', prompt), makeRequest('b', range(8, 100))];
    expect(admit(steps, a, pages(1, 2))).toBe(8);
    const meta = steps.build({ scheduled: [run(b, pages(3, 4), { tokens: 8, newPages: pages(3, 4) })] });
    expect(meta.stores).toEqual([]);
    expect(meta.loads).toHaveLength(1);
    steps.acknowledge(meta.loads[0].id);
    b.sequence.append(50);
    expect(steps.build({ scheduled: [run(b, pages(3, 4, 5), { tokens: 1 })] }).stores).toHaveLength(1);
  });

  it('scenario 7: what was evicted between asking and admitting is an error, before anything changes', () => {
    const steps = withHost(range(8), 2);
    const request = makeRequest('a', prompt);
    expect(steps.connector.matchedTokens(request, 0)).toBe(8);
    steps.putOnHost(range(8, 100), pages(3, 4), 'b');
    const allocation = { tables: [pages(1, 2)], localTokens: 0, externalTokens: 8 };
    expect(() => steps.connector.updateStateAfterAllocation(request, allocation)).toThrow(InvariantError);
    expect(steps.connector.manager.counts.pinned).toBe(0);
    expect(steps.connector.matchedTokens(request, 0)).toBe(0);
  });

  it('scenario 19: nothing of a load is stored, and afterwards the cursor is past it', () => {
    const steps = withHost();
    const request = makeRequest('r', range(13));
    admit(steps, request, pages(1, 2));
    const { loads } = steps.build();
    expect(steps.build().stores).toEqual([]);
    steps.acknowledge(loads[0].id);
    expect(steps.connector.snapshot().cursors.get(request.id)).toEqual([2]);
    request.computedTokens = 8;
    const table = pages(1, 2, 3, 4);
    const { stores } = steps.build({ scheduled: [run(request, table, { tokens: 5, newPages: table })] });
    expect(stores.map((job) => job.pages)).toEqual([pages(3)]);
  });

  it('scenario 19: a failed load is reported, stays in the tier, and is not asked for by that request again', () => {
    const steps = withHost();
    const request = makeRequest('r', prompt);
    admit(steps, request, pages(1, 2));
    const { loads } = steps.build();
    expect(steps.fail(loads[0].id)).toEqual({ loaded: [], failed: [requestId('r')] });
    expect(steps.connector.snapshot().cursors.get(request.id)).toEqual([0]);
    expect(steps.connector.manager.counts.pinned).toBe(0);
    expect(steps.connector.matchedTokens(request, 0)).toBe(0);
    expect(steps.connector.matchedTokens(makeRequest('other', prompt), 0)).toBe(8);
    // It computes the pages; their keys are on the host already.
    const table = pages(1, 2, 3);
    expect(steps.build({ scheduled: [run(request, table, { tokens: 9, newPages: table })] }).stores).toEqual(
      [],
    );
  });

  it('a request that finishes or is preempted while it loads is an error', () => {
    const steps = withHost();
    const request = makeRequest('r', prompt);
    admit(steps, request, pages(1, 2));
    steps.build();
    expect(() => steps.connector.requestFinished(request, holdingsOf(pages(1, 2)))).toThrow(
      /must end before the request/,
    );
    expect(() => steps.build({ preempted: [request] })).toThrow(InvariantError);
  });

  it('scenario 43: a store keeps the engine stepping until its acknowledgement, and a new request is free to run', () => {
    const steps = new Steps(makeConnector());
    const request = makeRequest('r', range(4));
    const { stores } = steps.build({
      scheduled: [run(request, pages(1), { tokens: 4, newPages: pages(1) })],
    });
    request.sequence.append(50);
    steps.finish(request, pages(1));
    steps.build();
    expect(steps.connector.hasPendingWork).toBe(true);
    expect(steps.connector.matchedTokens(makeRequest('new', range(9, 100)), 0)).toBe(0);
    steps.acknowledge(stores[0].id);
    expect(steps.connector.hasPendingWork).toBe(false);
    expect(steps.connector.matchedTokens(makeRequest('again', range(5)), 0)).toBe(4);
    expect(steps.connector.snapshot()).toMatchObject({ jobs: [], drainingRequests: 0 });
  });
});

describe('reset', () => {
  it('F11: with a load in flight', () => {
    const steps = withHost();
    const [loading, running] = [makeRequest('loading', prompt), makeRequest('running', range(13, 100))];
    const table = pages(3, 4, 5, 6);
    admit(steps, loading, pages(1, 2));
    const first = steps.build({ scheduled: [run(running, table, { tokens: 8, newPages: table })] });
    const [load, store] = [first.loads[0].id, first.stores[0].id];

    steps.connector.reset();
    steps.connector.checkIntegrity();
    expect(steps.connector.snapshot()).toMatchObject({ jobs: [], discardedJobs: [load, store] });
    expect(steps.connector.snapshot().fence.size).toBe(0);
    expect(steps.connector.snapshot().cursors.get(running.id)).toEqual([0]);
    expect(steps.connector.manager.counts).toMatchObject({ free: 8, writing: 0, pinned: 0 });
    expect(steps.connector.hasPendingWork).toBe(true);

    // Slot 0 is free again in the books, but the old store may still land in it.
    const second = steps.build({ scheduled: [run(running, table, { tokens: 4 })] });
    expect(second).toEqual({ loads: [], stores: [], jobsToFlush: [load, store] });
    expect(steps.build().jobsToFlush).toEqual([]);

    expect(steps.acknowledge(store)).toEqual({ loaded: [], failed: [] });
    expect(steps.connector.matchedTokens(makeRequest('twin', range(13, 100)), 0)).toBe(0);
    expect(steps.acknowledge(load)).toEqual({ loaded: [], failed: [loading.id] });
    expect(steps.acknowledge(load, store)).toEqual({ loaded: [], failed: [] });
    expect(steps.connector.hasPendingWork).toBe(false);

    const third = steps.build({ scheduled: [run(running, table, { tokens: 1 })] });
    expect(third.stores).toEqual([{ id: store + 1, pages: pages(3, 4, 5), slots: [0, 1, 2] }]);
    expect(steps.connector.metrics.jobsDiscarded).toBe(2);
  });

  it('scenario 20: with a store in flight whose request is over, the late acknowledgement adds no key', () => {
    const steps = new Steps(makeConnector());
    const request = makeRequest('r', range(9));
    const table = pages(1, 2, 3);
    const first = steps.build({ scheduled: [run(request, table, { tokens: 4, newPages: table })] });
    steps.acknowledge(first.stores[0].id);
    const second = steps.build({ scheduled: [run(request, table, { tokens: 5 })] });
    request.sequence.append(50);
    steps.finish(request, table);
    steps.connector.reset();
    expect(steps.build().jobsToFlush).toEqual([second.stores[0].id]);
    steps.acknowledge(second.stores[0].id);
    expect(steps.connector.hasPendingWork).toBe(false);
    expect(steps.connector.matchedTokens(makeRequest('again', range(9)), 0)).toBe(0);
    expect(steps.connector.manager.counts).toMatchObject({ free: 8 });
  });

  it('is refused in the middle of a step', () => {
    const steps = withHost();
    admit(steps, makeRequest('r', prompt), pages(1, 2));
    expect(() => steps.connector.reset()).toThrow(/in the middle of a step/);
  });
});
