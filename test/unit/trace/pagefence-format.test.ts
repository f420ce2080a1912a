import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { IdSpace } from '../../../src/trace/id-space.ts';
import { formatPagefenceTrace } from '../../../src/trace/pagefence-format.ts';
import { messageOf, readAll, readSkipping } from './helpers.ts';

const HEADER = '{"format":"pagefence-trace","version":1,"block_tokens":16}';

function line(fields: Record<string, unknown> = {}): string {
  return JSON.stringify({
    id: 'a',
    arrival_ms: 3,
    prompt_tokens: 40,
    output_tokens: 2,
    blocks: [7, 8],
    ...fields,
  });
}

describe('pagefence traces', () => {
  it('become requests', async () => {
    const text = `${HEADER}\n${line()}\n${line({ id: 'b', arrival_ms: undefined, blocks: [7, 8, 9], note: 'extra' })}\n`;
    expect(await readAll([text])).toEqual([
      {
        id: 'a',
        ordinal: 0,
        blocks: Uint32Array.of(0, 1),
        blockTokens: 16,
        promptTokens: 40,
        outputTokens: 2,
        arrivalMs: 3,
        source: { file: 'f', line: 2, index: 0 },
      },
      {
        id: 'b',
        ordinal: 1,
        blocks: Uint32Array.of(0, 1, 2),
        blockTokens: 16,
        promptTokens: 40,
        outputTokens: 2,
        arrivalMs: null,
        source: { file: 'f', line: 3, index: 1 },
      },
    ]);
  });

  it('share ids within a scope only', async () => {
    const ids = new IdSpace();
    const scoped = HEADER.replace('}', ',"scope":"x"}');
    const [a] = await readAll([`${scoped}\n${line()}`], { ids });
    const [b] = await readAll([`${scoped}\n${line()}`], { ids });
    const [c] = await readAll([`${HEADER}\n${line()}`], { ids });
    expect([...a.blocks, ...b.blocks, ...c.blocks]).toEqual([0, 1, 0, 1, 2, 3]);
  });

  it.each([
    ['another format', '{"format":"x"}', 'f:1: format: expected "pagefence-trace", got "x"'],
    ['another version', HEADER.replace('1,', '2,'), 'f:1: version: expected 1, got 2'],
    [
      'no block size',
      '{"format":"pagefence-trace","version":1}',
      'f:1: block_tokens: expected a whole number from 1 to 2147483647, got nothing',
    ],
    [
      'an empty scope',
      HEADER.replace('}', ',"scope":""}'),
      'f:1: scope: expected a name that is not empty, got ""',
    ],
    [
      'a header that is not JSON',
      '{"format":"pagefence-trace",}',
      'f:1: line: expected one JSON object, got text that is not JSON: {"format":"pagefence-trace",}',
    ],
  ])('refuse a header with %s, bad lines skipped or not', async (_name, header, expected) => {
    const text = [`${header}\n${line()}\n`];
    expect(await messageOf(text)).toBe(`InputError: ${expected}`);
    await expect(readSkipping(text)).rejects.toThrow(expected);
  });

  it.each([
    ['no name', line({ id: undefined }), 'id: expected a name that is not empty, got nothing'],
    ['a name twice', line({ id: 'first' }), 'id: expected a name of its own, got "first", which line 2 has'],
    ['a negative time', line({ arrival_ms: -3 }), 'arrival_ms: expected a number of at least 0, got -3'],
    [
      'no prompt',
      line({ prompt_tokens: 0 }),
      'prompt_tokens: expected a whole number from 1 to 2147483647, got 0',
    ],
    [
      'a block too few',
      line({ blocks: [1] }),
      "blocks: expected 2 ids, or 3 with the partial block's, for blocks of 16 in 40 tokens, got 1",
    ],
    [
      'a block too many',
      line({ prompt_tokens: 32, blocks: [1, 2, 3] }),
      'blocks: expected 2 ids for blocks of 16 in 32 tokens, got 3',
    ],
    ['blocks that are none', line({ blocks: null }), 'blocks: expected an array of block ids, got null'],
    [
      'a cut-off end',
      line().slice(0, 20),
      `line: expected one JSON object, got one that the end of the file cuts off: ${line().slice(0, 20)}`,
    ],
  ])('refuse a request with %s', async (_name, bad, expected) => {
    expect(await messageOf([`${HEADER}\n${line({ id: 'first' })}\n${bad}`])).toBe(
      `InputError: f:3: ${expected}`,
    );
  });

  it('refuse a header alone', async () => {
    expect(await messageOf([`${HEADER}\n`])).toBe(
      'InputError: f: file: expected at least one request, got none',
    );
  });

  it('come back as they were written', async () => {
    const request = fc.record({
      promptTokens: fc.integer({ min: 1, max: 100 }),
      outputTokens: fc.nat(100),
      arrivalMs: fc.option(fc.nat(10_000)),
      withPartial: fc.boolean(),
      seed: fc.array(fc.nat(5), { minLength: 100, maxLength: 100 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { minLength: 1 }),
        fc.integer({ min: 1, max: 20 }),
        async (drawn, blockTokens) => {
          const written = drawn.map(({ withPartial, seed, ...rest }, index) => {
            const count = rest.promptTokens / blockTokens;
            return {
              ...rest,
              id: `r${index}`,
              blocks: Uint32Array.from(seed.slice(0, withPartial ? Math.ceil(count) : Math.floor(count))),
            };
          });
          const read = await readAll([formatPagefenceTrace({ blockTokens, note: 'n' }, written)]);
          // Global ids count up in order of first sight; the pattern of equal ids is what a trace says.
          const ids = new IdSpace();
          expect(
            read.map(({ id, promptTokens, outputTokens, arrivalMs, blocks }) => ({
              id,
              promptTokens,
              outputTokens,
              arrivalMs,
              blocks,
            })),
          ).toEqual(written.map((each) => ({ ...each, blocks: ids.blockIds('', [...each.blocks]) })));
        },
      ),
      { numRuns: 50 },
    );
  });
});
