import { describe, expect, it } from 'vitest';
import { messageOf, mooncakeLine, readAll } from './helpers.ts';

const GOOD = mooncakeLine();
const TOKENS = 'a whole number from 1 to 2147483647';
const ID = 'a whole number from 0 to 9007199254740991';

describe('Mooncake JSONL', () => {
  it('becomes requests', async () => {
    const text = `${GOOD}\n${mooncakeLine({ timestamp: 8, input_length: 1024, output_length: 0, hash_ids: [10, 12] })}\n`;
    expect(await readAll([text])).toEqual([
      {
        id: 'f:1',
        ordinal: 0,
        blocks: Uint32Array.of(0, 1),
        blockTokens: 512,
        promptTokens: 600,
        outputTokens: 7,
        arrivalMs: 5,
        source: { file: 'f', line: 1, index: 0 },
      },
      {
        id: 'f:2',
        ordinal: 1,
        blocks: Uint32Array.of(0, 2),
        blockTokens: 512,
        promptTokens: 1024,
        outputTokens: 0,
        arrivalMs: 8,
        source: { file: 'f', line: 2, index: 1 },
      },
    ]);
  });

  it.each([
    [
      'malformed JSON',
      '{"timestamp": 5,,}\n',
      'line: expected one JSON object, got text that is not JSON: {"timestamp": 5,,}',
    ],
    [
      'a cut-off last line',
      GOOD.slice(0, 40),
      `line: expected one JSON object, got one that the end of the file cuts off: ${GOOD.slice(0, 40)}`,
    ],
    [
      'a cut-off line in the middle',
      `${GOOD.slice(0, 40)}\n`,
      `line: expected one JSON object, got text that is not JSON: ${GOOD.slice(0, 40)}`,
    ],
    ['an array', '[1]\n', 'line: expected a JSON object, got an array of 1'],
    ['a number', '17\n', 'line: expected a JSON object, got 17'],
    ['null', 'null\n', 'line: expected a JSON object, got null'],
    [
      'a missing field',
      '{"timestamp": 5, "input_length": 3, "hash_ids": [1]}',
      'output_length: expected a whole number from 0 to 2147483647, got nothing',
    ],
    ['a wrong type', mooncakeLine({ input_length: '600' }), `input_length: expected ${TOKENS}, got "600"`],
    ['a negative length', mooncakeLine({ input_length: -600 }), `input_length: expected ${TOKENS}, got -600`],
    ['a fraction', mooncakeLine({ input_length: 600.5 }), `input_length: expected ${TOKENS}, got 600.5`],
    [
      'an empty prompt',
      mooncakeLine({ input_length: 0, hash_ids: [] }),
      `input_length: expected ${TOKENS}, got 0`,
    ],
    [
      'an immense prompt',
      mooncakeLine({ input_length: 2 ** 31 }),
      `input_length: expected ${TOKENS}, got 2147483648`,
    ],
    [
      'a negative time',
      mooncakeLine({ timestamp: -1 }),
      'timestamp: expected a number of at least 0, got -1',
    ],
    [
      'ids that are no array',
      mooncakeLine({ hash_ids: 3 }),
      'hash_ids: expected an array of block ids, got 3',
    ],
    ['a fractional id', mooncakeLine({ hash_ids: [1, 2.5] }), `hash_ids[1]: expected ${ID}, got 2.5`],
    ['a negative id', mooncakeLine({ hash_ids: [-1, 2] }), `hash_ids[0]: expected ${ID}, got -1`],
    ['an id that is text', mooncakeLine({ hash_ids: [1, 'x'] }), `hash_ids[1]: expected ${ID}, got "x"`],
    [
      'an id past 2^53',
      mooncakeLine({ hash_ids: [1, 2 ** 53] }),
      `hash_ids[1]: expected ${ID}, got 9007199254740992`,
    ],
    [
      'no ids',
      mooncakeLine({ hash_ids: [] }),
      'hash_ids: expected 2 ids, one for each 512 of 600 tokens, got 0',
    ],
    [
      'an id too many',
      mooncakeLine({ input_length: 512 }),
      'hash_ids: expected 1 ids, one for each 512 of 512 tokens, got 2',
    ],
    [
      'an id too few',
      mooncakeLine({ input_length: 1025 }),
      'hash_ids: expected 3 ids, one for each 512 of 1025 tokens, got 2',
    ],
    ['a NUL byte', `${GOOD}\0\n`, 'line: expected text, got a NUL byte; the file is binary or not UTF-8'],
  ])('refuses %s', async (_name, line, expected) => {
    expect(await messageOf([`${GOOD}\n\n${line}`])).toBe(`InputError: f:3: ${expected}`);
  });

  it('shows long values in part', async () => {
    const long = mooncakeLine({ timestamp: 'x'.repeat(100) });
    expect(await messageOf([long])).toBe(
      `InputError: f:1: timestamp: expected a number of at least 0, got "${'x'.repeat(59)}... (102 characters)`,
    );
  });
});
