/** The comparisons that every case relies on. */
import { describe, expect, it } from 'vitest';
import { difference, expectException, pattern, thrownBy } from '../../../src/conformance/workbench.ts';
import { TimeoutError, within } from '../../../src/conformance/wait.ts';
import { cell, matrix } from '../../../scripts/support/matrix.mjs';
import type { ConformanceResult } from '../../../src/conformance/suite.ts';

describe('difference', () => {
  it('is null for equal words and names the first that differs', () => {
    const words = pattern(16);
    expect(difference(words, pattern(16))).toBeNull();
    const changed = words.slice();
    changed[3] = 0;
    changed[9] = 0;
    expect(difference(changed, words, 'page')).toMatch(
      /^page: 2 of 16 words differ, the first at byte 12: 0x00000000 instead of 0x/,
    );
  });

  it('tells lengths that differ', () => {
    expect(difference(pattern(3), pattern(4))).toBe('buffer: 3 words where 4 were expected');
  });
});

it('patterns have no zero and differ by seed', () => {
  expect(pattern(10_000, 7)).not.toContain(0);
  expect(difference(pattern(8, 1), pattern(8, 2))).toMatch(/8 of 8/);
});

it('exceptions are told by name', () => {
  const thrown = thrownBy(() => {
    throw new RangeError('far');
  });
  expect(expectException('it', thrown, 'RangeError')).toBeNull();
  expect(expectException('it', thrown, 'OperationError')).toBe(
    'it: RangeError (far), expected OperationError',
  );
  expect(
    expectException(
      'it',
      thrownBy(() => 1),
      'A',
      'B',
    ),
  ).toBe('it: no exception, expected A or B');
});

it('waits end', async () => {
  expect(await within(Promise.resolve(5), 1000, 'it')).toBe(5);
  await expect(within(new Promise(() => undefined), 5, 'it')).rejects.toThrow(TimeoutError);
});

describe('the matrix of runtimes', () => {
  const result = (statuses: readonly string[]): ConformanceResult =>
    ({
      cases: statuses.map((status, i) => ({ id: `subject/${i}`, status })),
      seconds: 1,
    }) as unknown as ConformanceResult;

  it('shows what did not pass in each cell', () => {
    expect(cell(result(['passed', 'passed']).cases)).toBe('2');
    expect(cell(result(['passed', 'deviates', 'failed', 'skipped']).cases)).toBe('1 +1d +1s 1 FAILED');
  });

  it('has a row a subject and a column a runtime that was run', () => {
    const columns = [
      { name: 'node', result: result(['passed']) },
      { name: 'browser', missing: 'no browser' },
      { name: 'deno', result: result(['deviates']) },
    ];
    expect(matrix(columns)).toBe(
      ['         node  deno', 'subject  1     0 +1d', 'all      1     0 +1d', 'seconds  1.0   1.0'].join(
        '\n',
      ),
    );
  });
});
