/**
 * npm run bench: the ways to move pages, ours beside the raw ones, in every WebGPU runtime that this machine has.
 *
 *   npm run bench                              everything
 *   npm run bench -- --runtime deno            one of node, browser, deno; may be repeated
 *   npm run bench -- --runtime node -t stores  what follows goes to Vitest
 *
 * Runtimes run one after the other: they would measure each other otherwise. Close what else uses the machine.
 */
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { interruptedBy, runChild } from './support/child.mjs';
import { findDeno } from './support/deno.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');
const runtimes = ['node', 'browser', 'deno'];

const chosen = [];
const forVitest = [];
for (let at = 2; at < process.argv.length; at += 1) {
  if (process.argv[at] !== '--runtime') {
    forVitest.push(process.argv[at]);
    continue;
  }
  at += 1;
  if (!runtimes.includes(process.argv[at])) {
    console.error(`--runtime is ${process.argv[at]}; use one of ${runtimes.join(', ')}`);
    process.exit(2);
  }
  chosen.push(process.argv[at]);
}

process.chdir(root);
for (const runtime of chosen.length > 0 ? chosen : runtimes) {
  const deno = runtime === 'deno' ? findDeno() : undefined;
  if (runtime === 'deno' && deno === undefined) {
    console.error('deno: not run, none found; run: npm install deno');
    process.exitCode = 1;
    continue;
  }
  const outcome = await runChild(deno ?? process.execPath, [
    ...(deno === undefined ? [] : ['run', '-A']),
    vitest,
    'run',
    '--config',
    'test/bench/vitest.config.ts',
    `--project=${runtime}`,
    ...forVitest,
  ]);
  if (outcome !== 0) process.exitCode = 1;
  if (interruptedBy() !== undefined) break;
}
