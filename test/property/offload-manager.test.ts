import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OffloadManager } from '../../src/offload/offload-manager.ts';
import { ArcTierPolicy } from '../../src/offload/policies/arc-tier.ts';
import { LruPolicy } from '../../src/offload/policies/lru.ts';
import { key, keys } from '../unit/offload/support/manager-script.ts';
import { TierModel } from '../unit/offload/support/tier-model.ts';

const KEYS = 12;
const someKeys = fc.uniqueArray(fc.nat(KEYS - 1), { minLength: 1, maxLength: 5 });

const operation = fc.oneof(
  { weight: 60, arbitrary: fc.record({ kind: fc.constant('prepareStore' as const), keys: someKeys }) },
  {
    weight: 60,
    arbitrary: fc.record({
      kind: fc.constant('completeStore' as const),
      keys: someKeys,
      // Mostly successes, or nothing would ever be ready.
      success: fc.nat(3).map((n) => n > 0),
    }),
  },
  { weight: 30, arbitrary: fc.record({ kind: fc.constant('prepareLoad' as const), keys: someKeys }) },
  { weight: 30, arbitrary: fc.record({ kind: fc.constant('completeLoad' as const), keys: someKeys }) },
  { weight: 40, arbitrary: fc.record({ kind: fc.constant('touch' as const), keys: someKeys }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('reset' as const) }) },
);
type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never;

function apply(op: Operation, manager: OffloadManager, model: TierModel): void {
  switch (op.kind) {
    case 'prepareStore': {
      const result = manager.prepareStore(keys(op.keys));
      const plain = result && {
        keys: result.keys.map(Number),
        slots: result.slots.map(Number),
        evicted: result.evicted.map(Number),
      };
      expect(plain).toEqual(model.prepareStore(op.keys));
      break;
    }
    case 'completeStore':
      manager.completeStore(keys(op.keys), op.success);
      model.completeStore(op.keys, op.success);
      break;
    case 'prepareLoad': {
      const ready = op.keys.filter((k) => (model.ref(k) ?? -1) >= 0);
      expect(manager.prepareLoad(keys(ready))).toEqual(model.prepareLoad(ready));
      break;
    }
    case 'completeLoad': {
      const pinned = op.keys.filter((k) => (model.ref(k) ?? 0) > 0);
      manager.completeLoad(keys(pinned));
      model.completeLoad(pinned);
      break;
    }
    case 'touch':
      manager.touch(keys(op.keys));
      model.touch(op.keys);
      break;
    case 'reset':
      manager.reset();
      model.reset();
  }
}

function compare(manager: OffloadManager, model: TierModel): void {
  manager.checkIntegrity();
  const found = [...manager.entries()].map(({ key: k, slot, references }) => [Number(k), references, slot]);
  const expected = model.entries.map(({ key: k, ref, slot }) => [k, ref, slot]);
  const byKey = (a: number[], b: number[]): number => a[0] - b[0];
  expect(found.sort(byKey)).toEqual(expected.sort(byKey));
  for (let k = 0; k < KEYS; k += 1) {
    const ref = model.ref(k);
    expect(manager.lookup(key(k))).toBe(ref === undefined ? 'MISS' : ref === -1 ? 'HIT_PENDING' : 'HIT');
  }
  expect(manager.counts).toEqual({
    slots: manager.slots,
    free: model.freeCount,
    evictable: model.entries.filter(({ ref }) => ref === 0).length,
    writing: model.entries.filter(({ ref }) => ref === -1).length,
    pinned: model.entries.filter(({ ref }) => ref > 0).length,
  });
  const { policy } = manager;
  if (policy instanceof LruPolicy) expect(policy.order.map(Number)).toEqual(model.order);
  if (policy instanceof ArcTierPolicy) {
    const { t1, t2, b1, b2 } = policy.lists;
    expect([t1, t2, b1, b2].map((list) => list.map(Number))).toEqual([
      model.t1,
      model.t2,
      model.b1,
      model.b2,
    ]);
    expect(policy.target).toBe(model.p);
  }
}

describe('OffloadManager against a model', () => {
  it.each(['lru', 'arc-tier'] as const)('%s', (policy) => {
    fc.assert(
      fc.property(fc.nat(6), fc.array(operation, { maxLength: 80, size: 'max' }), (slots, operations) => {
        const manager = new OffloadManager({ slots, policy });
        const model = new TierModel(slots, policy);
        for (const op of operations) {
          apply(op, manager, model);
          compare(manager, model);
        }
      }),
      { numRuns: 300 },
    );
  });
});
