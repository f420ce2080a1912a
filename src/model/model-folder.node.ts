/** Model files in a folder, for Node and Deno. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InputError } from '../errors.ts';
import type { ModelFiles } from './load.ts';

/** `readFile` ends at 2 GiB; weights do not. */
const CHUNK_BYTES = 2 ** 30;

export function filesInFolder(folder: string | URL): ModelFiles {
  const isAddress = folder instanceof URL || folder.startsWith('file:');
  const path = isAddress ? fileURLToPath(folder) : folder;
  return { name: path, read: (file) => readWhole(join(path, file)) };
}

async function readWhole(path: string): Promise<ArrayBuffer | null> {
  try {
    const handle = await open(path, 'r');
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
