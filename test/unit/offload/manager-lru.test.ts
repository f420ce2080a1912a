import { describe, expect, it, vi } from 'vitest';
import { ConfigError, InvariantError } from '../../../src/errors.ts';
import { OffloadManager } from '../../../src/offload/offload-manager.ts';
import { LruPolicy } from '../../../src/offload/policies/lru.ts';
import { ScriptRunner, key, keys, type Script } from './support/manager-script.ts';

const lru = { slots: 4, policy: 'lru' } as const;

const scripts: Script[] = [
  {
    name: 'A1-A13: a life with pins, refusals, a failed store and events',
    options: lru,
    steps: [
      { prepareStore: [1, 2], gives: { store: [1, 2], slots: [0, 1], evicted: [] } },
      { lookup: { 1: 'HIT_PENDING', 2: 'HIT_PENDING' } },
      { events: [] },
      { completeStore: [1, 2] },
      { events: [['stored', [1, 2]]] },
      { lookup: { 1: 'HIT', 2: 'HIT', 3: 'MISS' } },
      { prepareStore: [2, 3, 4, 5], gives: { store: [3, 4, 5], slots: [2, 3, 0], evicted: [1] } },
      { events: [['removed', [1]]] },
      { prepareStore: [1, 6], gives: null },
      { completeStore: [2, 3, 4, 5] },
      { lookup: { 0: 'MISS', 1: 'MISS', 2: 'HIT', 3: 'HIT', 4: 'HIT', 5: 'HIT' } },
      { order: [2, 3, 4, 5] },
      { prepareLoad: [2, 3], slots: [1, 2] },
      { prepareStore: [6, 7, 8], gives: null },
      { completeLoad: [2, 3] },
      { order: [4, 5, 2, 3] },
      { prepareStore: [6, 7, 8], gives: { evicted: [4, 5, 2], slots: [1, 0, 3] } },
      { completeStore: [6, 7, 8] },
      { order: [3, 6, 7, 8] },
      { touch: [3, 6, 7] },
      { order: [8, 7, 6, 3] },
      { prepareStore: [9], gives: { evicted: [8], slots: [3] } },
      { completeStore: [7, 9], success: false },
      { lookup: { 7: 'HIT', 9: 'MISS' } },
      { order: [7, 6, 3] },
      { free: 1 },
      {
        events: [
          ['stored', [3, 4, 5]],
          ['removed', [4, 5, 2]],
          ['stored', [6, 7, 8]],
          ['removed', [8]],
        ],
      },
      // The slot of the failed store is the only free one.
      { prepareStore: [10], gives: { slots: [3], evicted: [] } },
    ],
  },
  {
    name: 'A14: the removal of a victim is told before what takes its place',
    options: { slots: 2, policy: 'lru' },
    steps: [
      { store: [1, 2] },
      { events: [['stored', [1, 2]]] },
      { store: [3] },
      {
        events: [
          ['removed', [1]],
          ['stored', [3]],
        ],
      },
    ],
  },
  {
    name: 'A15: a key of the input is never the victim, be it the oldest',
    options: lru,
    steps: [
      { store: [1, 2] },
      { touch: [1] },
      { prepareStore: [2, 3, 4, 5], gives: { store: [3, 4, 5], slots: [2, 3, 0], evicted: [1] } },
      { completeStore: [3, 4, 5] },
      { lookup: { 2: 'HIT' } },
    ],
  },
  {
    name: 'A18: slots come in the order of the request',
    options: lru,
    steps: [
      { store: [1, 2, 3] },
      { prepareLoad: [1, 2, 3], slots: [0, 1, 2] },
      { completeLoad: [1, 2, 3] },
      { prepareLoad: [2, 3, 1], slots: [1, 2, 0] },
    ],
  },
  {
    name: 'A20: usage by state',
    options: lru,
    steps: [
      { prepareStore: [1, 2] },
      { usage: { write: 0.5, read: 0, total: 0.5 } },
      { completeStore: [1, 2] },
      { usage: { write: 0, read: 0, total: 0 } },
      { prepareLoad: [1] },
      { usage: { write: 0, read: 0.25, total: 0.25 } },
      { completeLoad: [1] },
      { usage: { write: 0, read: 0, total: 0 } },
      { prepareStore: [3, 4] },
      { prepareLoad: [2] },
      { usage: { write: 0.5, read: 0.25, total: 0.75 } },
      { completeStore: [3, 4], success: false },
      { usage: { write: 0, read: 0.25, total: 0.25 } },
    ],
  },
  {
    name: 'A20: no slots',
    options: { slots: 0, policy: 'lru' },
    steps: [
      { usage: { write: 0, read: 0, total: 0 } },
      { prepareStore: [1], gives: null },
      { prepareStore: [], gives: { store: [] } },
      { usage: { write: 0, read: 0, total: 0 } },
    ],
  },
  {
    name: 'A22: the reuse filter tracks few keys and starts anew with those it forgot',
    options: { slots: 4, reuseThreshold: 2, reuseTrackedMax: 3 },
    steps: [
      { lookup: { 1: 'MISS', 2: 'MISS' } },
      { tracked: { 1: 1, 2: 1 } },
      { prepareStore: [1, 2], gives: { store: [] } },
      { lookup: { 1: 'MISS' } },
      { tracked: { 2: 1, 1: 2 } },
      { prepareStore: [1, 2], gives: { store: [1], slots: [0] } },
      { lookup: { 3: 'MISS', 4: 'MISS' } },
      { tracked: { 1: 2, 3: 1, 4: 1 } },
      { lookup: { 2: 'MISS' } },
      { tracked: { 3: 1, 4: 1, 2: 1 } },
      { prepareStore: [2], gives: { store: [] } },
      { skipped: 4 },
    ],
  },
  {
    name: 'A23: keys never seen are skipped, not refused',
    options: { slots: 4, reuseThreshold: 2 },
    steps: [{ prepareStore: [1, 2, 3], gives: { store: [] } }, { skipped: 3 }, { skipped: 0 }],
  },
  {
    name: 'A24: sightings outlive a reset, slot numbers do not',
    options: { slots: 4, reuseThreshold: 2 },
    steps: [
      { lookup: { 1: 'MISS' } },
      { lookup: { 1: 'MISS' } },
      { prepareStore: [1], gives: { slots: [0] } },
      { reset: true },
      { prepareStore: [1], gives: { store: [1], slots: [0] } },
    ],
  },
];

describe('OffloadManager with LRU', () => {
  it.each(scripts)('$name', ({ options, steps }) => new ScriptRunner(options).run(steps));

  it.each(['lru', 'arc-tier'] as const)(
    'A19: the evictable count saves a look at the policy (%s)',
    (policy) => {
      const runner = new ScriptRunner({ slots: 4, policy });
      const evict = vi.spyOn(runner.manager.policy, 'evict');
      runner.run([
        { evictable: 0 },
        { prepareStore: [1, 2, 3] },
        { evictable: 0 },
        { completeStore: [1, 2, 3] },
        { evictable: 3 },
        { prepareLoad: [1] },
        { evictable: 2 },
        { prepareLoad: [1] },
        { evictable: 2 },
        { completeLoad: [1] },
        { evictable: 2 },
        { completeLoad: [1] },
        { evictable: 3 },
        { prepareStore: [4, 5, 6] },
        { evictable: 1 },
        { completeStore: [4, 5, 6], success: false },
        { evictable: 1 },
        { reset: true },
        { evictable: 0 },
        { store: [10, 11, 12] },
        { prepareLoad: [10, 11, 12] },
        { evictable: 0 },
      ]);
      evict.mockClear();
      runner.run([{ prepareStore: [14, 15], gives: null }]);
      expect(evict).not.toHaveBeenCalled();
      runner.run([
        { completeLoad: [10, 11, 12] },
        { evictable: 3 },
        { prepareStore: [14, 15], gives: { evicted: [10] } },
        { evictable: 2 },
        { completeStore: [14, 15] },
        { evictable: 4 },
      ]);
    },
  );

  it('A21: counts the sizes asked for, refusals included', () => {
    const { manager } = new ScriptRunner(lru);
    manager.completeStore(manager.prepareStore(keys([1, 2]))!.keys);
    manager.prepareStore(keys([1, 2, 3]));
    expect(manager.takeStatistics().allocations).toEqual({ count: 2, sum: 3, max: 2 });
    expect(manager.takeStatistics().allocations).toEqual({ count: 0, sum: 0, max: 0 });

    const full = new OffloadManager({ slots: 1 });
    full.prepareStore(keys([1]));
    full.takeStatistics();
    expect(full.prepareStore(keys([2]))).toBeNull();
    expect(full.takeStatistics().allocations).toEqual({ count: 1, sum: 1, max: 1 });
  });

  it('A21: counts a size even when making room throws', () => {
    const policy = new LruPolicy();
    const manager = new OffloadManager({ slots: 3, policy });
    manager.completeStore(manager.prepareStore(keys([1, 2, 3]))!.keys);
    manager.takeStatistics();
    vi.spyOn(policy, 'evict').mockImplementation(() => {
      throw new Error('no');
    });
    expect(() => manager.prepareStore(keys([4, 5, 6]))).toThrow('no');
    expect(manager.takeStatistics().allocations).toEqual({ count: 1, sum: 3, max: 3 });
  });

  it('pins all keys or none', () => {
    const { manager } = new ScriptRunner(lru);
    manager.completeStore(manager.prepareStore(keys([1]))!.keys);
    manager.prepareStore(keys([2]));
    expect(() => manager.prepareLoad(keys([1, 2]))).toThrow(InvariantError);
    expect(() => manager.prepareLoad(keys([1, 3]))).toThrow(/3 cannot be loaded: it is not in the host tier/);
    expect(manager.counts).toEqual({ slots: 4, free: 2, evictable: 1, writing: 1, pinned: 0 });
    expect(() => manager.completeLoad(keys([1]))).toThrow(/unpinned more often/);
  });

  it('E14: what found no slot is not in the tier', () => {
    const { manager } = new ScriptRunner({ slots: 2 });
    manager.completeStore(manager.prepareStore(keys([1, 2]))!.keys);
    manager.prepareLoad(keys([1, 2]));
    expect(manager.prepareStore(keys([3]))).toBeNull();
    expect(manager.lookup(key(3))).toBe('MISS');
    manager.checkIntegrity();
  });

  it('offers a key once although it is named twice', () => {
    const { manager } = new ScriptRunner(lru);
    expect(manager.prepareStore(keys([1, 1]))).toEqual({ keys: keys([1]), slots: [0], evicted: [] });
    manager.checkIntegrity();
  });

  it('refuses a number of slots that is no count', () => {
    expect(() => new OffloadManager({ slots: 1.5 })).toThrow(ConfigError);
    expect(() => new OffloadManager({ slots: -1 })).toThrow(/-1 is not a count/);
  });
});
