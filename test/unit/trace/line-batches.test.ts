import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineBatches, type Line, type TraceChunks } from '../../../src/trace/line-batches.ts';

async function linesOf(chunks: TraceChunks, lineBytesMax?: number): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const batch of lineBatches(chunks, { lineBytesMax })) lines.push(...batch);
  return lines;
}

async function textsOf(chunks: TraceChunks): Promise<string[]> {
  return (await linesOf(chunks)).map((line) => line.text);
}

const bytes = (...values: number[]): Uint8Array => Uint8Array.from(values);

describe('lineBatches', () => {
  it.each([
    ['nothing', [], []],
    ['empty chunks', ['', ''], []],
    ['one line', ['a\n'], ['a']],
    ['no line end at the end', ['a\nb'], ['a', 'b']],
    ['blank lines', ['\n\na\n\n'], ['', '', 'a', '']],
    ['CRLF', ['a\r\nb\r\n'], ['a', 'b']],
    ['CRLF cut in the middle', ['a\r', '\nb'], ['a', 'b']],
    ['a line over several chunks', ['a', 'b', 'c\nd', 'e\n'], ['abc', 'de']],
    ['a byte order mark', ['\uFEFFa\n\uFEFFb\n'], ['a', '\uFEFFb']],
    ['only a byte order mark', ['\uFEFF'], ['']],
  ])('cuts %s', async (_name, chunks, expected) => {
    expect(await textsOf(chunks)).toEqual(expected);
  });

  it('numbers lines from 1 and knows whether the last one is ended', async () => {
    const lines = await linesOf(['a\nb\n', 'c']);
    expect(lines.map(({ number, ended }) => [number, ended])).toEqual([
      [1, true],
      [2, true],
      [3, false],
    ]);
  });

  it('gives the same lines however the bytes are cut', async () => {
    const text = fc
      .array(fc.constantFrom('a', '\n', '\r\n', 'ü', '\u{1F4A7}', '€'))
      .map((parts) => parts.join(''));
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.nat(40)), async (whole, cuts) => {
        const encoded = new TextEncoder().encode(whole);
        const places = [0, ...cuts.map((cut) => Math.min(cut, encoded.length)), encoded.length].sort(
          (a, b) => a - b,
        );
        const chunks = places.slice(1).map((end, index) => encoded.slice(places[index], end));
        const expected = whole.split('\n').map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line));
        if (whole.endsWith('\n') || whole === '') expected.pop();
        expect(await textsOf(chunks)).toEqual(expected);
      }),
    );
  });

  it.each([
    [
      'a NUL byte',
      [bytes(97, 10, 98, 0, 10, 99, 10)],
      'expected text, got a NUL byte; the file is binary or not UTF-8',
    ],
    [
      'bytes that are not UTF-8',
      [bytes(97, 10, 0xff, 0xfe, 10, 99, 10)],
      'expected UTF-8 text, got bytes that are not; the file is binary or in another encoding',
    ],
    [
      'a character that a line end cuts',
      [bytes(97, 10, 0xe2, 0x82, 10, 99, 10)],
      'expected UTF-8 text, got bytes that are not; the file is binary or in another encoding',
    ],
    ['a long line', ['a\n123456789\nc\n'], 'expected at most 8 bytes, got 9'],
    [
      'a long line over many chunks',
      ['a\n12345', '67890', '1234', '5\nc', '\n'],
      'expected at most 8 bytes, got 15',
    ],
  ])('names %s and goes on behind it', async (_name, chunks: (Uint8Array | string)[], fault) => {
    const lines = await linesOf(chunks, 8);
    expect(lines.map(({ text, fault: found }) => [text, found])).toEqual([
      ['a', null],
      ['', fault],
      ['c', null],
    ]);
  });

  it('takes a line of exactly the limit', async () => {
    expect((await linesOf(['12345678\n', '1234', '5678'], 8)).map((line) => line.fault)).toEqual([
      null,
      null,
    ]);
  });

  it('recognises gzip by its first bytes', async () => {
    const [line] = await linesOf([bytes(0x1f, 0x8b, 8, 0, 10, 1)]);
    expect(line?.fault).toBe('expected text, got gzip-compressed bytes; decompress the file first');
  });

  it('keeps what it needs of a chunk whose buffer is used again', async () => {
    const buffer = new Uint8Array(2);
    function* reusing(): Generator<Uint8Array> {
      for (const pair of ['ab', 'cd', 'e\n']) {
        new TextEncoder().encodeInto(pair, buffer);
        yield buffer;
      }
    }
    expect(await textsOf(reusing())).toEqual(['abcde']);
  });

  it('cancels a stream that is not read to its end', async () => {
    let cancelled = false;
    const stream = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        controller.enqueue(bytes(97, 10));
      },
      cancel: () => {
        cancelled = true;
      },
    });
    for await (const batch of lineBatches(stream)) {
      expect(batch[0]?.text).toBe('a');
      break;
    }
    expect(cancelled).toBe(true);
    expect(stream.locked).toBe(false);
  });
});
