import { describe, expect, it } from 'vitest';
import { OffloadManager } from '../../../src/offload/offload-manager.ts';
import { ArcTierPolicy } from '../../../src/offload/policies/arc-tier.ts';
import { ScriptRunner, keys, type Script, type Step } from './support/manager-script.ts';

const arc = (slots: number) => ({ slots, policy: 'arc-tier' }) as const;
const withTarget = (p: number) => ({ slots: 4, policy: new ArcTierPolicy(4, p) });
const twoAndTwo: Step[] = [
  { store: [1, 2, 3, 4] },
  { touch: [3, 4] },
  { arc: { t1: [1, 2], t2: [4, 3], b1: [], b2: [] } },
];

const scripts: Script[] = [
  {
    name: 'B1: new keys enter T1',
    options: arc(4),
    steps: [
      { prepareStore: [1, 2], gives: { slots: [0, 1] } },
      { lookup: { 1: 'HIT_PENDING' } },
      { completeStore: [1, 2] },
      { lookup: { 1: 'HIT', 2: 'HIT' } },
      { arc: { t1: [1, 2], t2: [], p: 0 } },
    ],
  },
  {
    name: 'B2: a touched key moves to T2',
    options: arc(4),
    steps: [{ store: [1] }, { touch: [1] }, { arc: { t1: [], t2: [1] } }],
  },
  {
    name: 'B3: pinned keys are no victims',
    options: arc(4),
    steps: [
      { store: [1, 2, 3, 4], gives: { slots: [0, 1, 2, 3] } },
      { prepareLoad: [2, 3], slots: [1, 2] },
      { prepareStore: [5, 6, 7], gives: null },
      { completeLoad: [2, 3] },
      { prepareStore: [5, 6, 7], gives: { store: [5, 6, 7] } },
    ],
  },
  {
    name: 'B4-B7: ghosts move the target and re-enter T1',
    options: arc(2),
    steps: [
      { store: [1, 2] },
      { store: [3], gives: { evicted: [1], slots: [0] } },
      { arc: { t1: [2, 3], b1: [1], p: 0 } },
      { touch: [1] },
      { arc: { p: 1 } },
      { store: [1], gives: { evicted: [2], slots: [1] } },
      { arc: { t1: [3, 1], t2: [], b1: [2], b2: [] } },
      { touch: [1] },
      { touch: [2] },
      { arc: { t1: [3], t2: [1], p: 2 } },
    ],
  },
  { name: 'B8: T1 and T2', options: arc(4), steps: twoAndTwo },
  {
    name: 'B9: T1 at its target gives the victim',
    options: withTarget(1),
    steps: [
      ...twoAndTwo,
      { prepareStore: [5], gives: { evicted: [1] } },
      { arc: { b1: [1], t1: [2, 5], p: 1 } },
    ],
  },
  {
    name: 'B10: the first key of a touch ends most recent',
    options: arc(4),
    steps: [
      ...twoAndTwo,
      { touch: [1, 3, 4] },
      { arc: { t1: [2], t2: [4, 3, 1] } },
      { prepareStore: [5], gives: { evicted: [2], slots: [1] } },
    ],
  },
  {
    name: 'B11: a mixed life',
    options: arc(4),
    steps: [
      { store: [1, 2] },
      { store: [3, 4, 5], gives: { evicted: [1] } },
      { touch: [2, 3] },
      { arc: { t1: [4, 5], t2: [3, 2] } },
      { store: [6], gives: { evicted: [4], slots: [3] } },
      { arc: { b1: [1, 4] } },
      { lookup: { 2: 'HIT', 3: 'HIT' } },
    ],
  },
  {
    name: 'B12: a failed store leaves its victim a ghost and itself nothing',
    options: arc(4),
    steps: [
      { store: [1, 2, 3, 4] },
      { prepareStore: [5], gives: { evicted: [1] } },
      { completeStore: [5], success: false },
      { lookup: { 5: 'MISS' } },
      { arc: { t1: [2, 3, 4], t2: [], b1: [1], b2: [] } },
    ],
  },
  {
    name: 'B13: ghosts never exceed the capacity',
    options: arc(2),
    steps: [
      { store: [1, 2] },
      ...Array.from({ length: 17 }, (_, i): Step => ({ store: [i + 3] })),
      { arc: { b1: [16, 17], t1: [18, 19] } },
    ],
  },
  {
    name: 'B17: T1 below its target spares itself',
    options: withTarget(3),
    steps: [
      ...twoAndTwo,
      { prepareStore: [5, 6], gives: { evicted: [4, 3], slots: [2, 3] } },
      { arc: { b2: [4, 3], b1: [], t1: [1, 2, 5, 6], t2: [] } },
    ],
  },
  {
    name: 'B18: the target counts whole entries',
    options: withTarget(2.9),
    steps: [...twoAndTwo, { prepareStore: [5], gives: { evicted: [1], slots: [0] } }],
  },
  {
    name: 'B19-B20: T2 pays when T1 is empty, and the target does not fall below 0',
    options: arc(4),
    steps: [
      { store: [1, 2, 3, 4] },
      { touch: [1, 2, 3, 4] },
      { arc: { t1: [], t2: [4, 3, 2, 1] } },
      { prepareStore: [5], gives: { evicted: [4], slots: [3] } },
      { arc: { b2: [4] } },
      { completeStore: [5] },
      { touch: [5] },
      { store: [6, 7], gives: { evicted: [3, 2], slots: [1, 2] } },
      { touch: [4] },
      { arc: { p: 0, b2: [3, 2, 4] } },
    ],
  },
  {
    name: 'B22: an entry without bytes is not promoted',
    options: arc(4),
    steps: [
      { prepareStore: [1, 2] },
      { touch: [1] },
      { completeStore: [1, 2] },
      { arc: { t1: [2, 1], t2: [] } },
      { touch: [2, 1] },
      { arc: { t1: [], t2: [1, 2] } },
    ],
  },
  {
    name: 'A15: a key of the input is never the victim',
    options: arc(4),
    steps: [
      { store: [1, 2] },
      { touch: [1] },
      { prepareStore: [2, 3, 4, 5], gives: { store: [3, 4, 5], slots: [2, 3, 0], evicted: [1] } },
      { completeStore: [3, 4, 5] },
      { lookup: { 2: 'HIT' } },
    ],
  },
  {
    name: 'no fallback on T1: below the target and without a victim in T2 it refuses, and nothing changes',
    options: withTarget(4),
    steps: [
      { store: [1, 2, 3, 4] },
      { prepareStore: [5, 6], gives: null },
      { arc: { t1: [1, 2, 3, 4], t2: [], b1: [], b2: [], p: 4 } },
      { evictable: 4 },
      { prepareStore: [5], gives: { evicted: [1] } },
    ],
  },
  {
    name: 'a reset forgets ghosts and the target',
    options: withTarget(2),
    steps: [
      { store: [1, 2, 3, 4] },
      { store: [5] },
      { reset: true },
      { arc: { t1: [], t2: [], b1: [], b2: [], p: 0 } },
      { store: [6], gives: { slots: [0] } },
    ],
  },
];

describe('OffloadManager with the ARC of the tier', () => {
  it.each(scripts)('$name', ({ options, steps }) => new ScriptRunner(options).run(steps));

  it('a use by the one who stored it orders T1 and promotes nothing', () => {
    const policy = new ArcTierPolicy(4);
    const manager = new OffloadManager({ slots: 4, policy });
    manager.completeStore(manager.prepareStore(keys([1, 2, 3]))!.keys);
    manager.touch(keys([1, 2, 3]), new Set(keys([1, 2])));
    expect(policy.lists.t1).toEqual(keys([2, 1]));
    expect(policy.lists.t2).toEqual(keys([3]));
  });
});
