/** The streams and signals that the command uses; a test puts its own in place. */
import process from 'node:process';
import type { Writable } from 'node:stream';
import { PagefenceError } from '../errors.ts';

/** Exit status after a request to stop. */
export const STATUS_INTERRUPTED = 130;

export interface CliIo {
  readonly stdout: Writable;
  readonly stderr: Writable & { readonly isTTY?: boolean };
  /** Calls `handler` once, on the first request to stop; a second one is not held back. Returns how to undo it. */
  onInterrupt(handler: () => void): () => void;
}

/** The process's own. */
export function processIo(): CliIo {
  // Without a listener a failed write would end the process with a stack trace. `writeText` reports what matters.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  return {
    stdout: process.stdout,
    stderr: process.stderr,
    onInterrupt: (handler) => {
      process.once('SIGINT', handler);
      return () => process.off('SIGINT', handler);
    },
  };
}

/** A pipe whose reader has left: nobody wants the rest, and nothing is wrong. */
const CLOSED = new Set(['EPIPE', 'EOF', 'ERR_STREAM_DESTROYED', 'ERR_STREAM_WRITE_AFTER_END']);

/** Writes text and waits for it. Silent where the reader has left; throws `PagefenceError` where it cannot be written. */
export async function writeText(stream: Writable, text: string): Promise<void> {
  if (text === '') return;
  try {
    await new Promise<void>((resolve, reject) => {
      stream.once('error', reject);
      stream.write(text, (error) => {
        if (error) {
          reject(error);
          return;
        }
        stream.off('error', reject);
        resolve();
      });
    });
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    if (CLOSED.has(code)) return;
    throw new PagefenceError(
      `standard output could not be written (${message}); make room there, or send the output elsewhere`,
      { cause: error },
    );
  }
}
