import { describe, expect, it } from 'vitest';
import { mismatchTable } from '../../gpu/support/mismatches.ts';

describe('mismatchTable', () => {
  it('says nothing about equal contents', () => {
    expect(mismatchTable(Uint8Array.of(1, 2), Uint8Array.of(1, 2))).toBeUndefined();
    expect(mismatchTable(Float32Array.of(NaN), Float32Array.of(NaN))).toBeUndefined();
    expect(mismatchTable(new ArrayBuffer(4), Uint32Array.of(0))).toBeUndefined();
    expect(mismatchTable(new Uint8Array(0), new Uint8Array(0))).toBeUndefined();
  });

  it('aligns index, actual and expected', () => {
    const actual = Uint32Array.from({ length: 12 }, (_, index) => index);
    const expected = Uint32Array.from(actual);
    expected[3] = 0xffffffff;
    expected[11] = 5;
    expect(mismatchTable(actual, expected)).toBe(
      [
        '2 of 12 elements of 4 bytes differ',
        'index           actual                 expected',
        '    3   3 (0x00000003)  4294967295 (0xffffffff)',
        '   11  11 (0x0000000b)           5 (0x00000005)',
      ].join('\n'),
    );
  });

  it('shows the first 16 and counts the rest', () => {
    const table = (count: number) =>
      mismatchTable(new Uint8Array(count).fill(1), new Uint8Array(count))!.split('\n');
    expect(table(16)).toHaveLength(18);
    expect(table(17)).toHaveLength(19);
    expect(table(17).at(-1)).toBe('and 1 more');
  });

  it('compares arrays of different types byte by byte, through their own window', () => {
    const window = new Uint8Array([9, 1, 0, 0, 0, 9]).subarray(1, 5);
    expect(mismatchTable(window, Uint32Array.of(1))).toBeUndefined();
    expect(mismatchTable(window, Uint32Array.of(257))).toContain('1 of 4 bytes differ');
  });

  it('tells floats by value and negative numbers by their bits', () => {
    expect(mismatchTable(Float32Array.of(0), Float32Array.of(-0))).toContain('differ');
    expect(mismatchTable(Float32Array.of(1.5), Float32Array.of(2))).toContain('1.5');
    expect(mismatchTable(Int16Array.of(-1), Int16Array.of(1))).toContain('-1 (0xffff)');
  });

  it('tells lengths that differ, and no contents', () => {
    expect(mismatchTable(new Uint8Array(3), new Uint8Array(4))).toBe('3 bytes where 4 were expected');
  });
});
