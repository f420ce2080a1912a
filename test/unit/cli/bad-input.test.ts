import { describe, expect, it } from 'vitest';
import { HEADER, requestLine, runCli, temporaryFolder } from './run-cli.ts';

const folder = temporaryFolder();
const simulated = (...argv: string[]) => runCli(['replay', '--worker', 'simulated', ...argv]);

describe('help', () => {
  it('tells a newcomer what there is', async () => {
    const { status, out, err } = await runCli(['replay', '--help']);
    expect(status).toBe(0);
    expect(err).toBe('');
    for (const option of [
      ...[
        '--pool-pages',
        '--page-bytes',
        '--host-slots',
        '--policy',
        '--staging',
        '--staging-bytes',
        '--fence',
      ],
      ...[
        '--no-witness',
        '--limit',
        '--skip-bad-lines',
        '--worker',
        '--concurrency',
        '--output-tokens',
        '--json',
      ],
      ...[
        '--zeroing',
        '--overflow-bytes',
        '--store-bytes-per-step',
        '--acknowledgement-lag',
        '--policy-only',
        '--capacity',
      ],
    ]) {
      expect(out).toContain(`  ${option} `);
    }
    expect(out).toContain('Examples:');
    expect(out).toContain('Exit status:');
  });

  it('names the commands', async () => {
    const { status, out } = await runCli(['--help']);
    expect(status).toBe(0);
    expect(out).toContain('replay [options] [FILE...]');
  });

  it('is shown where no command is given, with status 2', async () => {
    const { status, out, err } = await runCli([]);
    expect(status).toBe(2);
    expect(out).toBe('');
    expect(err).toContain('Usage: pagefence');
  });

  it('prints the version', async () => {
    const { status, out } = await runCli(['--version']);
    expect(status).toBe(0);
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('options that cannot be', () => {
  it.each([
    [
      ['--page-bytes', '10'],
      "option '--page-bytes <n>' argument '10' is invalid. Use a multiple of 4 from 4 to",
    ],
    [
      ['--page-bytes', '4kb'],
      "argument '4kb' is invalid. Use a multiple of 4 from 4 to 1073741824, in bytes or with KiB",
    ],
    [
      ['--pool-pages', '1'],
      "option '--pool-pages <n>' argument '1' is invalid. Use a whole number from 2 to",
    ],
    [['--pool-pages', '1e3'], "argument '1e3' is invalid. Use a whole number from 2 to"],
    [['--pool-pages', '-5'], "argument '-5' is invalid. Use a whole number from 2 to"],
    [['--host-slots', '1.5'], "argument '1.5' is invalid. Use a whole number from 0 to"],
    [
      ['--host-slots', '60000000', '--page-bytes', '1GiB'],
      '--host-slots is 60000000: so many slots of 1073741824 bytes (--page-bytes) need 58594 TiB, this machine has',
    ],
    [
      ['--overflow-bytes', '1024GiB'],
      "argument '1024GiB' is invalid. Use a multiple of 4 from 0 to 2147483648",
    ],
    [['--limit', '0'], "argument '0' is invalid. Use a whole number from 1 to"],
    [['--concurrency', 'many'], "argument 'many' is invalid. Use a whole number from 1 to"],
    [
      ['--output-tokens', 'all'],
      "argument 'all' is invalid. Use a whole number from 1 to 2147483648, or trace.",
    ],
    [['--fence', 'half'], "argument 'half' is invalid. Use complete or off."],
    [['--worker', 'cuda'], "argument 'cuda' is invalid. Use webgpu or simulated."],
    [['--policy', 'fifo'], "argument 'fifo' is invalid. Use lru or arc or min."],
    [['--policy', 'min'], '--policy is min; without --policy-only use one of lru and arc'],
    [['--policy', 'lru,arc'], '--policy is lru,arc; without --policy-only use one of lru and arc'],
    [['--capacity', '10'], '--capacity belongs to --policy-only'],
    [['--staging-bytes', '1024'], '--staging-bytes is 1024, less than one page of 4096 bytes (--page-bytes)'],
    [['--pool-page', '5'], "unknown option '--pool-page'"],
  ])('%j', async (argv, message) => {
    const { status, out, err } = await simulated(...argv);
    expect(status).toBe(2);
    expect(out).toBe('');
    expect(err).toContain(message);
    expect(err).not.toMatch(/^ +at /m);
  });

  it('includes commands', async () => {
    const { status, err } = await runCli(['reply']);
    expect(status).toBe(2);
    expect(err).toContain("unknown command 'reply'");
  });
});

describe('files that cannot be', () => {
  const cases: [name: string, content: string | Uint8Array, message: string][] = [
    ['nothing.jsonl', '', ': file: expected a trace, got an empty file'],
    ['none.jsonl', `${HEADER}\n`, ': file: expected at least one request, got none'],
    ['binary.jsonl', Uint8Array.of(1, 2, 0, 255, 10, 7), ':1: line: expected text, got a NUL byte'],
    [
      'field.jsonl',
      `${HEADER}\n${requestLine('a', [1])}\n{"id":"b","prompt_tokens":"20","output_tokens":1,"blocks":[]}\n`,
      ':3: prompt_tokens: expected a whole number from 1 to 2147483647, got "20"',
    ],
    [
      'cut.jsonl',
      `${HEADER}\n${requestLine('a', [1, 2]).slice(0, -5)}`,
      ':2: line: expected one JSON object, got one that the end of the file cuts off',
    ],
    [
      'refs.lis',
      '1 5 0 0\n9 2 0 1\n',
      ': format: expected requests, got page references; replay them with --policy-only',
    ],
  ];

  it.each(cases)('%s', async (name, content, message) => {
    const file = folder.write(name, content);
    const { status, out, err } = await simulated(file, '--json');
    expect({ status, out }).toEqual({ status: 2, out: '' });
    expect(err).toContain(`pagefence: ${file}${message}`);
  });

  it('missing ones, before any other is read', async () => {
    const { status, err } = await simulated(
      folder.write('later.jsonl', 'no trace'),
      `${folder.path}/absent.jsonl`,
    );
    expect(status).toBe(2);
    expect(err).toBe(
      `pagefence: ${folder.path}/absent.jsonl: file: expected a file that can be read, got no such file\n`,
    );
  });

  it('of different block sizes', async () => {
    const one = folder.write('one.jsonl', `${HEADER}\n${requestLine('a', [1])}\n`);
    const other = folder.write(
      'other.jsonl',
      '{"timestamp":0,"input_length":600,"output_length":1,"hash_ids":[1,2]}\n',
    );
    const { status, err } = await simulated(one, other);
    expect(status).toBe(2);
    expect(err).toContain(
      `${one} has blocks of 16 tokens and ${other} of 512; replay traces of one block size at a time`,
    );
  });

  it('are skipped by line and counted with --skip-bad-lines', async () => {
    const file = folder.write(
      'holes.jsonl',
      [HEADER, requestLine('a', [1]), 'nonsense', requestLine('b', [1, 2]), '{"id":""}', ''].join('\n'),
    );
    const { status, out, err } = await simulated(file, '--skip-bad-lines');
    expect(status).toBe(0);
    expect(err).toContain('2 bad lines skipped, the first:');
    expect(err).toContain(`  ${file}:3: line: expected one JSON object, got text that is not JSON: nonsense`);
    expect(out).toContain('2 replayed, 0 refused, 2 bad lines skipped');
    const json = await simulated(file, '--skip-bad-lines', '--json');
    expect(JSON.parse(json.out)).toMatchObject({ requests: 2, linesSkipped: 2 });
  });
});
