/** The command as it is installed: built, started as a process, with real pipes and signals. */
import { spawn } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ReplayResult } from '../../../src/cli/report.ts';
import { findDeno } from '../../../scripts/support/deno.mjs';
import { HEADER, requestLine, temporaryFolder, type CliRun } from './run-cli.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
/** Inside the repository, so that the built code finds its dependencies. */
const outDir = `${root}.cache/test-cli-${process.pid}`;
const folder = temporaryFolder();

beforeAll(async () => {
  await build({
    root,
    configFile: `${root}vite.config.ts`,
    logLevel: 'error',
    build: { outDir, sourcemap: false },
  });
}, 60_000);

afterAll(() => rmSync(outDir, { recursive: true, force: true }));

interface Started extends CliRun {
  readonly signal: NodeJS.Signals | null;
}

interface StartOptions {
  readonly onErr?: (pid: number) => void;
  /** Default: Node. */
  readonly runtime?: readonly [program: string, ...argv: string[]];
}

function start(argv: readonly string[], options: StartOptions = {}) {
  const [program, ...before] = options.runtime ?? [process.execPath];
  const child = spawn(program, [...before, `${outDir}/cli.js`, ...argv], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const text = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => (text.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => {
    text.err += chunk.toString();
    options.onErr?.(child.pid!);
  });
  const ended = new Promise<Started>((resolve) => {
    child.on('close', (status, signal) => resolve({ status: status ?? -1, signal, ...text }));
  });
  return { child, ended };
}

describe('the built command', { timeout: 60_000 }, () => {
  it('can be started by its name', async () => {
    const child = spawn(`${outDir}/cli.js`, ['--version']);
    const status = await new Promise((resolve) => child.on('close', resolve));
    expect(status).toBe(0);
  });

  it('replays the sample that is inside it', async () => {
    const { status, out } = await start(['replay', '--worker', 'simulated', '--limit', '30', '--json']).ended;
    expect(status).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ requests: 30, mismatches: 0 });
  });

  it('tells bad input in one line', async () => {
    const { status, err } = await start(['replay', '/no/such/file']).ended;
    expect(status).toBe(2);
    expect(err).toBe('pagefence: /no/such/file: file: expected a file that can be read, got no such file\n');
  });

  it('stops between two steps when it is interrupted, and reports what it did', async () => {
    const lines = Array.from({ length: 20_000 }, (_, index) =>
      requestLine(`r${index}`, [2 * index, 2 * index + 1]),
    );
    const file = folder.write('long.jsonl', [HEADER, 'a bad line', ...lines, ''].join('\n'));
    let sent = false;
    // The note on the bad line comes when all is read and the run is about to begin.
    const { status, out, err } = await start(['replay', '--worker', 'simulated', '--skip-bad-lines', file], {
      onErr: (pid) => {
        if (!sent) process.kill(pid, 'SIGINT');
        sent = true;
      },
    }).ended;
    expect(status).toBe(130);
    expect(err).toContain('stopping after this step');
    expect(out).toContain('Ended early, the figures cover what was done: stopped on request');
  });

  it('ends quietly when nobody reads its output', async () => {
    const { child, ended } = start(['replay', '--worker', 'simulated', '--limit', '3']);
    child.stdout.destroy();
    const { status, signal, err } = await ended;
    expect({ status, signal }).toEqual({ status: 0, signal: null });
    expect(err).not.toContain('pagefence:');
  });

  it.skipIf(!existsSync('/dev/full'))('reports a full disk', async () => {
    const command = `"$0" "$1" replay --worker simulated --limit 3 --json > /dev/full`;
    const child = spawn('/bin/sh', ['-c', command, process.execPath, `${outDir}/cli.js`]);
    let err = '';
    child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
    const status = await new Promise((resolve) => child.on('close', resolve));
    expect(status).toBe(1);
    expect(err).toMatch(/^pagefence: standard output could not be written \(ENOSPC/);
  });

  it('starts on policies without loading the GPU or the engine', async () => {
    const { status, out } = await start(['replay', '--policy-only', '--capacity', '100', '--json']).ended;
    expect(status).toBe(0);
    expect((JSON.parse(out) as ReplayResult).blockReferences).toBe(6551);
  });
});

const deno = findDeno();

describe.skipIf(deno === undefined)(
  'the built command in Deno without permissions',
  { timeout: 60_000 },
  () => {
    const inDeno = (...argv: string[]) => start(argv, { runtime: [deno!, 'run', '--no-prompt'] }).ended;

    it('names the missing one in one line, and what to add', async () => {
      const { status, out, err } = await inDeno('replay', '--worker', 'simulated', '/no/such/file');
      expect({ status, out }).toEqual({ status: 2, out: '' });
      expect(err).toBe(
        'pagefence: Deno denies read access to "/no/such/file"; add --allow-read behind deno run, ' +
          'or -A for all that this command takes\n',
      );
    });

    it('does what takes none', async () => {
      const [help, simulated] = await Promise.all([
        inDeno('replay', '--help'),
        inDeno('replay', '--worker', 'simulated', '--limit', '3', '--json'),
      ]);
      expect([help.status, help.err]).toEqual([0, '']);
      expect([simulated.status, simulated.err]).toEqual([0, '']);
      expect(JSON.parse(simulated.out)).toMatchObject({ requests: 3, mismatches: 0, runtime: 'deno' });
    });

    it('looks for an adapter, and where that takes a permission names it', async () => {
      const { status, err } = await inDeno('replay', '--limit', '3', '--json');
      // The machine may have an adapter of its own, which takes none.
      if (status === 0) return;
      expect(err).toMatch(
        /^pagefence: Deno denies .+ access.*; add --allow-.+ behind deno run, or -A for .*\n$/,
      );
      expect(status).toBe(2);
    });
  },
);
