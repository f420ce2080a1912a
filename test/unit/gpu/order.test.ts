import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ascendingOrder, picked } from '../../../src/gpu/order.ts';

describe('ascendingOrder', () => {
  it('leaves alone what is in order', () => {
    expect(ascendingOrder([])).toBeNull();
    expect(ascendingOrder([1, 1, 5])).toBeNull();
    expect(picked([1, 1, 5], null)).toEqual(Uint32Array.of(1, 1, 5));
  });

  it('sorts as a comparison does, and keeps equal values in their order', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 2 ** 32 - 1 }), { maxLength: 60 }),
        fc.nat({ max: 7 }),
        (wide, bits) => {
          const values = wide.map((value) => value >>> (4 * bits));
          const right = values.map((value, i) => ({ value, i })).sort((a, b) => a.value - b.value);
          const order = ascendingOrder(values);
          expect([...(order ?? values.keys())]).toEqual(right.map(({ i }) => i));
          expect([...picked(values, order)]).toEqual(right.map(({ value }) => value));
        },
      ),
    );
  });
});
