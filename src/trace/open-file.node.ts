/** Trace files from the file system of Node or Deno, plain or gzip-compressed (told by content). */
import { constants, createReadStream } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { InputError } from '../errors.ts';
import type { TraceFile } from './read-trace.ts';

/**
 * A trace file to read, once. Throws `InputError` that names the path where there is no such file, where it is a
 * directory, and where it may not be read. Nothing stays open unless reading begins.
 */
export async function openTraceFile(path: string): Promise<TraceFile> {
  try {
    if ((await stat(path)).isDirectory()) {
      throw new InputError(`${path}: file: expected a trace file, got a directory; name the files in it`);
    }
    await access(path, constants.R_OK);
  } catch (error) {
    throw explained(path, error);
  }
  return { name: path, chunks: chunksOf(path) };
}

async function* chunksOf(path: string): AsyncGenerator<Uint8Array, void, undefined> {
  const file = createReadStream(path) as AsyncIterable<Uint8Array>;
  const chunks = file[Symbol.asyncIterator]();
  try {
    const first = await chunks.next();
    if (first.done) return;
    const rest = prepended(first.value, chunks);
    yield* isGzip(first.value) ? gunzipped(rest) : rest;
  } catch (error) {
    throw explained(path, error);
  } finally {
    await chunks.return?.();
  }
}

async function* prepended(
  first: Uint8Array,
  rest: AsyncIterator<Uint8Array>,
): AsyncGenerator<Uint8Array, void, undefined> {
  yield first;
  for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
}

function gunzipped(chunks: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  // The callback is empty because the iteration over the last stream throws what went wrong in any of them.
  return pipeline(Readable.from(chunks), createGunzip(), () => undefined);
}

/** The two bytes that begin every gzip file; UTF-8 text never has them. */
function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}

function explained(path: string, error: unknown): unknown {
  if (error instanceof InputError || !(error instanceof Error)) return error;
  const code = 'code' in error ? String(error.code) : '';
  if (code.startsWith('Z_')) {
    return new InputError(`${path}: file: expected whole gzip data, got ${error.message}`, { cause: error });
  }
  const got =
    { ENOENT: 'no such file', ENOTDIR: 'no such file', EACCES: 'permission denied' }[code] ?? error.message;
  return new InputError(`${path}: file: expected a file that can be read, got ${got}`, { cause: error });
}
