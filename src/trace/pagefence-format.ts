/** The trace format of this project: a header line, then one request a line. Documented in the README beside it. */
import { z } from 'zod';
import { ceilDiv } from '../units.ts';
import { blockIdList, check, jsonOf, placeOf, shown, time, tokenCount, unexpected } from './expectation.ts';
import type { IdSpace } from './id-space.ts';
import type { Line } from './line-batches.ts';
import type { TraceRequest } from './trace-request.ts';

export const PAGEFENCE_FORMAT = 'pagefence-trace';
export const PAGEFENCE_FORMAT_VERSION = 1;

const NAME_MESSAGE = 'a name that is not empty';
const name = z.string(NAME_MESSAGE).min(1, NAME_MESSAGE);

const headerSchema = z.object(
  {
    format: z.literal(PAGEFENCE_FORMAT, `"${PAGEFENCE_FORMAT}"`),
    version: z.literal(PAGEFENCE_FORMAT_VERSION, String(PAGEFENCE_FORMAT_VERSION)),
    block_tokens: tokenCount(1),
    scope: name.optional(),
    note: z.string('a text').optional(),
  },
  'a JSON object',
);

const requestSchema = z.object(
  {
    id: name,
    arrival_ms: time.optional(),
    prompt_tokens: tokenCount(1),
    output_tokens: tokenCount(0),
    blocks: blockIdList,
  },
  'a JSON object',
);

export interface PagefenceHeader {
  /** Tokens that one block stands for. */
  readonly blockTokens: number;
  /** Files of one scope share their block ids; without it a file's ids are its own. */
  readonly scope?: string;
  /** What the trace is, for people. */
  readonly note?: string;
}

export class PagefenceReader {
  readonly header: PagefenceHeader;
  private readonly file: string;
  private readonly ids: IdSpace;
  private readonly seenAtLine = new Map<string, number>();
  private nextIndex = 0;

  /** Throws `InputError` where the first line is not a header of this version. */
  constructor(file: string, ids: IdSpace, headerLine: Line) {
    this.file = file;
    this.ids = ids;
    const fields = check(headerSchema, jsonOf(file, headerLine), placeOf(file, headerLine));
    const { block_tokens: blockTokens, ...rest } = fields;
    this.header = { blockTokens, ...rest };
  }

  /** Throws `InputError` that names the line and the field. */
  read(line: Line): TraceRequest {
    const index = this.nextIndex;
    this.nextIndex += 1;
    const place = placeOf(this.file, line);
    const fields = check(requestSchema, jsonOf(this.file, line), place);
    const { blockTokens, scope } = this.header;
    const full = Math.floor(fields.prompt_tokens / blockTokens);
    const all = ceilDiv(fields.prompt_tokens, blockTokens);
    if (fields.blocks.length !== full && fields.blocks.length !== all) {
      const rule = `for blocks of ${blockTokens} in ${fields.prompt_tokens} tokens`;
      const counts = full === all ? `${full} ids` : `${full} ids, or ${all} with the partial block's,`;
      throw unexpected(place, 'blocks', `${counts} ${rule}`, String(fields.blocks.length));
    }
    const earlier = this.seenAtLine.get(fields.id);
    if (earlier !== undefined) {
      throw unexpected(place, 'id', 'a name of its own', `${shown(fields.id)}, which line ${earlier} has`);
    }
    this.seenAtLine.set(fields.id, line.number);
    return {
      id: fields.id,
      blocks: this.ids.blockIds(scope === undefined ? `file:${this.file}` : `scope:${scope}`, fields.blocks),
      ordinal: this.ids.takeOrdinal(),
      blockTokens,
      promptTokens: fields.prompt_tokens,
      outputTokens: fields.output_tokens,
      arrivalMs: fields.arrival_ms ?? null,
      source: { file: this.file, line: line.number, index },
    };
  }
}

/** The requests as a file of this format. All must have the header's `blockTokens`. */
export function formatPagefenceTrace(
  header: PagefenceHeader,
  requests: Iterable<Pick<TraceRequest, 'id' | 'arrivalMs' | 'promptTokens' | 'outputTokens' | 'blocks'>>,
): string {
  const { blockTokens, ...rest } = header;
  const head = {
    format: PAGEFENCE_FORMAT,
    version: PAGEFENCE_FORMAT_VERSION,
    block_tokens: blockTokens,
    ...rest,
  };
  const lines = [JSON.stringify(head)];
  for (const request of requests) {
    lines.push(
      JSON.stringify({
        id: request.id,
        // A key with the value `undefined` is left out.
        arrival_ms: request.arrivalMs ?? undefined,
        prompt_tokens: request.promptTokens,
        output_tokens: request.outputTokens,
        blocks: Array.from(request.blocks),
      }),
    );
  }
  return `${lines.join('\n')}\n`;
}
