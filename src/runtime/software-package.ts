/**
 * The npm package `@sparticuz/chromium`, as a source of files: a Chromium and a software Vulkan driver for Linux on
 * x64 that need no system package. Its archives are unpacked here, once, into the user's cache folder; its code,
 * which unpacks into the shared temporary folder, is not run.
 */
import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { pipeline } from 'node:stream/promises';
import { brotliDecompressSync, createBrotliDecompress } from 'node:zlib';
import { DeviceError } from '../errors.ts';
import { missingPermission } from './permission.ts';
import { readTar } from './tar.ts';

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

export const SOFTWARE_PACKAGE = '@sparticuz/chromium';
/** The package with the major version that the tests run on. */
export const SOFTWARE_PACKAGE_SPEC = `${SOFTWARE_PACKAGE}@153`;

export interface SoftwarePackage {
  readonly version: string;
  /** The folder of its archives. */
  readonly archives: string;
}

/** The installed package, looked up from this file and from the working directory; undefined where it is missing. */
export async function findSoftwarePackage(
  host: { platform: string; arch: string } = process,
): Promise<SoftwarePackage | undefined> {
  if (host.platform !== 'linux' || host.arch !== 'x64') return undefined;
  for (const from of [import.meta.url, join(process.cwd(), 'package.json')]) {
    let main: string;
    try {
      main = createRequire(from).resolve(SOFTWARE_PACKAGE);
    } catch (error) {
      if (missingPermission(error)) throw error;
      continue;
    }
    return packageAround(main);
  }
  return undefined;
}

/** Versions differ in how deep their main file lies, so the package is found by its name. */
export async function packageAround(main: string): Promise<SoftwarePackage | undefined> {
  for (let folder = dirname(main); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (!existsSync(manifest)) continue;
    const { name, version } = JSON.parse(await readFile(manifest, 'utf8')) as {
      name?: string;
      version?: string;
    };
    if (name === SOFTWARE_PACKAGE && version !== undefined) return { version, archives: join(folder, 'bin') };
  }
  return undefined;
}

/** Where unpacked files are kept: `pagefence` in the user's cache folder (`XDG_CACHE_HOME`, or `~/.cache`). */
export function cacheFolder(env: Environment = process.env): string {
  return join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'pagefence');
}

/**
 * Makes `folder` by filling a temporary one beside it and renaming that, so that several processes may do so at once
 * and none sees a half-filled folder. Does nothing where the folder exists.
 */
export async function fillFolderOnce(
  folder: string,
  fill: (temporary: string) => Promise<void>,
): Promise<void> {
  if (existsSync(folder)) return;
  let temporary: string;
  try {
    await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
    temporary = await mkdtemp(`${folder}.`);
  } catch (error) {
    throw new DeviceError(`${folder} cannot be made; set XDG_CACHE_HOME to a folder that can be written`, {
      cause: error,
    });
  }
  try {
    await fill(temporary);
    await rename(temporary, folder);
  } catch (error) {
    await rm(temporary, { recursive: true, force: true });
    // Renaming over a folder that somebody else has filled meanwhile fails, and theirs is as good.
    if (!existsSync(folder)) throw error;
  }
}

/** Unpacks a `.tar.br` archive into a folder; with `only`, just the files of these names. */
export async function unpackTar(archive: string, folder: string, only?: readonly string[]): Promise<void> {
  for (const file of readTar(brotliDecompressSync(await readFile(archive)))) {
    if (only !== undefined && !only.includes(file.path)) continue;
    const target = join(folder, file.path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, file.bytes, { mode: file.executable ? 0o755 : 0o644 });
  }
}

/** Unpacks a single brotli-compressed executable. */
export async function unpackExecutable(archive: string, target: string): Promise<void> {
  await pipeline(
    createReadStream(archive),
    createBrotliDecompress({ chunkSize: 2 ** 20 }),
    createWriteStream(target, { mode: 0o755 }),
  );
}
