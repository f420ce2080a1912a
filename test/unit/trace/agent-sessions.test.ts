import { describe, expect, it } from 'vitest';
import { IdSpace } from '../../../src/trace/id-space.ts';
import { messageOf, readAll, readSkipping } from './helpers.ts';

const TOKENS = 'a whole number from 1 to 2147483647';

function request(fields: Record<string, unknown> = {}): Record<string, unknown> {
  return { t: 1.5, type: 'n', in: 150, out: 9, hash_ids: [1, 2], api_time: 2, think_time: 0, ...fields };
}

function session(requests: unknown, fields: Record<string, unknown> = {}): string {
  return JSON.stringify({
    id: 's',
    models: ['m'],
    block_size: 64,
    hash_id_scope: 'local',
    requests,
    ...fields,
  });
}

describe('agent sessions', () => {
  it('become requests', async () => {
    const [first, second] = await readAll([
      session([request(), request({ t: 2, in: 63, out: 0, hash_ids: [] })]),
    ]);
    expect(first).toEqual({
      id: 's:0',
      ordinal: 0,
      blocks: Uint32Array.of(0, 1),
      blockTokens: 64,
      promptTokens: 150,
      outputTokens: 9,
      arrivalMs: 1500,
      source: { file: 'f', line: null, index: 0 },
    });
    expect(second).toMatchObject({ id: 's:1', ordinal: 1, blocks: new Uint32Array(0), promptTokens: 63 });
  });

  it('are read over many lines, too', async () => {
    const text = JSON.stringify(JSON.parse(session([request()])), null, 2).replaceAll('\n', '\r\n');
    expect(await readAll([text])).toHaveLength(1);
  });

  it('keep the ids of different sessions apart, and those of one session together', async () => {
    const ids = new IdSpace();
    const [a] = await readAll([session([request()])], { ids });
    const [b] = await readAll([session([request()], { id: 'other' })], { ids });
    const [again] = await readAll([session([request()])], { ids });
    expect([a?.blocks, b?.blocks, again?.blocks].map((blocks) => [...blocks])).toEqual([
      [0, 1],
      [2, 3],
      [0, 1],
    ]);
    expect(again?.ordinal).toBe(2);
  });

  it("have a subagent's requests where they stand, with the session's ids", async () => {
    const subagent = { t: 3, type: 'subagent', agent_id: 'a', requests: [request({ hash_ids: [2, 3] })] };
    const requests = await readAll([session([request(), subagent, request()])]);
    expect(requests.map((each) => [...each.blocks])).toEqual([
      [0, 1],
      [1, 2],
      [0, 1],
    ]);
  });

  it.each([
    [
      'a document that is cut off',
      session([request()]).slice(0, 90),
      `f:1: line: expected one JSON document, got one that the end of the file cuts off: ...${session([request()]).slice(50, 90)}`,
    ],
    [
      'a document that is not JSON',
      '{"block_size": 64,}',
      'f:1: line: expected one JSON document, got text that is not JSON: {"block_size": 64,}',
    ],
    [
      'a document without requests',
      '{"id": "s", "block_size": 64}',
      'f: requests: expected an array of requests, got nothing',
    ],
    ['requests that are no array', session({}), 'f: requests: expected an array of requests, got an object'],
    ['no requests', session([]), 'f: file: expected at least one request, got none'],
    ['no name', session([request()], { id: '' }), 'f: id: expected a name that is not empty, got ""'],
    [
      'blocks of nothing',
      session([request()], { block_size: 0 }),
      `f: block_size: expected ${TOKENS}, got 0`,
    ],
    ['a request that is none', session([request(), 5]), 'f: requests[1]: expected a JSON object, got 5'],
    [
      'a missing field',
      session([request({ in: undefined })]),
      `f: requests[0].in: expected ${TOKENS}, got nothing`,
    ],
    [
      'an id that is none',
      session([request({ hash_ids: [1, null] })]),
      'f: requests[0].hash_ids[1]: expected a whole number from 0 to 9007199254740991, got null',
    ],
    [
      'an id for the partial block',
      session([request({ hash_ids: [1, 2, 3] })]),
      'f: requests[0].hash_ids: expected 2 ids, one for each full block of 64 in 150 tokens, got 3',
    ],
    [
      "a subagent's bad request",
      session([{ type: 'subagent', requests: [request({ out: -1 })] }]),
      'f: requests[0].requests[0].out: expected a whole number from 0 to 2147483647, got -1',
    ],
    [
      'a NUL byte',
      `${session([request()])}\n\0`,
      'f:2: line: expected text, got a NUL byte; the file is binary or not UTF-8',
    ],
  ])('refuse %s', async (_name, text, expected) => {
    expect(await messageOf([text])).toBe(`InputError: ${expected}`);
  });

  it('skip bad requests where that is asked for', async () => {
    const { requests, count, messages } = await readSkipping([session([request({ in: 0 }), request()])]);
    expect(requests.map(({ id, ordinal }) => [id, ordinal])).toEqual([['s:1', 0]]);
    expect(count).toBe(1);
    expect(messages).toEqual([`f: requests[0].in: expected ${TOKENS}, got 0`]);
  });
});
