import { spawnSync } from 'node:child_process';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { splitRuntimes } from '../../../scripts/support/parameters.mjs';

const root = fileURLToPath(new URL('../../..', import.meta.url));

describe('--runtime', () => {
  it('may be repeated and spelt both ways; the rest is handed on', () => {
    const parameters = ['--runtime', 'node', 'test/gpu', '--runtime=deno', '-t', 'a=b'];
    expect(splitRuntimes(parameters, ['node', 'deno'])).toEqual({
      chosen: ['node', 'deno'],
      rest: ['test/gpu', '-t', 'a=b'],
    });
  });

  it.each([
    ['test', 'unit, node, browser, deno, demo'],
    ['bench', 'cache, steps, node, browser, deno'],
  ])('of a wrong name ends npm run %s with one line and status 2', (script, names) => {
    for (const [parameters, got] of [
      [['--runtime', 'nonsense'], 'is nonsense'],
      [['--runtime=nonsense'], 'is nonsense'],
      [['--runtime'], 'has no value'],
    ] as const) {
      const path = `${root}/scripts/${script}.mjs`;
      const { status, stdout, stderr } = spawnSync(process.execPath, [path, ...parameters], {
        encoding: 'utf8',
      });
      expect({ status, stdout, stderr }).toEqual({
        status: 2,
        stdout: '',
        stderr: `--runtime ${got}; use one of ${names}\n`,
      });
    }
  });
});
