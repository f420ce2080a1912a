/**
 * Bytes to lines. Knows nothing of formats; finds what is not text. Lines come in batches, one for each chunk that
 * completes any, because one await a line would dominate the reading of a million short lines.
 */

/** Bytes cut anywhere, or text cut between characters: `File.stream()`, a Node stream, a string, several strings. */
export type TraceChunks =
  string | ReadableStream<Uint8Array> | AsyncIterable<Uint8Array | string> | Iterable<Uint8Array | string>;

export interface Line {
  /** Counted from 1. */
  readonly number: number;
  /** Without the line end. Empty where `fault` is set. */
  readonly text: string;
  /** Why the line could not be read, in the words `expected ..., got ...`; else `null`. */
  readonly fault: string | null;
  /** `false`: the file ends without a line end after it. */
  readonly ended: boolean;
}

/** Longer lines are refused before they are held in memory as a whole. */
export const LINE_BYTES_MAX = 64 * 2 ** 20;

const NEWLINE = 0x0a;

/** Lines of the chunks. A byte order mark is dropped, CRLF counts as one line end. */
export async function* lineBatches(
  chunks: TraceChunks,
  options: { lineBytesMax?: number } = {},
): AsyncGenerator<Line[], void, undefined> {
  const cutter = new LineCutter(options.lineBytesMax ?? LINE_BYTES_MAX);
  for await (const chunk of iterate(chunks)) {
    const lines = cutter.push(typeof chunk === 'string' ? new TextEncoder().encode(chunk) : chunk);
    if (lines.length > 0) yield lines;
  }
  const rest = cutter.end();
  if (rest.length > 0) yield rest;
}

/** Not every browser can iterate a `ReadableStream`, hence its reader. Gives the source back on early exit. */
async function* iterate(chunks: TraceChunks): AsyncGenerator<Uint8Array | string, void, undefined> {
  if (typeof chunks === 'string') {
    yield chunks;
    return;
  }
  if (!('getReader' in chunks)) {
    yield* chunks;
    return;
  }
  const reader = chunks.getReader();
  let drained = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      drained = done;
      if (done) return;
      yield value;
    }
  } finally {
    if (!drained) await reader.cancel();
    reader.releaseLock();
  }
}

class LineCutter {
  private readonly lineBytesMax: number;
  private readonly decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  /** Bytes of the unfinished line. Nothing once it is longer than `lineBytesMax`. */
  private pending: Uint8Array[] = [];
  private pendingBytes = 0;
  private nextNumber = 1;

  constructor(lineBytesMax: number) {
    this.lineBytesMax = lineBytesMax;
  }

  /** Lines that the chunk completes. */
  push(chunk: Uint8Array): Line[] {
    const lastEnd = chunk.lastIndexOf(NEWLINE);
    if (lastEnd < 0) {
      this.keep(chunk);
      return [];
    }
    const lines: Line[] = [];
    let start = 0;
    if (this.pendingBytes > 0) {
      // The line that began in earlier chunks goes alone, so that its length can be judged.
      start = chunk.indexOf(NEWLINE) + 1;
      this.keep(chunk.subarray(0, start - 1));
      this.finishPending(lines, true);
    }
    if (start <= lastEnd) this.decode(chunk.subarray(start, lastEnd), lines);
    this.keep(chunk.subarray(lastEnd + 1));
    return lines;
  }

  /** What is left when the bytes end. */
  end(): Line[] {
    const lines: Line[] = [];
    if (this.pendingBytes > 0) this.finishPending(lines, false);
    return lines;
  }

  private keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.pendingBytes += bytes.length;
    // A copy: the source may reuse its buffer for the next chunk.
    if (this.pendingBytes <= this.lineBytesMax) this.pending.push(bytes.slice());
    else this.pending = [];
  }

  private finishPending(lines: Line[], ended: boolean): void {
    const size = this.pendingBytes;
    if (size > this.lineBytesMax) {
      this.add(lines, '', this.tooLong(size), ended);
    } else {
      const line = new Uint8Array(size);
      let offset = 0;
      for (const part of this.pending) {
        line.set(part, offset);
        offset += part.length;
      }
      this.addBytes(line, lines, ended);
    }
    this.pending = [];
    this.pendingBytes = 0;
  }

  /** Whole lines at once where all is text, which is nearly always; else line by line, to find the faulty ones. */
  private decode(bytes: Uint8Array, lines: Line[]): void {
    const text = bytes.includes(0) ? null : this.tryDecode(bytes);
    if (text !== null && bytes.length <= this.lineBytesMax) {
      for (const line of text.split('\n')) this.add(lines, line, null, true);
      return;
    }
    let start = 0;
    for (;;) {
      const end = bytes.indexOf(NEWLINE, start);
      this.addBytes(bytes.subarray(start, end < 0 ? bytes.length : end), lines, true);
      if (end < 0) return;
      start = end + 1;
    }
  }

  private addBytes(bytes: Uint8Array, lines: Line[], ended: boolean): void {
    const text = this.tryDecode(bytes);
    let fault = null;
    if (bytes.length > this.lineBytesMax) fault = this.tooLong(bytes.length);
    else if (this.nextNumber === 1 && bytes[0] === 0x1f && bytes[1] === 0x8b) {
      fault = 'expected text, got gzip-compressed bytes; decompress the file first';
    } else if (bytes.includes(0)) {
      fault = 'expected text, got a NUL byte; the file is binary or not UTF-8';
    } else if (text === null) {
      fault = 'expected UTF-8 text, got bytes that are not; the file is binary or in another encoding';
    }
    this.add(lines, fault === null ? (text ?? '') : '', fault, ended);
  }

  private add(lines: Line[], raw: string, fault: string | null, ended: boolean): void {
    let text = raw;
    if (this.nextNumber === 1 && text.startsWith('\uFEFF')) text = text.slice(1);
    if (text.endsWith('\r')) text = text.slice(0, -1);
    lines.push({ number: this.nextNumber, text, fault, ended });
    this.nextNumber += 1;
  }

  private tryDecode(bytes: Uint8Array): string | null {
    try {
      return this.decoder.decode(bytes);
    } catch {
      return null;
    }
  }

  private tooLong(bytes: number): string {
    return `expected at most ${this.lineBytesMax} bytes, got ${bytes}`;
  }
}
