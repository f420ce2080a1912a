import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  cacheFolder,
  fillFolderOnce,
  findSoftwarePackage,
  packageAround,
} from '../../../src/runtime/software-package.ts';

describe('findSoftwarePackage', () => {
  it('is for Linux on x64 only', async () => {
    expect(await findSoftwarePackage({ platform: 'darwin', arch: 'arm64' })).toBeUndefined();
    expect(await findSoftwarePackage({ platform: 'linux', arch: 'arm64' })).toBeUndefined();
  });

  it('finds the installed package with its archives', async () => {
    const found = await findSoftwarePackage({ platform: 'linux', arch: 'x64' });
    expect(found?.version).toMatch(/^\d+\.\d+\.\d+/);
    expect(existsSync(join(found!.archives, 'swiftshader.tar.br'))).toBe(true);
  });
});

describe('packageAround', () => {
  it.each(['build/index.js', 'build/cjs/index.cjs', 'index.js'])('finds the root above %s', async (main) => {
    const root = await mkdtemp(join(tmpdir(), 'pagefence-test-'));
    try {
      await mkdir(join(root, 'build', 'cjs'), { recursive: true });
      await writeFile(join(root, 'build', 'cjs', 'package.json'), '{"type":"commonjs"}');
      await writeFile(join(root, 'package.json'), '{"name":"@sparticuz/chromium","version":"1.2.3"}');
      expect(await packageAround(join(root, main))).toEqual({
        version: '1.2.3',
        archives: join(root, 'bin'),
      });
    } finally {
      await rm(root, { recursive: true });
    }
  });

  it('finds nothing where no such package lies above', async () => {
    expect(await packageAround(join(tmpdir(), 'nowhere', 'index.js'))).toBeUndefined();
  });
});

describe('cacheFolder', () => {
  it('follows XDG_CACHE_HOME, and falls back to ~/.cache where it is unset or empty', () => {
    expect(cacheFolder({ XDG_CACHE_HOME: join('/', 'my', 'cache') })).toBe(
      join('/', 'my', 'cache', 'pagefence'),
    );
    expect(cacheFolder({})).toMatch(/\.cache.pagefence$/);
    expect(cacheFolder({ XDG_CACHE_HOME: '' })).toBe(cacheFolder({}));
  });
});

describe('fillFolderOnce', () => {
  let place: string;
  beforeEach(async () => {
    place = await mkdtemp(join(tmpdir(), 'pagefence-test-'));
  });
  afterEach(() => rm(place, { recursive: true }));

  it('fills a folder, with those above it, once', async () => {
    const folder = join(place, 'a', 'b');
    let calls = 0;
    const fill = (temporary: string) => writeFile(join(temporary, 'file'), String(++calls));
    await fillFolderOnce(folder, fill);
    await fillFolderOnce(folder, fill);
    expect(await readFile(join(folder, 'file'), 'utf8')).toBe('1');
    expect(await readdir(join(place, 'a'))).toEqual(['b']);
  });

  it('leaves one whole folder where several fill it at once', async () => {
    const folder = join(place, 'shared');
    const fillers = Array.from({ length: 8 }, (_, writer) =>
      fillFolderOnce(folder, async (temporary) => {
        await writeFile(join(temporary, 'first'), String(writer));
        await writeFile(join(temporary, 'second'), String(writer));
      }),
    );
    await Promise.all(fillers);
    expect(await readdir(place)).toEqual(['shared']);
    const files = ['first', 'second'].map((name) => readFile(join(folder, name), 'utf8'));
    expect(new Set(await Promise.all(files)).size).toBe(1);
  });

  it('leaves nothing behind where filling fails', async () => {
    const folder = join(place, 'broken');
    const filling = fillFolderOnce(folder, async (temporary) => {
      await mkdir(join(temporary, 'half'));
      throw new Error('disk full');
    });
    await expect(filling).rejects.toThrow('disk full');
    expect(await readdir(place)).toEqual([]);
  });

  it('says which variable to set where the folder cannot be made', async () => {
    await writeFile(join(place, 'file'), '');
    const filling = fillFolderOnce(join(place, 'file', 'below'), () => Promise.resolve());
    await expect(filling).rejects.toThrow(/XDG_CACHE_HOME/);
  });
});
