/**
 * Mooncake's trace format: one request a line, with the ids of its 512-token blocks. An id stands for the block and
 * everything before it. The last, partial block of a prompt has an id too.
 */
import { z } from 'zod';
import { ceilDiv } from '../units.ts';
import { blockIdList, check, jsonOf, placeOf, time, tokenCount, unexpected } from './expectation.ts';
import type { IdSpace } from './id-space.ts';
import type { Line } from './line-batches.ts';
import type { TraceRequest } from './trace-request.ts';

export const MOONCAKE_BLOCK_TOKENS = 512;

/** Ids have one namespace over all Mooncake files of a run, so a trace may be cut into several files. */
const SCOPE = 'mooncake';

const lineSchema = z.object(
  {
    timestamp: time,
    input_length: tokenCount(1),
    output_length: tokenCount(0),
    hash_ids: blockIdList,
  },
  'a JSON object',
);

export class MooncakeReader {
  private readonly file: string;
  private readonly ids: IdSpace;
  private nextIndex = 0;

  constructor(file: string, ids: IdSpace) {
    this.file = file;
    this.ids = ids;
  }

  /** Throws `InputError` that names the line and the field. */
  read(line: Line): TraceRequest {
    const index = this.nextIndex;
    this.nextIndex += 1;
    const place = placeOf(this.file, line);
    const fields = check(lineSchema, jsonOf(this.file, line), place);
    const blocks = ceilDiv(fields.input_length, MOONCAKE_BLOCK_TOKENS);
    if (fields.hash_ids.length !== blocks) {
      const rule = `one for each ${MOONCAKE_BLOCK_TOKENS} of ${fields.input_length} tokens`;
      throw unexpected(place, 'hash_ids', `${blocks} ids, ${rule}`, String(fields.hash_ids.length));
    }
    return {
      id: `${this.file}:${line.number}`,
      blocks: this.ids.blockIds(SCOPE, fields.hash_ids),
      ordinal: this.ids.takeOrdinal(),
      blockTokens: MOONCAKE_BLOCK_TOKENS,
      promptTokens: fields.input_length,
      outputTokens: fields.output_length,
      arrivalMs: fields.timestamp,
      source: { file: this.file, line: line.number, index },
    };
  }
}
