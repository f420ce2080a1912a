import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join } from 'node:path';
import process from 'node:process';

const executable = process.platform === 'win32' ? 'deno.exe' : 'deno';

/**
 * Deno's executable: the one in the npm package for this platform (its `deno` command needs an install script that
 * npm may not have run), else one on the path.
 *
 * @returns {string | undefined}
 */
export function findDeno() {
  const libc = process.platform === 'linux' ? '-glibc' : '';
  try {
    const manifest = `@deno/${process.platform}-${process.arch}${libc}/package.json`;
    return join(dirname(createRequire(import.meta.url).resolve(manifest)), executable);
  } catch {
    const folders = (process.env.PATH ?? '').split(delimiter);
    return folders.map((folder) => join(folder, executable)).find((path) => existsSync(path));
  }
}

/**
 * The name of Deno's adapter. Throws what Deno said where it has none.
 *
 * @param {string} deno
 */
export function denoAdapter(deno) {
  const script = new URL('print-adapter.ts', import.meta.url).pathname;
  try {
    return execFileSync(deno, ['run', '-A', script], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    }).trim();
  } catch (error) {
    const { stderr } = /** @type {{ stderr?: string }} */ (error);
    throw new Error(stderr?.trim() || String(error), { cause: error });
  }
}
