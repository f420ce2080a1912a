import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll } from 'vitest';
import type { CliIo } from '../../../src/cli/io.ts';
import { main } from '../../../src/cli/main.ts';
import { acquireAdapter } from '../../../src/runtime/acquire.ts';

export class TextSink extends Writable {
  text = '';
  isTTY = false;
  /** Called after each write, with all text so far. */
  onText: ((text: string) => void) | null = null;

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk.toString();
    this.onText?.(this.text);
    done();
  }
}

export interface CliRun {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

/** One command line in this process. `adapt` changes the streams before it starts. */
export async function runCli(
  argv: readonly string[],
  adapt: (io: FakeIo) => void = () => undefined,
): Promise<CliRun> {
  const io = new FakeIo();
  adapt(io);
  const status = await main(argv, io);
  return { status, out: io.stdout instanceof TextSink ? io.stdout.text : '', err: io.stderr.text };
}

export class FakeIo implements CliIo {
  stdout: Writable = new TextSink();
  readonly stderr = new TextSink();
  private handler: (() => void) | null = null;

  onInterrupt(handler: () => void): () => void {
    this.handler = handler;
    return () => {
      this.handler = null;
    };
  }

  interrupt(): void {
    const { handler } = this;
    this.handler = null;
    handler?.();
  }
}

/** Interrupts a command as soon as it can be. */
export function interruptAtOnce(io: FakeIo): void {
  io.onInterrupt = (handler) => {
    handler();
    return () => undefined;
  };
}

/** Whether this machine has an adapter, if only a software one. */
export const hasAdapter = (): Promise<boolean> =>
  acquireAdapter().then(
    () => true,
    () => false,
  );

/** A folder for files of one test file; it goes when its tests are over. */
export function temporaryFolder(): {
  write(name: string, content: string | Uint8Array): string;
  readonly path: string;
} {
  const path = mkdtempSync(join(tmpdir(), 'pagefence-cli-'));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  return {
    path,
    write: (name, content) => {
      const file = join(path, name);
      writeFileSync(file, content);
      return file;
    },
  };
}

export const HEADER = '{"format":"pagefence-trace","version":1,"block_tokens":16}';

/** A line of a pagefence trace: a prompt of these whole blocks of 16 tokens and 4 tokens more. */
export function requestLine(id: string, blocks: readonly number[]): string {
  return JSON.stringify({ id, prompt_tokens: blocks.length * 16 + 4, output_tokens: 3, blocks });
}
