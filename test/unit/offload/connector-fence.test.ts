import { describe, expect, it } from 'vitest';
import type { OffloadConfig } from '../../../src/config.ts';
import type { ConnectorMeta } from '../../../src/schedule/connector-interface.ts';
import { slotId, type JobId } from '../../../src/units.ts';
import { LateWorker, type LatePlan } from './support/late-worker.ts';
import { Steps, TOKENS_PER_PAGE, makeConnector, makeRequest, pages, range, run } from './support/requests.ts';

type FenceMode = OffloadConfig['fence'];

/** R1 filled page 1 and is over; its store (job 0) still has to read the page. */
function finishedOwner(fence: FenceMode = 'complete'): { steps: Steps; job: JobId } {
  const steps = new Steps(makeConnector({ fence }));
  steps.putOnHost(range(4, 100), pages(9), 'earlier');
  const request = makeRequest('r1', range(4));
  const { stores } = steps.build({ scheduled: [run(request, pages(1), { tokens: 4, newPages: pages(1) })] });
  request.sequence.append(50);
  expect(steps.connector.snapshot().fence.size).toBe(0);
  steps.finish(request, pages(1));
  expect([...steps.connector.snapshot().fence]).toEqual([[1, [stores[0].id]]]);
  return { steps, job: stores[0].id };
}

describe('what flushes a pending store', () => {
  it('F2: its page becomes the destination of a load', () => {
    const { steps, job } = finishedOwner();
    const request = makeRequest('r2', range(5, 100));
    expect(steps.connector.matchedTokens(request, 0)).toBe(4);
    steps.connector.updateStateAfterAllocation(request, {
      tables: [pages(1)],
      localTokens: 0,
      externalTokens: 4,
    });
    const { loads, jobsToFlush } = steps.build();
    expect(jobsToFlush).toEqual([job]);
    expect(loads[0].pages).toEqual(pages(1));
    steps.acknowledge(job);
    expect(steps.connector.snapshot().fence.size).toBe(0);
  });

  it('F3: its page becomes a new page of a scheduled request', () => {
    const { steps, job } = finishedOwner();
    const other = makeRequest('r2', range(4, 200));
    const meta = steps.build({ scheduled: [run(other, pages(1), { tokens: 4, newPages: pages(1) })] });
    expect(meta.jobsToFlush).toEqual([job]);
    // The new owner's own store of the same page waits as usual.
    expect(meta.stores.map((store) => store.pages)).toEqual([pages(1)]);
    steps.acknowledge(job);
    expect(steps.connector.snapshot().fence.size).toBe(0);
  });

  it('F17: its page is zeroed for somebody the connector does not see; other pages are left alone', () => {
    const { steps, job } = finishedOwner();
    expect(steps.build({ zero: pages(2) }).jobsToFlush).toEqual([]);
    expect(steps.build({ zero: pages(2, 1) }).jobsToFlush).toEqual([job]);
    expect(steps.connector.metrics.flushes).toBe(1);
  });

  it('F17: two stores, one zeroed page', () => {
    const { steps, job } = finishedOwner();
    const second = makeRequest('r3', range(4, 300));
    steps.build({ scheduled: [run(second, pages(2), { tokens: 4, newPages: pages(2) })] });
    second.sequence.append(50);
    steps.finish(second, pages(2));
    expect(steps.build({ zero: pages(1) }).jobsToFlush).toEqual([job]);
  });

  it('F21: nothing zeroed, or a page that nobody reads, flushes nothing', () => {
    const { steps } = finishedOwner();
    expect(steps.build().jobsToFlush).toEqual([]);
    expect(steps.build({ zero: [] }).jobsToFlush).toEqual([]);
    expect(steps.build({ zero: pages(7) }).jobsToFlush).toEqual([]);
  });

  it('F16: a page that is allocated, zeroed and filled in one step does not flush the store of that step', () => {
    const steps = new Steps(makeConnector());
    const request = makeRequest('r', range(4));
    const meta = steps.build({
      scheduled: [run(request, pages(1), { tokens: 4, newPages: pages(1) })],
      zero: pages(1),
    });
    expect(meta.stores).toHaveLength(1);
    expect(meta.jobsToFlush).toEqual([]);
  });

  it('F19: the last store of a finished request joins the flush when its page was claimed already', () => {
    const steps = new Steps(makeConnector());
    const request = makeRequest('r', range(8));
    const table = pages(1, 2);
    steps.build({ scheduled: [run(request, table, { tokens: 7, newPages: table })] });
    request.computedTokens = 8;
    request.sequence.append(50);
    steps.finish(request, table);
    const meta = steps.build({ zero: pages(2) });
    expect(meta.stores).toEqual([{ id: 1, pages: pages(2), slots: [1], isLast: true }]);
    expect(meta.jobsToFlush).toEqual([1]);
    expect([...steps.connector.snapshot().fence]).toEqual([
      [1, [0]],
      [2, [1]],
    ]);
  });

  it('F7, scenario 12: preemption flushes every job of the request, and it waits for them', () => {
    const steps = new Steps(makeConnector());
    const request = makeRequest('r', range(9));
    const table = pages(1, 2, 3);
    const first = steps.build({ scheduled: [run(request, table, { tokens: 4, newPages: table })] });
    const second = steps.build({ scheduled: [run(request, table, { tokens: 4 })] });
    const jobs = [first.stores[0].id, second.stores[0].id];
    request.computedTokens = 0;
    expect(steps.build({ preempted: [request] }).jobsToFlush).toEqual(jobs);
    expect(steps.connector.matchedTokens(request, 0)).toBe('ask again');
    expect(steps.build()).toEqual({ loads: [], stores: [], jobsToFlush: [] });
    steps.acknowledge(jobs[0]);
    expect(steps.connector.matchedTokens(request, 0)).toBe('ask again');
    steps.acknowledge(jobs[1]);
    expect(steps.connector.matchedTokens(request, 0)).toBe(8);
  });

  it('finishing alone flushes nothing', () => {
    const { steps } = finishedOwner();
    expect(steps.build().jobsToFlush).toEqual([]);
  });

  it("'scheduled-and-loads' leaves the zero list out", () => {
    const { steps, job } = finishedOwner('scheduled-and-loads');
    expect(steps.build({ zero: pages(1) }).jobsToFlush).toEqual([]);
    const other = makeRequest('r2', range(4, 200));
    expect(
      steps.build({ scheduled: [run(other, pages(1), { tokens: 4, newPages: pages(1) })] }).jobsToFlush,
    ).toEqual([job]);
  });
});

/**
 * A's page 1 waits for its store while A finishes and B claims the page, which is zeroed and gets two of B's rows.
 * Returns what slot 0, published under A's key, holds in the end.
 */
function bytesUnderKeyOfA(fence: FenceMode, hidden: boolean): readonly string[] {
  const steps = new Steps(makeConnector({ fence }));
  const worker = new LateWorker(TOKENS_PER_PAGE);
  const step = (meta: ConnectorMeta, plan: Omit<LatePlan, 'meta'> = {}): void =>
    worker.execute({ meta, ...plan });
  const a = makeRequest('a', range(4));
  step(steps.build({ scheduled: [run(a, pages(1), { tokens: 4, newPages: pages(1) })], zero: pages(1) }), {
    zero: pages(1),
    writes: range(4).map((row) => ({ page: pages(1)[0], row, value: `a${row}` })),
  });
  a.sequence.append(50);
  steps.finish(a, pages(1));

  // Hidden: the claim shows in the zero list alone, as that of a parked request's page that is never offloaded.
  const b = makeRequest('b', range(2, 100));
  const scheduled = hidden ? [] : [run(b, pages(1), { tokens: 2, newPages: pages(1) })];
  step(steps.build({ scheduled, zero: pages(1) }), {
    zero: pages(1),
    writes: range(2).map((row) => ({ page: pages(1)[0], row, value: `b${row}` })),
  });
  step(steps.build(), { submit: 1 });
  steps.connector.updateFromAcknowledgements(worker.acknowledgeAll());
  steps.connector.checkIntegrity();
  expect(steps.connector.matchedTokens(makeRequest('again', range(5)), 0)).toBe(4);
  return worker.slots.get(slotId(0))!;
}

describe('the bytes behind the fence', () => {
  const original = ['a0', 'a1', 'a2', 'a3'];
  const late = ['b0', 'b1', '0', '0'];

  it.each([
    ['complete', false, original],
    ['complete', true, original],
    ['scheduled-and-loads', false, original],
    ['scheduled-and-loads', true, late],
    ['off', false, late],
    ['off', true, late],
  ] as const)('fence %s, claim hidden %s', (fence, hidden, expected) => {
    expect(bytesUnderKeyOfA(fence, hidden)).toEqual(expected);
  });
});
