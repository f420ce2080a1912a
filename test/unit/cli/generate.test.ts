/** `pagefence generate`, on the CPU. */
import { describe, expect, it } from 'vitest';
import { modelSource, sharedModel } from '../../support/models.ts';
import { runCli } from './run-cli.ts';

const base = ['--worker', 'simulated', '--max-tokens', '12'];

describe('pagefence generate', () => {
  it('prints the text, and its figures beside it', async (context) => {
    const model = modelSource('kjv-tiny', context);
    const { status, out, err } = await runCli(['generate', 'And God said', '--model', model, ...base]);
    expect(status).toBe(0);
    const { file } = await sharedModel('kjv-tiny', context);
    const whole = (file as { cases: { text: string }[] }).cases[1].text;
    expect(whole.startsWith(`And God said${out.trimEnd()}`)).toBe(true);
    expect(err).toMatch(/^5 prompt tokens \(0 from pages\), 12 tokens generated, [\d.]+\/s\n$/);
  });

  it('--n: samples of one prompt, which is computed once, each named', async (context) => {
    const model = modelSource('kjv-tiny', context);
    const args = ['generate', 'And God said', '--model', model, ...base, '--n', '3', '--temperature', '1'];
    const { status, out, err } = await runCli(args);
    expect(status).toBe(0);
    const texts = [1, 2, 3].map((sample) => {
      const [, text] = new RegExp(`\\[${sample} of 3\\] (.*)`).exec(out)!;
      return text;
    });
    expect(new Set(texts).size).toBe(3);
    expect(err).toMatch(/^15 prompt tokens \(10 from pages\), 36 tokens generated/);
    const refused = await runCli(['generate', 'x', '--model', model, ...base, '--n', '2']);
    expect(refused.err).toMatch(/n is 2 at temperature 0/);
  });

  it('runs several prompts as one batch, texts and ids, for a program to read', async (context) => {
    const model = modelSource('stories260k', context);
    const { goldens } = await sharedModel('stories260k', context);
    const { prompt, greedy } = goldens[0];
    const ids = [...prompt, ...greedy.slice(0, 10)].join();
    const { status, out } = await runCli(
      [
        'generate',
        'Once',
        '--model',
        model,
        ...base,
        '--json',
        '--prompt-ids',
        '1',
        '--prompt-ids',
        ids,
      ].concat(['--page-tokens', '4', '--pool-pages', '40', '--host-slots', '8', '--temperature', '0']),
    );
    expect(status).toBe(0);
    const report = JSON.parse(out) as {
      results: { ids: number[]; text: string; hits: object; firstTokenMs: number; totalMs: number }[];
      adapter: null;
    };
    expect(report.results).toHaveLength(3);
    expect(report.results[1].ids).toEqual(greedy.slice(0, 12));
    expect(report.results[2].ids).toEqual(greedy.slice(10, 22));
    expect(report.results[0].text.length).toBeGreaterThan(0);
    expect(report.results[2].hits).toEqual({ device: 0, host: 0 });
    expect(report.adapter).toBeNull();
  });

  it('takes drafts from the drafter of a model, and refuses them by name where there is none', async (context) => {
    const { goldens } = await sharedModel('kjv-tiny', context);
    const { prompt, greedy } = goldens[1];
    const run = (name: 'kjv-tiny' | 'stories260k') => {
      const model = modelSource(name, context);
      const drafts = ['--draft-tokens', '2', '--prompt-ids', prompt.join(), '--json'];
      return runCli(['generate', '--model', model, ...base, ...drafts]);
    };
    const { status, out } = await run('kjv-tiny');
    expect(status).toBe(0);
    const { results, drafts } = JSON.parse(out) as {
      results: { ids: number[] }[];
      drafts: { proposed: number; accepted: number; rate: number };
    };
    expect(results[0].ids).toEqual(greedy.slice(0, 12));
    expect(drafts.accepted).toBeGreaterThan(0);
    expect(drafts.rate).toBe(drafts.accepted / drafts.proposed);
    const refused = await run('stories260k');
    expect(refused.status).toBe(2);
    expect(refused.err).toMatch(/draftTokens is 2, but .*stories260k has no drafter/);
  });

  it.each([
    [['generate', 'x'], /--model/],
    [['generate', '--model', '/nowhere'], /there is no prompt/],
    [['generate', 'x', '--model', '/nowhere'], /\/nowhere: config.json is missing/],
    [['generate', '--model', 'm', '--prompt-ids', '1,x'], /--prompt-ids/],
    [['generate', 'x', '--model', 'm', '--temperature', 'hot'], /Use a number from 0 to 100/],
  ])('%j is bad input', async (argv, message) => {
    const { status, err } = await runCli(argv);
    expect(status).toBe(2);
    expect(err).toMatch(message);
  });
});
