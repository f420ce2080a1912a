/**
 * npm run conformance: the conformance suite in every WebGPU runtime that this machine has, as one matrix.
 *
 *   npm run conformance                        everything
 *   npm run conformance -- --runtime deno      one of node, browser, deno; may be repeated
 *   npm run conformance -- --json              the results for a program to read, by runtime
 *
 * Exit status 1 where a case failed, or where a runtime that was asked for is missing; with CI=true every runtime is.
 */
import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build, runnerImport } from 'vite';
import { findDeno } from './support/deno.mjs';
import { matrix, notes } from './support/matrix.mjs';
import { splitRuntimes, UsageError } from './support/parameters.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const folder = join(root, '.cache', 'conformance');
/** @type {('node' | 'browser' | 'deno')[]} */
const RUNTIMES = ['node', 'browser', 'deno'];
const OUTPUT_BYTES_MAX = 64 * 2 ** 20;

/**
 * The command of this runtime, built like the library. A status of 1 with a result means failed cases.
 *
 * @param {string} program
 * @param {readonly string[]} prefix
 */
async function runCommand(program, prefix) {
  const argv = [...prefix, join(folder, 'command', 'cli.js'), 'conformance', '--json'];
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

const run = {
  node: () => runCommand(process.execPath, []),
  deno: () => {
    const deno = findDeno();
    if (deno === undefined) throw new Error('no Deno found; run: npm install deno');
    return runCommand(deno, ['run', '-A']);
  },
  browser: async () => {
    // Node 20 does not read TypeScript by itself.
    const { module } = await runnerImport(join(root, 'scripts/support/conformance-page.ts'), {
      root,
      configFile: false,
      logLevel: 'error',
    });
    return module.runInBrowser(root, join(folder, 'page'));
  },
};

async function main() {
  const { chosen, rest } = splitRuntimes(process.argv.slice(2), RUNTIMES);
  const unknown = rest.find((parameter) => parameter !== '--json');
  if (unknown !== undefined) throw new UsageError(`${unknown}: use --runtime NAME and --json only`);
  process.chdir(root);
  await build({
    root,
    configFile: join(root, 'vite.config.ts'),
    logLevel: 'error',
    build: { outDir: join(folder, 'command'), sourcemap: false },
  });
  const columns = [];
  for (const name of chosen.length > 0 ? chosen : RUNTIMES) {
    console.error(`${name} …`);
    try {
      columns.push({ name, result: await run[name]() });
    } catch (error) {
      columns.push({ name, missing: error instanceof Error ? error.message : String(error) });
    }
  }
  if (rest.includes('--json')) console.log(JSON.stringify(columns, null, 2));
  else {
    console.log(`\n${matrix(columns)}\n\nd: deviates, for the reasons below\n\n${notes(columns).join('\n')}`);
  }
  const mustRun = process.env.CI === 'true' || chosen.length > 0;
  const bad = columns.some((column) => ('result' in column ? column.result.failed > 0 : mustRun));
  process.exitCode = bad ? 1 : 0;
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
