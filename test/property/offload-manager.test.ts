import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OffloadManager } from '../../src/offload/offload-manager.ts';
import { ArcTierPolicy } from '../../src/offload/policies/arc-tier.ts';
import { LruPolicy } from '../../src/offload/policies/lru.ts';
import { key, keys } from '../unit/offload/support/manager-script.ts';
import { TierModel } from '../unit/offload/support/tier-model.ts';

const KEYS = 12;
const range = Array.from({ length: KEYS }, (_, k) => k);
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

type Entry = [key: number, references: number, slot: number];
const byKey = (a: Entry, b: Entry): number => a[0] - b[0];

function stateOf(manager: OffloadManager): object {
  const { policy } = manager;
  const state: Record<string, unknown> = {
    entries: [...manager.entries()]
      .map((entry): Entry => [Number(entry.key), entry.references, entry.slot])
      .sort(byKey),
    lookups: range.map((k) => manager.lookup(key(k))),
    counts: manager.counts,
  };
  if (policy instanceof LruPolicy) state.order = policy.order.map(Number);
  if (policy instanceof ArcTierPolicy) {
    const { t1, t2, b1, b2 } = policy.lists;
    state.lists = [t1, t2, b1, b2].map((list) => list.map(Number));
    state.target = policy.target;
  }
  return state;
}

function stateOfModel(model: TierModel, manager: OffloadManager): object {
  const refs = model.entries.map(({ ref }) => ref);
  const state: Record<string, unknown> = {
    entries: model.entries.map((entry): Entry => [entry.key, entry.ref, entry.slot]).sort(byKey),
    lookups: range.map((k) => {
      const ref = model.ref(k);
      return ref === undefined ? 'MISS' : ref === -1 ? 'HIT_PENDING' : 'HIT';
    }),
    counts: {
      slots: manager.slots,
      free: model.freeCount,
      evictable: refs.filter((ref) => ref === 0).length,
      writing: refs.filter((ref) => ref === -1).length,
      pinned: refs.filter((ref) => ref > 0).length,
    },
  };
  if (manager.policy instanceof LruPolicy) state.order = model.order;
  if (manager.policy instanceof ArcTierPolicy) {
    state.lists = [model.t1, model.t2, model.b1, model.b2];
    state.target = model.p;
  }
  return state;
}

function compare(manager: OffloadManager, model: TierModel): void {
  manager.checkIntegrity();
  const [found, expected] = [stateOf(manager), stateOfModel(model, manager)];
  // `expect` costs more than everything else here; it is for the message.
  if (JSON.stringify(found) !== JSON.stringify(expected)) expect(found).toEqual(expected);
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
      { numRuns: 200 },
    );
  });
});
