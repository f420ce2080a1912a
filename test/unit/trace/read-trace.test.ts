import { describe, expect, it } from 'vitest';
import { BadLines } from '../../../src/trace/bad-lines.ts';
import { IdSpace } from '../../../src/trace/id-space.ts';
import { readTrace } from '../../../src/trace/read-trace.ts';
import { promptTokensOf, TAIL_TOKEN_FIRST } from '../../../src/trace/trace-request.ts';
import { messageOf, mooncakeLine, readAll, readSkipping } from './helpers.ts';

const UNKNOWN =
  'format: expected a pagefence trace, Mooncake JSONL, an agent session or page references, got';

describe('readTrace', () => {
  it.each([
    ['an empty file', '', 'f: file: expected a trace, got an empty file'],
    ['a blank file', '\n \r\n\n', 'f: file: expected a trace, got an empty file'],
    ['another JSON file', '{"name": "x"}\n', `f:1: ${UNKNOWN} {"name": "x"}`],
    ['a text', '\nDear reader,\n', `f:2: ${UNKNOWN} Dear reader,`],
    ['numbers', '1 2 3\n', `f:1: ${UNKNOWN} 1 2 3`],
    [
      'page references',
      '1 2 0 0\n',
      'f: format: expected requests, got page references; replay them with --policy-only',
    ],
    [
      'a binary file',
      '\u007FELF\0\0\0',
      'f:1: line: expected text, got a NUL byte; the file is binary or not UTF-8',
    ],
  ])('refuses %s', async (_name, text, expected) => {
    expect(await messageOf([text])).toBe(`InputError: ${expected}`);
  });

  it('takes a byte order mark, CRLF, blank lines and any chunks', async () => {
    const text = `\uFEFF\r\n${mooncakeLine()}\r\n\r\n${mooncakeLine()}\r\n`;
    expect((await readAll([text])).map(({ source }) => source.line)).toEqual([2, 4]);
    expect(await readAll(text)).toHaveLength(2);
  });

  it('reads what a browser gives: a stream of a file', async () => {
    const file = new Blob([mooncakeLine(), '\n', mooncakeLine()]);
    expect(await readAll(file.stream())).toHaveLength(2);
  });

  it('refuses a line over the limit', async () => {
    const long = mooncakeLine({ padding: 'x'.repeat(200) });
    expect(await messageOf([`${mooncakeLine()}\n${long}\n`], { lineBytesMax: 200 })).toBe(
      `InputError: f:2: line: expected at most 200 bytes, got ${long.length}`,
    );
  });

  it('skips and counts bad lines where that is asked for, and keeps the first messages', async () => {
    const bad = Array.from({ length: 7 }, () => '{"timestamp":');
    const { requests, count, messages } = await readSkipping([
      [...bad, mooncakeLine(), '\0', mooncakeLine()].join('\n'),
    ]);
    expect(requests.map(({ ordinal, source }) => [ordinal, source.line, source.index])).toEqual([
      [0, 8, 7],
      [1, 10, 9],
    ]);
    expect(count).toBe(8);
    expect(messages).toHaveLength(5);
    expect(messages[0]).toBe('f:1: line: expected one JSON object, got text that is not JSON: {"timestamp":');
  });

  it('says so where every line was skipped', async () => {
    await expect(readSkipping(['{"timestamp":1}\n'])).rejects.toThrow(
      'f: file: expected at least one request, got none; 1 bad lines were skipped, the first: f:1: input_length: ' +
        'expected a whole number from 1 to 2147483647, got nothing',
    );
  });

  it('never skips an error that is not about a line', () => {
    const badLines = new BadLines({ skip: true });
    expect(() =>
      badLines.guard(() => {
        throw new RangeError('x');
      }),
    ).toThrow(RangeError);
    expect(badLines.count).toBe(0);
  });

  it('gives its source back when reading stops early', async () => {
    let cancelled = false;
    const encoder = new TextEncoder();
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        controller.enqueue(encoder.encode(`${mooncakeLine()}\n`));
      },
      cancel: () => {
        cancelled = true;
      },
    });
    for await (const request of readTrace({ name: 'f', chunks: stream })) {
      expect(request.ordinal).toBe(0);
      break;
    }
    expect(cancelled).toBe(true);
  });
});

describe('IdSpace', () => {
  it('refuses more blocks than it can tell apart', () => {
    const ids = new IdSpace({ blockIdsMax: 2 });
    expect([...ids.blockIds('a', [5, 5, 9])]).toEqual([0, 0, 1]);
    expect(() => ids.blockIds('b', [5])).toThrow(
      'the traces have more than 2 distinct blocks; read fewer files at once',
    );
  });
});

describe('promptTokensOf', () => {
  it.each([
    ['full blocks', { blocks: [3, 4], promptTokens: 4 }, [3, 3, 4, 4]],
    ['a partial block with an id', { blocks: [3, 4], promptTokens: 3 }, [3, 3, 4]],
    ['a tail without an id', { blocks: [3], promptTokens: 3 }, [3, 3, TAIL_TOKEN_FIRST + 6]],
    ['no block at all', { blocks: [], promptTokens: 1 }, [TAIL_TOKEN_FIRST + 6]],
  ])('repeats ids over %s', (_name, { blocks, promptTokens }, expected) => {
    const tokens = promptTokensOf({
      blocks: Uint32Array.from(blocks),
      blockTokens: 2,
      promptTokens,
      ordinal: 6,
    });
    expect([...tokens]).toEqual(expected);
  });
});
