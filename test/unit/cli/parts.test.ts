import { describe, expect, it, vi } from 'vitest';
import { limitsFor } from '../../../src/cli/device.ts';
import { alignColumns, formatRate, formatSeconds, formatShare } from '../../../src/cli/format.ts';
import { createProgress, progressText } from '../../../src/cli/progress.ts';
import { DeviceError } from '../../../src/errors.ts';
import { runCli, TextSink } from './run-cli.ts';
import { formatBytes } from '../../../src/units.ts';

vi.mock('../../../src/runtime/acquire.ts', () => ({
  acquireAdapter: () =>
    Promise.reject(new DeviceError('no WebGPU adapter. Tried this and that. Install a driver')),
}));

describe('without an adapter', () => {
  it('says what was tried, what to install and how to run all the same: status 1', async () => {
    const { status, out, err } = await runCli(['replay', '--json']);
    expect(status).toBe(1);
    expect(out).toBe('');
    expect(err).toBe(
      'pagefence: no WebGPU adapter. Tried this and that. Install a driver. ' +
        'Without WebGPU, --worker simulated runs the same steps over plain arrays\n',
    );
  });
});

describe('device limits', () => {
  const adapter = { maxBufferSize: 2 ** 30, maxStorageBufferBindingSize: 2 ** 27 };

  it('are what the largest buffer needs', () => {
    const cache = { pages: 1000, pageBytes: 4096, tokensPerPage: 16 };
    expect(limitsFor({ cache }, adapter)).toEqual({
      maxBufferSize: 4_096_000,
      maxStorageBufferBindingSize: 4_096_000,
    });
    const transfer = { stagingBytes: 2 ** 23, overflowBytes: 2 ** 22 };
    expect(limitsFor({ cache, transfer }, adapter).maxBufferSize).toBe(2 ** 23);
  });

  it('stay within what the adapter offers', () => {
    const cache = { pages: 2 ** 20, pageBytes: 4096, tokensPerPage: 16 };
    expect(limitsFor({ cache }, adapter)).toEqual(adapter);
  });
});

describe('progress', () => {
  function fake(isTTY: boolean) {
    const stream = new TextSink();
    stream.isTTY = isTTY;
    const clock = { ms: 0 };
    return { stream, clock, options: { stream, total: 1000, now: () => clock.ms } };
  }

  it('tells rate and time left', () => {
    expect(progressText(250, 1000, 10)).toBe('250 of 1,000 requests (25.0 %), 25/s, 30.0 s left');
    expect(progressText(0, 1000, 0)).toBe('0 of 1,000 requests (0.0 %), -, - left');
  });

  it('is a line every five seconds where there is no terminal', async () => {
    const { stream, clock, options } = fake(false);
    const progress = await createProgress(options);
    for (const [ms, done] of [
      [0, 1],
      [4999, 90],
      [5000, 100],
      [9000, 180],
      [10_500, 210],
    ] as const) {
      clock.ms = ms;
      progress.update(done);
    }
    progress.stop();
    expect(stream.text).toBe(
      '100 of 1,000 requests (10.0 %), 20/s, 45.0 s left\n210 of 1,000 requests (21.0 %), 20/s, 39.5 s left\n',
    );
  });

  it('is a bar on a terminal, and leaves nothing behind', async () => {
    const { stream, clock, options } = fake(true);
    const cursor = { cursorTo: vi.fn(), clearLine: vi.fn(), columns: 120 };
    Object.assign(stream, { cursorTo: cursor.cursorTo, clearLine: cursor.clearLine, columns: 120 });
    const progress = await createProgress(options);
    clock.ms = 10_000;
    progress.update(500);
    progress.stop();
    progress.stop();
    expect(stream.text).toContain('[........................] 0 of 1,000 requests');
    expect(stream.text).toContain(
      '[############............] 500 of 1,000 requests (50.0 %), 50/s, 10.0 s left',
    );
  });
});

describe('figures for people', () => {
  it.each([
    [0, '0 B'],
    [4096, '4 KiB'],
    [1536, '1.50 KiB'],
    [100 * 2 ** 20 + 2 ** 19, '101 MiB'],
    [12.5 * 2 ** 30, '12.5 GiB'],
  ])('%d bytes', (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  it.each([
    [0.5, '0.50 s'],
    [12.34, '12.3 s'],
    [135, '2 min 15 s'],
    [7260, '2 h 1 min'],
    [Infinity, '-'],
  ])('%d seconds', (seconds, text) => expect(formatSeconds(seconds)).toBe(text));

  it('shares and rates of nothing', () => {
    expect([formatShare(0, 0), formatShare(1, 8), formatRate(5, 0), formatRate(5, 2)]).toEqual([
      '-',
      '12.5 %',
      '-',
      '2.5/s',
    ]);
  });

  it('lines columns up', () => {
    expect(
      alignColumns(
        [
          ['a', '1'],
          ['long', '1,000'],
        ],
        { right: [1], indent: 2 },
      ),
    ).toEqual(['  a         1', '  long  1,000']);
  });
});
