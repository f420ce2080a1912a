import { describe, expect, it } from 'vitest';
import { InvariantError } from '../../../src/errors.ts';
import { StoreQueue, type StoreCopy, type StoreQueueOptions } from '../../../src/transfer/store-queue.ts';
import { jobId, pageId, slotId, type JobId, type PageId, type SlotId } from '../../../src/units.ts';

const PAGE = 16;

const queue = (options: Partial<Record<'budget' | 'buffers' | 'perBuffer' | 'overflow', number>> = {}) => {
  const { budget = 100, buffers = 2, perBuffer = 2, overflow = 2 } = options;
  const sizes: StoreQueueOptions = {
    pageBytes: PAGE,
    storeBytesPerStep: budget * PAGE,
    stagingBuffers: buffers,
    stagingBytes: perBuffer * PAGE,
    overflowBytes: overflow * PAGE,
  };
  return new StoreQueue(sizes);
};

const store = (id: number, ...pages: number[]) => ({
  id: jobId(id),
  pages: pages.map(pageId),
  slots: pages.map((page) => slotId(page + 100)),
});

const quiet = (step: number, flush: number[] = [], stores: ReturnType<typeof store>[] = []) => ({
  step,
  stores,
  jobsToFlush: flush.map(jobId),
});

interface PageCopyOfStore {
  readonly kind: StoreCopy['kind'];
  readonly job: JobId;
  readonly page: PageId;
  readonly slot?: SlotId;
  readonly overflowPlace?: number;
  readonly place?: number;
  readonly position?: number;
}

/** The copies of a step, page by page. */
const pageCopies = (copies: readonly StoreCopy[]): PageCopyOfStore[] =>
  copies.flatMap((copy): PageCopyOfStore[] => {
    if (copy.kind === 'overflow') return [copy];
    const { kind, job, overflowPlace, position, first, count } = copy;
    return copy.pages.slice(first, first + count).map((page, i) => {
      const slot = copy.slots[first + i];
      return { kind, job, page, slot, overflowPlace, position: position + i };
    });
  });

const ids = (jobs: readonly JobId[]): number[] => [...jobs];

describe('a store', () => {
  it('waits for the step after the one that built it', () => {
    const stores = queue();
    const plan = quiet(0, [], [store(0, 1)]);
    expect(stores.begin(plan).copies).toEqual([]);
    stores.end(plan);
    const { copies, released } = stores.begin(quiet(1));
    expect(pageCopies(copies)).toMatchObject([
      { kind: 'stage', job: 0, page: 1, slot: 101, overflowPlace: -1, position: 0 },
    ]);
    expect(ids(released)).toEqual([0]);
    expect(stores.busy).toBe(true);
    expect(stores.settleOldest(null)).toEqual([{ job: 0, ok: true }]);
    expect(stores.busy).toBe(false);
  });

  it('of a finished owner whose page is claimed at once goes out in its own step', () => {
    const stores = queue();
    const plan = quiet(0, [0], [store(0, 1)]);
    const { copies, released, flushed } = stores.begin(plan);
    stores.end(plan);
    expect(copies).toHaveLength(1);
    expect([ids(released), ids(flushed)]).toEqual([[0], []]);
    expect(stores.depth.queuedPages).toBe(0);
  });

  it('takes no more of a step than the budget, in order', () => {
    const stores = queue({ budget: 2 });
    stores.end(quiet(0, [], [store(0, 1, 2, 3), store(1, 4)]));
    expect(pageCopies(stores.begin(quiet(1)).copies).map(({ page }) => page)).toEqual([1, 2]);
    expect(pageCopies(stores.begin(quiet(2)).copies).map(({ page }) => page)).toEqual([3, 4]);
  });

  it('takes no more of a step than the ring, and goes on when a buffer comes back', () => {
    const stores = queue({ buffers: 1, perBuffer: 2 });
    stores.end(quiet(0, [], [store(0, 1, 2, 3)]));
    expect(pageCopies(stores.begin(quiet(1)).copies).map(({ page }) => page)).toEqual([1, 2]);
    expect(stores.begin(quiet(2)).copies).toEqual([]);
    expect(stores.settleOldest(null)).toEqual([]);
    expect(pageCopies(stores.begin(quiet(3)).copies).map(({ page }) => page)).toEqual([3]);
    expect(stores.settleOldest(null)).toEqual([{ job: 0, ok: true }]);
  });

  it('moves as one span as far as a staging buffer reaches, and from one step to the next', () => {
    const stores = queue({ budget: 3, buffers: 3, perBuffer: 2 });
    stores.end(quiet(0, [], [store(0, 1, 2, 3, 4, 5), store(1, 6)]));
    const spans = (step: number) => {
      const { copies, released } = stores.begin(quiet(step));
      return [copies.map(({ kind, job, ...copy }) => [kind, job, copy]), ids(released)];
    };
    const job = { pages: [1, 2, 3, 4, 5], slots: [101, 102, 103, 104, 105], overflowPlace: -1 };
    const other = { pages: [6], slots: [106], overflowPlace: -1 };
    expect(spans(1)).toEqual([
      [
        ['stage', 0, { ...job, first: 0, count: 2, buffer: 0, position: 0 }],
        ['stage', 0, { ...job, first: 2, count: 1, buffer: 1, position: 0 }],
      ],
      [],
    ]);
    expect(stores.depth.queuedPages).toBe(3);
    expect(stores.waiting.map(({ page }) => page)).toEqual([4, 5, 6]);
    expect(spans(2)).toEqual([[['stage', 0, { ...job, first: 3, count: 2, buffer: 2, position: 0 }]], [0]]);
    expect(stores.batches.map(({ pages }) => pages)).toEqual([2, 1, 2]);
    stores.settleOldest(null);
    expect(spans(3)).toEqual([[['stage', 1, { ...other, first: 0, count: 1, buffer: 0, position: 0 }]], [1]]);
  });

  it('is queued once: a second time is a fault of the caller', () => {
    const stores = queue();
    stores.end(quiet(0, [], [store(0, 1)]));
    expect(() => stores.end(quiet(1, [], [store(0, 1)]))).toThrow(InvariantError);
  });
});

describe('a flush', () => {
  it('goes beyond the budget while the ring has room, and leaves other jobs where they are', () => {
    const stores = queue({ budget: 1, buffers: 2, perBuffer: 2 });
    stores.end(quiet(0, [], [store(0, 1), store(1, 2), store(2, 3)]));
    const { copies, flushed, released, overflowedPages } = stores.begin(quiet(1, [2]));
    expect(pageCopies(copies).map(({ page }) => page)).toEqual([1, 3]);
    expect([ids(released), ids(flushed), overflowedPages]).toEqual([[0, 2], [2], 0]);
    expect(stores.depth.queuedPages).toBe(1);
  });

  it('spills into the overflow buffer when the ring is full, and drains from there later', () => {
    const stores = queue({ buffers: 1, perBuffer: 1, overflow: 2 });
    stores.end(quiet(0, [], [store(0, 1), store(1, 2, 3)]));
    const { copies, released, overflowedPages, failed } = stores.begin(quiet(1, [1]));
    expect(pageCopies(copies)).toMatchObject([
      { kind: 'stage', page: 1 },
      { kind: 'overflow', page: 2, place: 0 },
      { kind: 'overflow', page: 3, place: 1 },
    ]);
    expect([ids(released), overflowedPages, failed]).toEqual([[0, 1], 2, []]);
    stores.settleOldest(null);
    expect(pageCopies(stores.begin(quiet(2)).copies)).toMatchObject([
      { kind: 'stage', page: 2, overflowPlace: 0, slot: 102 },
    ]);
    expect(stores.settleOldest(null)).toEqual([]);
    expect(stores.depth.overflowPages).toBe(1);
    expect(pageCopies(stores.begin(quiet(3)).copies)).toMatchObject([
      { kind: 'stage', page: 3, overflowPlace: 1 },
    ]);
    expect(stores.settleOldest(null)).toEqual([{ job: 1, ok: true }]);
    expect(stores.depth).toEqual({ queuedPages: 0, overflowPages: 0, freeBuffers: 1 });
  });

  it('fails a job as a whole when there is no room at all, and gives its places back', () => {
    const stores = queue({ buffers: 1, perBuffer: 1, overflow: 1 });
    stores.end(quiet(0, [], [store(0, 1), store(1, 2, 3), store(2, 4)]));
    const { failed, released, flushed } = stores.begin(quiet(1, [1]));
    expect(failed).toMatchObject([{ job: 1, ok: false }]);
    expect(failed[0].error).toMatch(/overflow buffer/);
    expect([ids(released), ids(flushed)]).toEqual([[0], []]);
    expect(stores.isLive(jobId(1))).toBe(false);
    expect(stores.depth).toEqual({ queuedPages: 1, overflowPages: 0, freeBuffers: 0 });
  });

  it('fails the job that finds no place, and no other one that is flushed with it', () => {
    const stores = queue({ buffers: 1, perBuffer: 1, overflow: 2 });
    stores.end(quiet(0, [], [store(0, 1), store(1, 2), store(2, 3, 4, 5), store(3, 6)]));
    const { copies, failed, released, flushed, overflowedPages } = stores.begin(quiet(1, [2, 1]));
    expect(pageCopies(copies)).toMatchObject([
      { kind: 'stage', job: 0, page: 1 },
      { kind: 'overflow', job: 1, page: 2, place: 0 },
      { kind: 'overflow', job: 2, page: 3, place: 1 },
    ]);
    expect(failed.map(({ job }) => job)).toEqual([2]);
    expect([ids(released), ids(flushed), overflowedPages]).toEqual([[0, 1], [1], 2]);
    // The place of the failed job is free again, and the next flush finds it.
    expect(stores.depth).toEqual({ queuedPages: 2, overflowPages: 1, freeBuffers: 0 });
    const next = stores.begin(quiet(2, [3]));
    expect(pageCopies(next.copies)).toMatchObject([{ kind: 'overflow', job: 3, page: 6, place: 1 }]);
    expect([next.failed, ids(next.flushed)]).toEqual([[], [3]]);
    const ended = [];
    for (let step = 3; stores.busy; step += 1) {
      ended.push(...stores.settleOldest(null));
      stores.begin(quiet(step));
    }
    expect(ended).toEqual([0, 1, 3].map((job) => ({ job, ok: true })));
    expect(stores.depth).toEqual({ queuedPages: 0, overflowPages: 0, freeBuffers: 1 });
  });

  it('that fails a job leaves alone what shares its staging buffer, and drops what is staged of the job', () => {
    const stores = queue({ budget: 1, buffers: 1, perBuffer: 3, overflow: 1 });
    stores.end(quiet(0, [], [store(0, 1), store(1, 2), store(2, 3, 4, 5, 6)]));
    const { copies, failed, released, flushed } = stores.begin(quiet(1, [1, 2]));
    expect(pageCopies(copies).map(({ kind, page }) => [kind, page])).toEqual([
      ['stage', 1],
      ['stage', 2],
      ['stage', 3],
      ['overflow', 4],
    ]);
    expect(failed.map(({ job }) => job)).toEqual([2]);
    expect([ids(released), ids(flushed)]).toEqual([[0, 1], [1]]);
    expect([0, 1, 2].map((id) => stores.isLive(jobId(id)))).toEqual([true, true, false]);
    expect(stores.settleOldest(null)).toEqual([0, 1].map((job) => ({ job, ok: true })));
    expect(stores.busy).toBe(false);
    expect(stores.depth).toEqual({ queuedPages: 0, overflowPages: 0, freeBuffers: 1 });
  });

  it('of unknown, finished and released jobs does nothing', () => {
    const stores = queue();
    stores.end(quiet(0, [], [store(0, 1)]));
    stores.begin(quiet(1));
    const { copies, flushed, failed } = stores.begin(quiet(2, [0, 77]));
    expect([copies, flushed, failed]).toEqual([[], [], []]);
  });
});

describe('a failed staging buffer', () => {
  it('ends every job in it, and what is left of them is read no more', () => {
    const stores = queue({ buffers: 1, perBuffer: 2 });
    stores.end(quiet(0, [], [store(0, 1), store(1, 2, 3), store(2, 4)]));
    stores.begin(quiet(1));
    expect(stores.settleOldest('mapping failed')).toEqual([
      { job: 0, ok: false, error: 'mapping failed' },
      { job: 1, ok: false, error: 'mapping failed' },
    ]);
    expect(pageCopies(stores.begin(quiet(2)).copies).map(({ page }) => page)).toEqual([4]);
  });

  it('leaves the ring when it is not to be recycled', () => {
    const stores = queue({ buffers: 1 });
    stores.end(quiet(0, [], [store(0, 1)]));
    stores.begin(quiet(1));
    stores.settleOldest('mapping failed', { recycle: false });
    expect(stores.depth.freeBuffers).toBe(0);
  });

  it('of a lost device ends everything', () => {
    const stores = queue({ buffers: 1, perBuffer: 1 });
    stores.end(quiet(0, [], [store(0, 1), store(1, 2)]));
    stores.begin(quiet(1));
    expect(stores.failAll('device lost')).toHaveLength(2);
    expect(stores.busy).toBe(false);
  });
});
