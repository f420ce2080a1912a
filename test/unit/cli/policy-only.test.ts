import { describe, expect, it } from 'vitest';
import type { PolicyOnlyResult } from '../../../src/cli/policy-command.ts';
import { HEADER, requestLine, runCli, temporaryFolder } from './run-cli.ts';

const folder = temporaryFolder();
const policyOnly = (...argv: string[]) => runCli(['replay', '--policy-only', ...argv]);

/** References 1 2 1 3 1 2: with two blocks LRU hits at the second and third 1, the optimum at one 2 as well. */
const file = folder.write(
  'short.jsonl',
  [HEADER, requestLine('a', [1, 2]), requestLine('b', [1, 3]), requestLine('c', [1, 2]), ''].join('\n'),
);

describe('--policy-only', () => {
  it('gives results a policy and capacity with --json', async () => {
    const { status, out } = await policyOnly('--policy', 'lru,min', '--capacity', '2,3', '--json', file);
    expect(status).toBe(0);
    expect(JSON.parse(out) as PolicyOnlyResult).toMatchObject({
      results: [
        { policy: 'lru', capacity: 2, hits: 2, hitRate: 2 / 6 },
        { policy: 'lru', capacity: 3, hits: 3, hitRate: 3 / 6 },
        { policy: 'min', capacity: 2, hits: 2, hitRate: 2 / 6 },
        { policy: 'min', capacity: 3, hits: 3, hitRate: 3 / 6 },
      ],
      blockReferences: 6,
      unique: 3,
      requests: 3,
      linesSkipped: 0,
    });
  });

  it('prints a column a policy and a line a capacity; all policies where none is named', async () => {
    const { status, out } = await policyOnly('--capacity', '2', '--capacity', '3', file);
    expect(status).toBe(0);
    expect(out).toMatch(
      /capacity +lru +arc +min\n +2 +0\.3333 +\d\.\d{4} +0\.3333\n +3 +0\.5000 +0\.5000 +0\.5000\n/,
    );
    expect(out).toContain('arc is the textbook rule');
  });

  it('reads page references, and the bundled sample where no file is named', async () => {
    const references = folder.write('pages.lis', '1 3 0 0\n2 2 0 1\n');
    const { out } = await policyOnly('--policy', 'lru', '--capacity', '5', '--json', references);
    expect(JSON.parse(out)).toMatchObject({ blockReferences: 5, unique: 3, results: [{ hits: 2 }] });
    const sample = await policyOnly('--policy', 'lru', '--policy', 'lru', '--capacity', '100', '--json');
    expect(JSON.parse(sample.out)).toMatchObject({
      blockReferences: 6551,
      results: [{ policy: 'lru', capacity: 100 }],
    });
  });

  it.each([
    [[file], '--policy-only needs --capacity; add for example --capacity 1000,10000'],
    [['--capacity', '1', '--pool-pages', '5', file], '--pool-pages has no meaning with --policy-only'],
    [['--capacity', '1', '--no-witness', file], '--no-witness has no meaning with --policy-only'],
    [['--capacity', '1,,2', file], "argument '1,,2' is invalid. Use a whole number from 1 to"],
    [['--capacity', '0', file], "argument '0' is invalid. Use a whole number from 1 to"],
  ])('refuses %j', async (argv, message) => {
    const { status, err } = await policyOnly(...argv);
    expect(status).toBe(2);
    expect(err).toContain(message);
  });
});
