import { describe, expect, it } from 'vitest';
import type { CampaignResult } from '../../../src/simulate/campaign.ts';
import { runCli } from './run-cli.ts';

const simulate = (...argv: string[]) => runCli(['simulate', ...argv]);

describe('pagefence simulate', () => {
  it('finds nothing with every guard in place, and says how much was run', async () => {
    const { status, out } = await simulate('--seeds', '1..5', '--steps', '20');
    expect(status).toBe(0);
    expect(out).toMatch(/^5 seeds, \d+ steps in .* a second\): /);
    expect(out).toContain('Nothing was found.');
  });

  it('without a guard it names seed, step, rule and symptom, and tells the shortest run', async () => {
    const { status, out } = await simulate('--seed', '2', '--steps', '60', '--without', 'fence');
    expect(status).toBe(1);
    expect(out).toMatch(/Found in 1 seeds:\n {2}seed 2, step \d+, O-I2: slot \d+/);
    expect(out).toMatch(/The shortest run .* of seed 2:\n {2}\d+ pages, \d ranks/);
    expect(out).toMatch(/\nstep \d+\n/);
  });

  it('gives the same with --json for a program to read', async () => {
    const { status, out } = await simulate('--seeds', '2..3', '--steps', '60', '--fence', 'off', '--json');
    expect(status).toBe(1);
    const { seeds, failures } = JSON.parse(out) as CampaignResult;
    expect(seeds).toBe(2);
    expect(failures[0]).toMatchObject({ seed: 2, invariant: 'O-I2' });
    expect(failures[0].symptom).not.toBe('');
  });

  it.each([
    [['--without', 'luck'], /no guard luck; the guards are fence, zero-list/],
    [['--seeds', '5..2'], /Use A\.\.B/],
    [['--seeds', 'x'], /Use A\.\.B/],
    [['--fence', 'half'], /complete/],
    [['--steps', '0'], /steps/],
  ])('refuses %j', async (argv, message) => {
    const { status, err } = await simulate(...argv);
    expect(status).toBe(2);
    expect(err).toMatch(message);
  });
});

describe('pagefence explore', () => {
  const explore = (...argv: string[]) => runCli(['explore', ...argv]);

  it('visits every state of a small world', async () => {
    const { status, out } = await explore('--requests', '2', '--pages', '4');
    expect(status).toBe(0);
    expect(out).toMatch(/^2 requests on 4 pages.*: \d+ states, /);
    expect(out).toContain('Every state was visited, and nothing was wrong.');
  });

  it('tells the shortest way to a fault where a guard is missing', async () => {
    const { status, out } = await explore('--requests', '2', '--pages', '4', '--fence', 'off');
    expect(status).toBe(1);
    expect(out).toMatch(/The shortest way to a fault:\n {2}step 1 {2}zero .*\n {2}then {4}slot \d/s);
  });

  it('gives numbers with --json, and refuses what it cannot try', async () => {
    const { out } = await explore('--requests', '1', '--pages', '3', '--json');
    expect(JSON.parse(out)).toMatchObject({ complete: true, counterexample: null });
    const { status, err } = await explore('--requests', '9');
    expect([status, err]).toEqual([2, expect.stringMatching(/--requests 9 is too many/)]);
  });
});
