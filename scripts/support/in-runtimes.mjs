/** One command in every WebGPU runtime: by the command line in Node and Deno, by a page of the demo in a browser. */
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build, runnerImport } from 'vite';
import { findDeno } from './deno.mjs';
import { splitRuntimes, UsageError } from './parameters.mjs';

/** @typedef {'node' | 'browser' | 'deno'} RuntimeName */
/**
 * @template Result
 * @typedef {{ name: string, result: Result } | { name: string, missing: string }} Column A runtime that was run, or why it was not
 */
/** @typedef {{ argv: readonly string[], page: import('./run-page.ts').PageToRun }} Work The same work as a command and as a page */

export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
/** @type {RuntimeName[]} */
const RUNTIMES = ['node', 'browser', 'deno'];
const OUTPUT_BYTES_MAX = 64 * 2 ** 20;

/**
 * Runs the work in the runtimes that the parameters ask for, one after the other, prints it by `print` or as JSON, and
 * sets the exit status: 1 where `failed` says so or where a runtime that was asked for is missing; with CI=true every
 * runtime is.
 *
 * @template Result
 * @param {Work & {
 *   print: (columns: readonly Column<Result>[]) => string | Promise<string>,
 *   failed?: (result: Result) => boolean,
 * }} work
 */
export async function inRuntimes({ argv, page, print, failed = () => false }) {
  try {
    const { chosen, rest } = splitRuntimes(process.argv.slice(2), RUNTIMES);
    const unknown = rest.find((parameter) => parameter !== '--json');
    if (unknown !== undefined) throw new UsageError(`${unknown}: use --runtime NAME and --json only`);
    const columns = /** @type {Column<Result>[]} */ (
      await run(chosen.length > 0 ? chosen : RUNTIMES, { argv, page })
    );
    console.log(rest.includes('--json') ? JSON.stringify(columns, null, 2) : await print(columns));
    const mustRun = process.env.CI === 'true' || chosen.length > 0;
    const bad = columns.some((column) => ('result' in column ? failed(column.result) : mustRun));
    process.exitCode = bad ? 1 : 0;
  } catch (error) {
    console.error(error instanceof Error ? error.message : String(error));
    process.exitCode = error instanceof UsageError ? 2 : 1;
  }
}

/**
 * @param {readonly RuntimeName[]} names
 * @param {Work} work
 */
async function run(names, { argv, page }) {
  process.chdir(root);
  const folder = join(root, '.cache', page.page);
  const command = join(folder, 'command');
  await build({
    root,
    configFile: join(root, 'vite.config.ts'),
    logLevel: 'error',
    build: { outDir: command, sourcemap: false },
  });
  const cli = [join(command, 'cli.js'), ...argv, '--json'];
  const ways = {
    node: () => runCommand(process.execPath, cli),
    deno: () => {
      const deno = findDeno();
      if (deno === undefined) throw new Error('no Deno found; run: npm install deno');
      return runCommand(deno, ['run', '-A', ...cli]);
    },
    browser: async () =>
      (await importTypeScript('scripts/support/run-page.ts')).runPage(root, join(folder, 'page'), page),
  };
  const columns = [];
  for (const name of names) {
    console.error(`${name} …`);
    try {
      columns.push({ name, result: await ways[name]() });
    } catch (error) {
      columns.push({ name, missing: error instanceof Error ? error.message : String(error) });
    }
  }
  return columns;
}

/**
 * A status of 1 with a result means that the result is bad.
 *
 * @param {string} program
 * @param {readonly string[]} argv
 */
async function runCommand(program, argv) {
  const { stdout, stderr } = await promisify(execFile)(program, argv, { maxBuffer: OUTPUT_BYTES_MAX }).catch(
    (error) => error,
  );
  try {
    // Dawn writes its warnings to standard output.
    return JSON.parse(stdout.trimEnd().split('\n').at(-1));
  } catch {
    throw new Error(stderr || `no result from ${program}`);
  }
}

/**
 * A module of this repository. Node 20 does not read TypeScript by itself.
 *
 * @param {string} path
 */
export async function importTypeScript(path) {
  const { module } = await runnerImport(join(root, path), { root, configFile: false, logLevel: 'error' });
  return module;
}
