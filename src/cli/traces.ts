/** The traces that a command was given, or the one that comes with the package. */
import { ConfigError } from '../errors.ts';
import type { BadLines } from '../trace/bad-lines.ts';
import { IdSpace } from '../trace/id-space.ts';
import { openTraceFile } from '../trace/open-file.node.ts';
import { readTrace, type TraceFile } from '../trace/read-trace.ts';
import type { TraceRequest } from '../trace/trace-request.ts';

export interface TraceInput {
  readonly files: readonly TraceFile[];
  /** Whether this is the package's own sample, because no file was named. */
  readonly bundled: boolean;
}

const SAMPLE_NAME = 'bundled sample';

/** Throws `InputError` for the first file that is not there or may not be read, before any is read. */
export async function openTraces(paths: readonly string[]): Promise<TraceInput> {
  if (paths.length > 0) return { files: await Promise.all(paths.map(openTraceFile)), bundled: false };
  // As text in the code: the installed package has no folder of data.
  const { default: text } = await import('../../demo/public/sample.pagefence.jsonl?raw');
  return { files: [{ name: SAMPLE_NAME, chunks: text }], bundled: true };
}

/** What `--skip-bad-lines` skipped, as lines for people; nothing where nothing was. */
export function skippedNotes(badLines: BadLines): string[] {
  if (badLines.count === 0) return [];
  return [
    `${badLines.count} bad lines skipped, the first:`,
    ...badLines.messages.map((message) => `  ${message}`),
  ];
}

export interface ReadRequestsOptions {
  readonly badLines: BadLines;
  /** Requests to read, over all files. */
  readonly limit: number;
  readonly signal: AbortSignal;
}

/**
 * The requests of all files, one after the other, read whole: a replay shows how many are left. Throws `InputError`
 * for what cannot be read and `ConfigError` where two files differ in their block size.
 */
export async function readRequests(
  files: readonly TraceFile[],
  options: ReadRequestsOptions,
): Promise<TraceRequest[]> {
  const { badLines, limit, signal } = options;
  const ids = new IdSpace();
  const requests: TraceRequest[] = [];
  for (const file of files) {
    for await (const request of readTrace(file, { ids, badLines })) {
      requireBlockSize(request, requests[0]);
      requests.push(request);
      if (requests.length >= limit || signal.aborted) return requests;
    }
  }
  return requests;
}

function requireBlockSize(request: TraceRequest, first: TraceRequest | undefined): void {
  if (first === undefined || first.blockTokens === request.blockTokens) return;
  throw new ConfigError(
    `${first.source.file} has blocks of ${first.blockTokens} tokens and ${request.source.file} of ${request.blockTokens}; ` +
      'replay traces of one block size at a time',
  );
}
