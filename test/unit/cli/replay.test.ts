import { Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import type { ReplayResult } from '../../../src/cli/report.ts';
import { HEADER, requestLine, runCli, temporaryFolder } from './run-cli.ts';

const folder = temporaryFolder();
const HAZARD = fileURLToPath(new URL('../../../demo/public/hazard.pagefence.jsonl', import.meta.url));
/** Stores are paced at one page a step, so that most of a prompt still waits when its pages are claimed. */
const HAZARD_OPTIONS = ['--pool-pages', '16', '--host-slots', '128', '--store-bytes-per-step', '4096'];

const simulated = (...argv: string[]) => runCli(['replay', '--worker', 'simulated', ...argv]);

async function jsonOf(...argv: string[]): Promise<ReplayResult> {
  const { out, err } = await simulated('--json', ...argv);
  expect(err).toBe('');
  return JSON.parse(out) as ReplayResult;
}

describe('the bundled sample', { timeout: 60_000 }, () => {
  it('is replayed where no file is named, with hits in both tiers and every byte right', async () => {
    const { status, out, err } = await simulated();
    expect(status).toBe(0);
    expect(err).toContain('no FILE given: replaying the bundled sample');
    expect(out).toContain('315 replayed, 0 refused');
    expect(out).toMatch(/ {2}device {2,}57,056 {2,}53\.3 % {2,}3,566 {2,}54\.4 %/);
    expect(out).toMatch(/Mismatches: none in [\d,]+ words that requests read/);
    expect(out).toContain('simulated: plain arrays, no GPU');
    expect(out).toContain('96 pages of 4 KiB');
  });

  it('gives one JSON object and nothing else with --json', async () => {
    const result = await jsonOf('--page-bytes', '512');
    expect(result).toMatchObject({
      requests: 315,
      requestsRefused: 0,
      linesSkipped: 0,
      blockReferences: 6551,
      hits: { device: 3566, host: 1562 },
      hitTokens: { device: 3566 * 16, host: 1562 * 16 },
      storesFailed: 0,
      flushOverflows: 0,
      flushWaits: 0,
      mismatches: 0,
      worker: 'simulated',
      adapter: null,
      policy: 'lru',
      interrupted: null,
      files: ['bundled sample'],
      config: {
        cache: { pages: 96, pageBytes: 512, tokensPerPage: 16, zeroing: 'always' },
        offload: { slots: 320, policy: 'lru', fence: 'complete' },
        concurrency: 1,
        outputTokens: 1,
        limit: null,
      },
    });
    expect(result.hitRate).toBeCloseTo((3566 + 1562) / 6551, 12);
    expect(result.bytesStored).toBe(result.pagesStored * 512);
    expect(result.bytesLoaded).toBe(1562 * 512);
    expect(result.pages.evicted).toBeGreaterThan(0);
    expect(result.pages.allocated).toBe(result.pages.zeroed + result.pagesLoaded);
    expect(result.checkedWords).toBeGreaterThan(0);
    expect(result.residentBytesMax).toBeGreaterThan(2 ** 20);
    expect(result.runtime).toBe('node');
    for (const key of ['stores', 'loads', 'flushes', 'seconds'] as const)
      expect(result[key]).toEqual(expect.any(Number));
  });

  it('takes every option of the engine', async () => {
    const result = await jsonOf(
      ...[
        '--pool-pages',
        '64',
        '--page-bytes',
        '1KiB',
        '--host-slots',
        '100',
        '--policy',
        'arc',
        '--zeroing',
        'poison',
      ],
      ...[
        '--staging',
        '2',
        '--staging-bytes',
        '8KiB',
        '--overflow-bytes',
        '4096',
        '--store-bytes-per-step',
        '16KiB',
      ],
      ...[
        '--acknowledgement-lag',
        '3',
        '--fence',
        'off',
        '--no-witness',
        '--concurrency',
        '3',
        '--limit',
        '20',
      ],
      ...['--output-tokens', 'trace'],
    );
    expect(result.config).toMatchObject({
      cache: { pages: 64, pageBytes: 1024, zeroing: 'poison' },
      schedule: { maxRunning: 3 },
      offload: { slots: 100, policy: 'arc-tier', fence: 'off' },
      transfer: {
        stagingBuffers: 2,
        stagingBytes: 8192,
        overflowBytes: 4096,
        storeBytesPerStep: 16384,
        acknowledgementLag: 3,
      },
      witness: false,
      concurrency: 3,
      outputTokens: 'trace',
      limit: 20,
    });
    expect(result).toMatchObject({ requests: 20, policy: 'arc-tier', mismatches: null, checkedWords: null });
    expect(result.outputTokens).toBeGreaterThan(20);
  });

  it("says that arc is the host tier's own", async () => {
    const { out } = await simulated('--policy', 'arc', '--limit', '5');
    expect(out).toContain("policy arc-tier, the host tier's ARC");
  });

  it('raises the staging buffers to the page where nobody asked for a size', async () => {
    const { config } = await jsonOf(
      '--page-bytes',
      '5MiB',
      '--limit',
      '1',
      '--pool-pages',
      '20',
      '--host-slots',
      '1',
      '--no-witness',
    );
    expect(config.transfer.stagingBytes).toBe(5 * 2 ** 20);
  });

  it('has room for flushes of twice the pool, from 8 to 64 MiB', async () => {
    const sizes = [];
    for (const pages of ['96', '4096', '40960']) {
      const { config } = await jsonOf('--pool-pages', pages, '--limit', '1', '--no-witness');
      sizes.push(config.transfer.overflowBytes / 2 ** 20);
    }
    expect(sizes).toEqual([8, 32, 64]);
  });

  it('runs without a host tier', async () => {
    const { status, out } = await simulated('--host-slots', '0', '--limit', '10');
    expect(status).toBe(0);
    expect(out).toMatch(/host tier +none/);
  });
});

describe('the fence', { timeout: 60_000 }, () => {
  it('keeps the hazard sample right', async () => {
    const { status, out } = await simulated(HAZARD, ...HAZARD_OPTIONS, '--json');
    const result = JSON.parse(out) as ReplayResult;
    expect(status).toBe(0);
    expect(result).toMatchObject({
      requests: 40,
      mismatches: 0,
      flushWaits: 0,
      hits: { device: 0, host: 186 },
    });
    expect(result.flushes).toBeGreaterThan(0);
  });

  it('is missed where it is off: status 1, and the report names pages and steps', async () => {
    const { status, out } = await simulated(HAZARD, ...HAZARD_OPTIONS, '--fence', 'off');
    expect(status).toBe(1);
    expect(out).toMatch(/MISMATCHES: [\d,]+ of [\d,]+ words/);
    expect(out).toMatch(/first: page \d+ in step \d+, page \d+ in step \d+/);
  });
});

describe('requests that cannot run', () => {
  it('are refused with the numbers, and the rest goes on', async () => {
    const file = folder.write(
      'large.jsonl',
      [
        HEADER,
        requestLine('a', [0, 1]),
        requestLine('b', [2, 3, 4, 5, 6]),
        requestLine('c', [0, 7]),
        '',
      ].join('\n'),
    );
    const { status, out } = await simulated(file, '--pool-pages', '5');
    expect(status).toBe(0);
    expect(out).toContain('2 replayed, 1 refused');
    expect(out).toContain(
      `${file}:3: request 1 can never fit: 84 prompt and 1 output tokens need 6 pages, the pool has 4`,
    );
  });
});

describe('an interrupt', () => {
  it('ends the run between two steps with a partial report and status 130', async () => {
    const { status, out, err } = await runCli(['replay', '--worker', 'simulated'], (io) => {
      io.stderr.onText = (text) => {
        if (text.includes('no FILE given')) io.interrupt();
      };
    });
    expect(status).toBe(130);
    expect(err).toContain('stopping after this step');
    expect(out).toContain('Ended early, the figures cover what was done: stopped on request');
    expect(out).toContain('0 replayed');
  });
});

describe('standard output', () => {
  const failing = (code: string) =>
    new Writable({
      write: (_chunk, _encoding, done) => done(Object.assign(new Error(`${code}: it failed`), { code })),
    });

  it('may be closed by its reader', async () => {
    const run = await runCli(['replay', '--worker', 'simulated', '--limit', '3', '--json'], (io) => {
      io.stdout = failing('EPIPE');
    });
    expect(run).toMatchObject({ status: 0, err: '' });
  });

  it.each([['replay', '--worker', 'simulated', '--limit', '3'], ['replay', '--help'], ['--version']])(
    'may be full: an error and status 1 (%s %s %s %s)',
    async (...argv) => {
      const { status, err } = await runCli(
        argv.filter((each) => each !== undefined),
        (io) => {
          io.stdout = failing('ENOSPC');
        },
      );
      expect(status).toBe(1);
      expect(err).toContain('standard output could not be written (ENOSPC: it failed); make room there');
    },
  );
});
