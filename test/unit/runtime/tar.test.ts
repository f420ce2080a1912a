import { describe, expect, it } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { readTar } from '../../../src/runtime/tar.ts';

interface Entry {
  path: string;
  content?: string;
  mode?: string;
  type?: string;
  prefix?: string;
}

/** An archive of the given entries, with the two blocks of zeros at its end. */
function tar(entries: readonly Entry[]): Uint8Array {
  const encoder = new TextEncoder();
  const blocks: number[] = [];
  for (const { path, content = '', mode = '0000644', type = '0', prefix = '' } of entries) {
    const header = new Uint8Array(512);
    const bytes = encoder.encode(content);
    const put = (text: string, at: number) => header.set(encoder.encode(text), at);
    put(path, 0);
    put(mode, 100);
    put(bytes.length.toString(8).padStart(11, '0'), 124);
    put(type, 156);
    put(prefix, 345);
    const padding = new Uint8Array((512 - (bytes.length % 512)) % 512);
    blocks.push(...header, ...bytes, ...padding);
  }
  return Uint8Array.from([...blocks, ...new Uint8Array(1024)]);
}

const summary = (archive: Uint8Array) =>
  readTar(archive).map((file) => [file.path, file.executable, new TextDecoder().decode(file.bytes)]);

describe('readTar', () => {
  it('reads files and passes over folders', () => {
    const archive = tar([
      { path: 'lib/', type: '5', mode: '0000755' },
      { path: 'lib/a.so', content: 'x'.repeat(513), mode: '0000755' },
      { path: 'b.json', content: '{}' },
    ]);
    expect(summary(archive)).toEqual([
      ['lib/a.so', true, 'x'.repeat(513)],
      ['b.json', false, '{}'],
    ]);
  });

  it.each([0, 1, 511, 512, 513])('reads a file of %i bytes, and the one behind it', (size) => {
    const archive = tar([
      { path: 'a', content: 'y'.repeat(size) },
      { path: 'b', content: 'z' },
    ]);
    expect(summary(archive)).toEqual([
      ['a', false, 'y'.repeat(size)],
      ['b', false, 'z'],
    ]);
  });

  it('joins the two parts of a long path', () => {
    expect(summary(tar([{ path: 'c', prefix: 'a/b', content: '1' }]))).toEqual([['a/b/c', false, '1']]);
  });

  it('reads an empty archive', () => {
    expect(readTar(tar([]))).toEqual([]);
    expect(readTar(new Uint8Array(0))).toEqual([]);
  });

  it('refuses paths that lead outside', () => {
    expect(() => readTar(tar([{ path: '../a' }]))).toThrow(InputError);
    expect(() => readTar(tar([{ path: 'a/../../b' }]))).toThrow(/leads outside/);
    expect(() => readTar(tar([{ path: '/etc/passwd' }]))).toThrow(/leads outside/);
    expect(summary(tar([{ path: 'a..b' }]))).toHaveLength(1);
  });

  it('refuses links, and an archive that is cut off', () => {
    expect(() => readTar(tar([{ path: 'a', type: '2' }]))).toThrow(/type "2"/);
    const archive = tar([{ path: 'a', content: 'x'.repeat(600) }]);
    expect(() => readTar(archive.subarray(0, 1100))).toThrow(/cut off/);
    expect(readTar(archive.subarray(0, 1112))).toHaveLength(1);
  });
});
