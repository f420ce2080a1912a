import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, it } from 'vitest';
import { openTraceFile } from '../../../src/trace/open-file.node.ts';
import { readTrace } from '../../../src/trace/read-trace.ts';
import { mooncakeLine } from './helpers.ts';

const folder = mkdtempSync(join(tmpdir(), 'pagefence-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

function write(name: string, content: string | Uint8Array): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

async function read(path: string, limit = Infinity): Promise<number> {
  let requests = 0;
  for await (const request of readTrace(await openTraceFile(path))) {
    expect(request.source.file).toBe(path);
    requests += 1;
    if (requests === limit) break;
  }
  return requests;
}

const TEXT = `${mooncakeLine()}\n`.repeat(5000);

describe('openTraceFile', () => {
  it('reads plain and compressed files, whatever their names', async () => {
    expect(await read(write('plain.gz', TEXT))).toBe(5000);
    expect(await read(write('compressed', gzipSync(TEXT)))).toBe(5000);
  });

  it('can be left early', async () => {
    expect(await read(write('early', TEXT), 3)).toBe(3);
    expect(await read(write('early.gz', gzipSync(TEXT)), 3)).toBe(3);
  });

  it('names what cannot be read', async () => {
    const missing = join(folder, 'missing');
    const plain = write('under', TEXT);
    await expect(openTraceFile(missing)).rejects.toThrow(
      `${missing}: file: expected a file that can be read, got no such file`,
    );
    await expect(openTraceFile(join(plain, 'x'))).rejects.toThrow('got no such file');
    await expect(openTraceFile(folder)).rejects.toThrow(
      `${folder}: file: expected a trace file, got a directory; name the files in it`,
    );
  });

  it('names a file that may not be read', async (context) => {
    if (process.getuid?.() === 0) context.skip('this user may read every file');
    const path = write('secret', TEXT);
    chmodSync(path, 0);
    await expect(openTraceFile(path)).rejects.toThrow(
      `${path}: file: expected a file that can be read, got permission denied`,
    );
  });

  it('names a file that is gone when reading begins', async () => {
    const path = write('gone', TEXT);
    const file = await openTraceFile(path);
    rmSync(path);
    await expect(readTrace(file).next()).rejects.toThrow(`${path}: file: expected a file that can be read`);
  });

  it.each([
    ['truncated', gzipSync(TEXT).subarray(0, 60)],
    ['damaged', Uint8Array.of(0x1f, 0x8b, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9)],
  ])('names gzip data that is %s', async (name, content) => {
    const path = write(`${name}.gz`, content);
    await expect(read(path)).rejects.toThrow(`${path}: file: expected whole gzip data, got `);
    await expect(read(path)).rejects.toMatchObject({ name: 'InputError' });
  });
});
