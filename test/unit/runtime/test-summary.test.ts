import { describe, expect, it } from 'vitest';
import {
  closingLine,
  failureList,
  notRun,
  summarise,
  summaryTable,
} from '../../../scripts/support/summary.mjs';

const report = (passed: number, failed: number, skipped = 0, adapter?: string) => ({
  numPassedTests: passed,
  numFailedTests: failed,
  numPendingTests: skipped,
  numTodoTests: 0,
  testResults: [
    {
      status: failed > 0 ? 'failed' : 'passed',
      assertionResults: [
        { status: 'passed', meta: {} },
        { status: failed > 0 ? 'failed' : 'passed', meta: { adapter } },
      ],
    },
  ],
});

describe('summarise', () => {
  it('counts what the report says', () => {
    expect(summarise('node', 'looked up', 0, report(3, 0, 1, 'told'))).toEqual({
      runtime: 'node',
      adapter: 'told',
      passed: 3,
      failed: 0,
      skipped: 1,
      status: 'passed',
      failures: [],
    });
    expect(summarise('node', 'looked up', 1, report(3, 2))).toMatchObject({
      adapter: 'looked up',
      failed: 2,
      status: 'failed',
    });
  });

  it('counts a crash without a report as a failure, whatever the exit status', () => {
    for (const outcome of [0, 1, 'SIGKILL']) {
      const suite = summarise('deno', undefined, outcome, undefined);
      expect(suite).toMatchObject({
        adapter: '-',
        passed: 0,
        failed: 1,
        status: `ended without a report (${outcome})`,
      });
    }
  });

  it('counts errors outside any test', () => {
    expect(summarise('unit', undefined, 1, report(3, 0))).toMatchObject({
      passed: 3,
      failed: 1,
      status: 'failed outside any test (1)',
    });
  });

  it('counts a file that did not load beside failed tests', () => {
    const both = report(3, 1);
    both.testResults.push({ status: 'failed', assertionResults: [] });
    expect(summarise('unit', undefined, 1, both).failed).toBe(2);
  });

  it('says where a filter matched nothing', () => {
    expect(summarise('node', undefined, 0, { ...report(0, 0), testResults: [] })).toMatchObject({
      failed: 0,
      status: 'no test matched',
    });
  });
});

describe('a runtime that is missing', () => {
  it('is a failure only where every runtime is required', () => {
    expect(notRun('browser', 'no\n  browser', false)).toMatchObject({
      failed: 0,
      status: 'not run: no browser',
    });
    expect(notRun('browser', 'no browser', true)).toMatchObject({ failed: 1, status: 'not run: no browser' });
  });
});

describe('the end of a run', () => {
  const suites = [
    summarise('unit', undefined, 0, report(120, 0)),
    summarise('node', 'SwiftShader', 1, report(9, 2)),
    notRun('browser', 'no browser', false),
  ];

  it('is an aligned table', () => {
    expect(summaryTable(suites)).toBe(
      [
        'runtime  adapter      passed  failed  skipped  status',
        'unit     -               120       0        0  passed',
        'node     SwiftShader       9       2        0  failed',
        'browser  -                 0       0        0  not run: no browser',
      ].join('\n'),
    );
  });

  it('and the totals, with skipped ones only where there are some', () => {
    expect(closingLine(suites)).toBe('129 passed, 2 failed');
    expect(closingLine([summarise('unit', undefined, 0, report(1, 0, 4))])).toBe(
      '1 passed, 0 failed, 4 skipped',
    );
    expect(closingLine([])).toBe('0 passed, 0 failed');
  });
});

describe('failureList', () => {
  const file = (name: string, count: number) => ({
    name,
    status: 'failed',
    assertionResults: Array.from({ length: count }, (_, i) => ({
      status: 'failed',
      fullName: `test ${i}`,
      failureMessages: ['Error: one\n  two\n\n  three\n  four\n  five\n  six\n  seven'],
    })),
  });
  type Report = NonNullable<Parameters<typeof summarise>[3]>;
  const suiteOf = (...testResults: Report['testResults']) =>
    summarise('node', undefined, 1, {
      numPassedTests: 0,
      numFailedTests: 1,
      numPendingTests: 0,
      numTodoTests: 0,
      testResults,
    });

  it('names runtime, file and test, and begins the message', () => {
    expect(failureList([suiteOf(file('/root/a.test.ts', 1))], '/root')).toBe(
      'node: a.test.ts: test 0\n    Error: one\n      two\n      three\n      four\n      five\n      six',
    );
  });

  it('names a file that did not load', () => {
    const unloaded = {
      name: '/root/b.test.ts',
      status: 'failed',
      message: 'no such module',
      assertionResults: [],
    };
    expect(failureList([suiteOf(unloaded)], '/root')).toBe('node: b.test.ts\n    no such module');
  });

  it('stops after twenty, and says how many are left', () => {
    const text = failureList([suiteOf(file('/root/a.test.ts', 30))], '/root');
    expect(text.match(/test \d+/g)).toHaveLength(20);
    expect(text).toMatch(/\nand 10 more$/);
  });

  it('is empty where nothing failed', () => {
    expect(failureList([summarise('node', undefined, 0, report(3, 0))])).toBe('');
  });
});
