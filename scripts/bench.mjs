/**
 * npm run bench: the ways to move pages, ours beside the raw ones, in every WebGPU runtime that this machine has.
 *
 *   npm run bench                              everything
 *   npm run bench -- --runtime deno            one of cache, steps, node, browser, deno; may be repeated. `cache` is
 *                                              the cache core and `steps` the control plane, in Node, without a GPU
 *   npm run bench -- --runtime node stores     benchmarks with that in their name
 *
 * Runtimes run one after the other: they would measure each other otherwise. Close what else uses the machine.
 */
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { build } from 'vite';
import { interruptedBy, runChild } from './support/child.mjs';
import { findDeno } from './support/deno.mjs';
import { splitRuntimes, UsageError } from './support/parameters.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
/** @type {('cache' | 'steps' | 'node' | 'browser' | 'deno')[]} */
const runtimes = ['cache', 'steps', 'node', 'browser', 'deno'];

const { chosen, rest: parts } = parameters();
process.chdir(root);

function parameters() {
  try {
    return splitRuntimes(process.argv.slice(2), runtimes);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    process.exit(2);
  }
}

/**
 * Built like the library and run without a test runner, see `test/bench/plain-runner.ts`.
 *
 * @param {'cache' | 'steps' | 'gpu'} name
 * @returns {Promise<string>}
 */
async function builtBenchmark(name) {
  const outDir = join('.cache', 'bench');
  await build({
    configFile: false,
    logLevel: 'warn',
    resolve: { alias: { vitest: join(root, 'test', 'bench', 'plain-runner.ts') } },
    build: { ssr: `test/bench/${name}.bench.ts`, outDir, emptyOutDir: true, minify: false, target: 'es2022' },
  });
  return join(outDir, `${name}.bench.js`);
}

for (const runtime of chosen.length > 0 ? chosen : runtimes) {
  const deno = runtime === 'deno' ? findDeno() : undefined;
  if (runtime === 'deno' && deno === undefined) {
    console.error('deno: not run, none found; run: npm install deno');
    process.exitCode = 1;
    continue;
  }
  const inVitest = ['run', '--config', 'test/bench/vitest.config.ts', '--project=browser'];
  const outcome = await (runtime === 'browser'
    ? runChild(process.execPath, [vitest, ...inVitest, ...parts.flatMap((part) => ['-t', part])])
    : runChild(deno ?? process.execPath, [
        ...(deno ? ['run', '-A'] : []),
        await builtBenchmark(runtime === 'cache' || runtime === 'steps' ? runtime : 'gpu'),
        ...parts,
      ]));
  if (outcome !== 0) process.exitCode = 1;
  if (interruptedBy() !== undefined) break;
}
