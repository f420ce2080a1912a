import { BadLines } from '../../../src/trace/bad-lines.ts';
import { readTrace, type ReadOptions } from '../../../src/trace/read-trace.ts';
import type { TraceChunks } from '../../../src/trace/line-batches.ts';
import type { TraceRequest } from '../../../src/trace/trace-request.ts';

export async function readAll(chunks: TraceChunks, options: ReadOptions = {}): Promise<TraceRequest[]> {
  const requests: TraceRequest[] = [];
  for await (const request of readTrace({ name: 'f', chunks }, options)) requests.push(request);
  return requests;
}

/** The error's message; a text without line end stands for a file with these bytes. */
export async function messageOf(chunks: TraceChunks, options: ReadOptions = {}): Promise<string> {
  try {
    await readAll(chunks, options);
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`;
  }
  return 'no error';
}

export async function readSkipping(
  chunks: TraceChunks,
): Promise<{ requests: TraceRequest[]; count: number; messages: string[] }> {
  const badLines = new BadLines({ skip: true });
  const requests = await readAll(chunks, { badLines });
  return { requests, count: badLines.count, messages: badLines.messages };
}

/** A Mooncake line with as many fresh ids as the length asks for. */
export function mooncakeLine(fields: Record<string, unknown> = {}): string {
  return JSON.stringify({ timestamp: 5, input_length: 600, output_length: 7, hash_ids: [10, 11], ...fields });
}
