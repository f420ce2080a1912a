/** `pagefence bench gpu`: what it refuses and how it ends. The measurement itself is tested on the GPU. */
import { describe, expect, it } from 'vitest';
import type { BandwidthResult } from '../../../src/bandwidth/result.ts';
import { hasAdapter, interruptAtOnce, runCli } from './run-cli.ts';

const isAdapterHere = await hasAdapter();

const SHORT = ['bench', 'gpu', '--page-bytes', '64KiB', '--bytes', '256KiB', '--runs', '1'];

describe('sizes that cannot be', () => {
  it.each([
    ['--page-bytes 6', /--page-bytes.*6/],
    ['--page-bytes 0', /--page-bytes.*0/],
    ['--page-bytes much', /--page-bytes.*much/],
    ['--bytes -4', /--bytes.*-4/],
    ['--runs 0', /--runs.*0/],
    ['--bytes 1KiB --page-bytes 4KiB', /1024 bytes to move are less than one page of 4 KiB; move more/],
  ])('%s', async (given, complaint) => {
    const { status, err, out } = await runCli(['bench', 'gpu', ...given.split(' ')]);
    expect(status).toBe(2);
    expect(err).toMatch(complaint);
    expect(out).toBe('');
  });
});

describe.skipIf(!isAdapterHere)('a short run', () => {
  it('prints for people and for programs', async () => {
    const text = await runCli(SHORT);
    expect(text.err).toBe('');
    expect(text.status).toBe(0);
    expect(text.out).toMatch(/Zero: GB\/s.*\n.*neighbouring pages.*scattered pages\n/);
    const { status, out } = await runCli([...SHORT, '--json']);
    expect(status).toBe(0);
    const result = JSON.parse(out) as BandwidthResult;
    expect(result.runtime).toBe('node');
    expect(result.rows.length).toBe(2 * 10);
  });

  it('ends early when it is interrupted', async () => {
    const { status, out } = await runCli([...SHORT, '--json'], interruptAtOnce);
    expect(status).toBe(130);
    expect((JSON.parse(out) as BandwidthResult).rows).toEqual([]);
  });
});
