/** `pagefence conformance`: what it prints and how it ends. The cases themselves are tested on the GPU. */
import { describe, expect, it } from 'vitest';
import { conformanceText } from '../../../src/cli/conformance-command.ts';
import type { CaseResult, ConformanceResult } from '../../../src/conformance/suite.ts';
import { hasAdapter, interruptAtOnce, runCli } from './run-cli.ts';

const isAdapterHere = await hasAdapter();

function one(id: string, status: CaseResult['status'], detail = ''): CaseResult {
  const spec = 'Section, https://www.w3.org/TR/webgpu/#section';
  return { id, status, detail, title: `title of ${id}`, promise: `Promise of ${id}.`, spec };
}

const CASES = [
  one('copies/a', 'passed'),
  one('copies/b', 'failed', 'first line\nsecond line'),
  one('mapping/c', 'deviates', 'known'),
];
const RESULT: ConformanceResult = {
  runtime: 'node',
  agent: 'Node.js/20',
  adapter: 'an adapter',
  features: [],
  limits: {},
  cases: CASES,
  passed: 1,
  failed: 1,
  deviates: 1,
  skipped: 0,
  seconds: 1.5,
};

describe('the text', () => {
  it('has a row a subject and all that did not pass', () => {
    expect(conformanceText(RESULT).split('\n')).toEqual([
      'Node.js/20 on an adapter: 3 cases in 1.50 s',
      '',
      '         passed  deviates  failed  skipped',
      'copies        1         0       1        0',
      'mapping       0         1       0        0',
      'all           1         1       1        0',
      '',
      'FAILED copies/b',
      '  title of copies/b',
      '  first line',
      '  second line',
      '  stands on it: Promise of copies/b.',
      '  specified in: Section, https://www.w3.org/TR/webgpu/#section',
      '',
      'DEVIATES mapping/c',
      '  title of mapping/c',
      '  known',
      '  stands on it: Promise of mapping/c.',
      '  specified in: Section, https://www.w3.org/TR/webgpu/#section',
      '',
    ]);
  });
});

describe('the command', () => {
  it('lists the subjects where there is no such one', async () => {
    const { status, err } = await runCli(['conformance', '--only', 'luck']);
    expect(status).toBe(2);
    expect(err).toMatch(/--only luck: no such case or subject; the subjects are copies, clears, ordering, /);
  });

  it.skipIf(!isAdapterHere)('runs one subject, for people and for programs', async () => {
    const text = await runCli(['conformance', '--only', 'clears']);
    expect(text.status).toBe(0);
    expect(text.out).toMatch(/: 50 cases in .*\n\n.*\nclears +50 +0 +0 +0\nall +50 +0 +0 +0\n$/);
    const { status, out } = await runCli(['conformance', '--only', 'clears', '--json']);
    expect(status).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ runtime: 'node', passed: 50, failed: 0 });
    expect((JSON.parse(out) as ConformanceResult).cases[0]).toMatchObject({
      id: 'clears/of-20-offset-0-bytes-0',
      status: 'passed',
      detail: '',
    });
  });

  it.skipIf(!isAdapterHere)('stops between two cases when it is interrupted', async () => {
    const { status, out } = await runCli(['conformance', '--only', 'clears', '--json'], interruptAtOnce);
    expect(status).toBe(130);
    expect((JSON.parse(out) as ConformanceResult).cases).toEqual([]);
  });
});
