/** Any trace of requests, whatever its format, one request at a time. */
import { InputError } from '../errors.ts';
import { readAgentSession } from './agent-sessions.ts';
import { BadLines } from './bad-lines.ts';
import { detectFormat, HEAD_LINES, type TraceFormat } from './detect.ts';
import { IdSpace } from './id-space.ts';
import { lineBatches, type Line, type TraceChunks } from './line-batches.ts';
import { MooncakeReader } from './mooncake.ts';
import { PagefenceReader } from './pagefence-format.ts';
import type { TraceRequest } from './trace-request.ts';

export interface TraceFile {
  /** Used in messages and in the requests' `source`. */
  readonly name: string;
  readonly chunks: TraceChunks;
}

export interface ReadOptions {
  /** Give the same one for all files of a run, so that equal blocks get equal ids. */
  readonly ids?: IdSpace;
  /** Default: the first bad line is thrown. */
  readonly badLines?: BadLines;
  /** Longer lines are bad. Default 64 MiB. */
  readonly lineBytesMax?: number;
}

export interface OpenedTrace {
  readonly format: TraceFormat;
  /** All lines that are not blank, the first ones included. */
  readonly batches: AsyncGenerator<Line[], void, undefined>;
}

/**
 * Requests of a trace in file order. Throws `InputError` (`file:line: field: expected ..., got ...`) for a bad line,
 * a file that is no trace of requests, and a trace in which no request is found.
 *
 * @example
 * ```ts
 * import { readTrace } from 'pagefence';
 *
 * const chunks = '{"format":"pagefence-trace","version":1,"block_tokens":4}\n' +
 *   '{"id":"a","prompt_tokens":8,"output_tokens":1,"blocks":[0,1]}\n';
 * for await (const { id, promptTokens } of readTrace({ name: 'inline', chunks })) console.log(id, promptTokens); // a 8
 * ```
 */
export async function* readTrace(
  file: TraceFile,
  options: ReadOptions = {},
): AsyncGenerator<TraceRequest, void, undefined> {
  const badLines = options.badLines ?? new BadLines({ skip: false });
  const { format, batches } = await openTrace(file, options);
  yield* requestsOf(file.name, { format, batches }, { ids: options.ids ?? new IdSpace(), badLines });
}

/** Reads as far as it takes to tell the format. Throws `InputError` where there is nothing, or nothing known. */
export async function openTrace(
  file: TraceFile,
  options: Pick<ReadOptions, 'lineBytesMax'> = {},
): Promise<OpenedTrace> {
  const batches = withoutBlankLines(lineBatches(file.chunks, options));
  let head: Line[] = [];
  while (head.length < HEAD_LINES) {
    const { done, value } = await batches.next();
    if (done) break;
    head = head.concat(value);
  }
  if (head.length === 0) throw new InputError(`${file.name}: file: expected a trace, got an empty file`);
  try {
    return { format: detectFormat(file.name, head), batches: prepended(head, batches) };
  } catch (error) {
    await batches.return();
    throw error;
  }
}

/** Requests of an opened trace. */
export async function* requestsOf(
  file: string,
  trace: OpenedTrace,
  options: { ids: IdSpace; badLines: BadLines },
): AsyncGenerator<TraceRequest, void, undefined> {
  const skippedBefore = options.badLines.count;
  let found = 0;
  for await (const request of formatReader(file, trace, options)) {
    found += 1;
    yield request;
  }
  if (found === 0) throw noneFound(file, 'request', options.badLines, skippedBefore);
}

/** The error for a trace that has a format and nothing in it. */
export function noneFound(file: string, what: string, badLines: BadLines, skippedBefore: number): InputError {
  const skipped = badLines.count - skippedBefore;
  const reason =
    skipped > 0 ? `; ${skipped} bad lines were skipped, the first: ${badLines.messages[0] ?? ''}` : '';
  return new InputError(`${file}: file: expected at least one ${what}, got none${reason}`);
}

async function* formatReader(
  file: string,
  trace: OpenedTrace,
  options: { ids: IdSpace; badLines: BadLines },
): AsyncGenerator<TraceRequest, void, undefined> {
  const { ids, badLines } = options;
  switch (trace.format) {
    case 'mooncake': {
      const reader = new MooncakeReader(file, ids);
      for await (const batch of trace.batches) yield* readLines(batch, reader, badLines);
      return;
    }
    case 'pagefence': {
      let reader: PagefenceReader | null = null;
      for await (const batch of trace.batches) {
        const lines = reader ? batch : batch.slice(1);
        // A header that cannot be read is never skipped: without it no line has a meaning.
        reader ??= new PagefenceReader(file, ids, batch[0]);
        yield* readLines(lines, reader, badLines);
      }
      return;
    }
    case 'agent-session': {
      const parts: Line[][] = [];
      for await (const batch of trace.batches) parts.push(batch);
      yield* readAgentSession({ file, lines: parts.flat(), ids, badLines });
      return;
    }
    case 'references': {
      await trace.batches.return();
      throw new InputError(
        `${file}: format: expected requests, got page references; replay them with --policy-only`,
      );
    }
  }
}

function* readLines(
  lines: readonly Line[],
  reader: { read(line: Line): TraceRequest },
  badLines: BadLines,
): Generator<TraceRequest, void, undefined> {
  for (const line of lines) {
    const request = badLines.guard(() => reader.read(line));
    if (request) yield request;
  }
}

async function* withoutBlankLines(
  batches: AsyncGenerator<Line[], void, undefined>,
): AsyncGenerator<Line[], void, undefined> {
  for await (const batch of batches) {
    const lines = batch.filter((line) => line.fault !== null || line.text.trim() !== '');
    if (lines.length > 0) yield lines;
  }
}

async function* prepended(
  head: Line[],
  batches: AsyncGenerator<Line[], void, undefined>,
): AsyncGenerator<Line[], void, undefined> {
  try {
    yield head;
    yield* batches;
  } finally {
    await batches.return();
  }
}
