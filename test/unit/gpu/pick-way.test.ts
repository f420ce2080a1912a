import { describe, expect, it } from 'vitest';
import { pickWay } from '../../../src/gpu/tuning.ts';

describe('the way that is picked', () => {
  it.each([
    ['the default, where nothing was measured', [], 'clear'],
    ['the default, where it was not measured', [{ way: 'kernel', milliseconds: 1 }], 'clear'],
    ['the default, where another one is nearly as fast', [10, 9.5], 'clear'],
    ['another one, where it is clearly faster', [10, 8], 'kernel'],
    ['the default, where it is faster', [5, 8], 'clear'],
  ] as const)('is %s', (_, measured, expected) => {
    const entries =
      typeof measured[0] === 'number'
        ? (measured as readonly number[]).map((milliseconds, i) => {
            return { way: (['clear', 'kernel'] as const)[i], milliseconds };
          })
        : (measured as readonly { way: 'kernel'; milliseconds: number }[]);
    expect(pickWay(entries, 'clear')).toBe(expected);
  });
});
