/**
 * Sessions of a coding agent, as WEKA's kv-cache-tester publishes them: one JSON document a session. Ids are local to
 * the session and name full blocks only: `in % block_size` tokens at the end of a prompt belong to none.
 */
import { z } from 'zod';
import {
  blockIdList,
  check,
  excerpt,
  refuseFault,
  time,
  tokenCount,
  unexpected,
  type Place,
} from './expectation.ts';
import type { BadLines } from './bad-lines.ts';
import type { IdSpace } from './id-space.ts';
import type { Line } from './line-batches.ts';
import type { TraceRequest } from './trace-request.ts';

/** A document is parsed as one string, and some engines allow not much longer ones. */
const DOCUMENT_CHARS_MAX = 2 ** 28;

const NAME_MESSAGE = 'a name that is not empty';

const sessionSchema = z.object(
  {
    id: z.string(NAME_MESSAGE).min(1, NAME_MESSAGE),
    block_size: tokenCount(1),
    requests: z.array(z.unknown(), 'an array of requests'),
  },
  'a JSON object',
);

const requestSchema = z.object(
  { t: time, in: tokenCount(1), out: tokenCount(0), hash_ids: blockIdList },
  'a JSON object',
);

/** A subagent's requests stand within its parent's list and share the session's ids. */
const subagentSchema = z.object({ type: z.literal('subagent'), requests: z.array(z.unknown()) });

/** Requests of one session. Throws `InputError` for the document, or for a request unless `badLines` skips it. */
export function* readAgentSession(options: {
  file: string;
  lines: readonly Line[];
  ids: IdSpace;
  badLines: BadLines;
}): Generator<TraceRequest, void, undefined> {
  const { file, lines, ids, badLines } = options;
  const session = check(sessionSchema, documentOf(file, lines), { file, line: null, path: '' });
  let index = 0;
  for (const { value, path } of flattened(session.requests, 'requests')) {
    const place = { file, line: null, path };
    const request = badLines.guard(() => requestOf({ value, place, index, session, ids }));
    if (request) yield request;
    index += 1;
  }
}

function requestOf(options: {
  value: unknown;
  place: Place;
  index: number;
  session: { id: string; block_size: number };
  ids: IdSpace;
}): TraceRequest {
  const { value, place, index, session, ids } = options;
  const fields = check(requestSchema, value, place);
  const blocks = Math.floor(fields.in / session.block_size);
  if (fields.hash_ids.length !== blocks) {
    const rule = `one for each full block of ${session.block_size} in ${fields.in} tokens`;
    throw unexpected(place, 'hash_ids', `${blocks} ids, ${rule}`, String(fields.hash_ids.length));
  }
  return {
    id: `${session.id}:${index}`,
    blocks: ids.blockIds(`session:${session.id}`, fields.hash_ids),
    ordinal: ids.takeOrdinal(),
    blockTokens: session.block_size,
    promptTokens: fields.in,
    outputTokens: fields.out,
    arrivalMs: fields.t * 1000,
    source: { file: place.file, line: null, index },
  };
}

function* flattened(entries: readonly unknown[], path: string): Generator<{ value: unknown; path: string }> {
  for (const [index, value] of entries.entries()) {
    const subagent = subagentSchema.safeParse(value);
    if (subagent.success) yield* flattened(subagent.data.requests, `${path}[${index}].requests`);
    else yield { value, path: `${path}[${index}]` };
  }
}

function documentOf(file: string, lines: readonly Line[]): unknown {
  let chars = 0;
  for (const line of lines) {
    refuseFault(file, line);
    chars += line.text.length + 1;
    if (chars > DOCUMENT_CHARS_MAX) {
      const place = { file, line: line.number, path: '' };
      throw unexpected(place, '', `a document of at most ${DOCUMENT_CHARS_MAX} characters`, 'a longer one');
    }
  }
  const text = lines.map((line) => line.text).join('\n');
  try {
    return JSON.parse(text) as unknown;
  } catch {
    const place = { file, line: lines.at(-1)?.number ?? 1, path: '' };
    const tail = text.trimEnd();
    if (!tail.endsWith('}')) {
      const end = tail.length <= 40 ? tail : `...${tail.slice(-40)}`;
      throw unexpected(place, '', 'one JSON document', `one that the end of the file cuts off: ${end}`);
    }
    throw unexpected(
      { ...place, line: 1 },
      '',
      'one JSON document',
      `text that is not JSON: ${excerpt(text)}`,
    );
  }
}
