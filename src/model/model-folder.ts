/** Model files in a folder, for Node and Deno. */
import type * as FileSystem from 'node:fs/promises';
import type * as Path from 'node:path';
import type * as Url from 'node:url';
import { ConfigError, InputError } from '../errors.ts';
import type { ModelFiles } from './load.ts';

/** `readFile` ends at 2 GiB; weights do not. */
const CHUNK_BYTES = 2 ** 30;

export function filesInFolder(folder: string | URL): ModelFiles {
  // Imports would put modules of Node's into the bundles of pages.
  const fs = builtin('node:fs/promises') as typeof FileSystem;
  const paths = builtin('node:path') as typeof Path;
  const url = builtin('node:url') as typeof Url;
  const isAddress = folder instanceof URL || folder.startsWith('file:');
  const path = isAddress ? url.fileURLToPath(folder) : folder;
  return { name: path, read: (file) => readWhole(fs, paths.join(path, file)) };
}

function builtin(name: string): unknown {
  const { process } = globalThis as { process?: { getBuiltinModule?: (name: string) => unknown } };
  const found = process?.getBuiltinModule?.(name);
  if (found !== undefined) return found;
  throw new ConfigError('there are no folders here; give the address of the model, or its files');
}

async function readWhole(fs: typeof FileSystem, path: string): Promise<ArrayBuffer | null> {
  try {
    const handle = await fs.open(path, 'r');
    try {
      const { size } = await handle.stat();
      const bytes = new Uint8Array(size);
      for (let at = 0; at < size;) {
        const { bytesRead } = await handle.read(bytes, at, Math.min(CHUNK_BYTES, size - at), at);
        if (bytesRead === 0) throw new InputError(`${path}: it became shorter while it was read`);
        at += bytesRead;
      }
      return bytes.buffer;
    } finally {
      await handle.close();
    }
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    if (error instanceof InputError) throw error;
    throw new InputError(`${path}: it cannot be read (${message})`, { cause: error });
  }
}
