/**
 * npm run conformance: the conformance suite in every WebGPU runtime that this machine has, as one matrix.
 *
 *   npm run conformance                        everything
 *   npm run conformance -- --runtime deno      one of node, browser, deno; may be repeated
 *   npm run conformance -- --json              the results for a program to read, by runtime
 *
 * Exit status 1 where a case failed, or where a runtime that was asked for is missing; with CI=true every runtime is.
 */
import { inRuntimes } from './support/in-runtimes.mjs';
import { matrix, notes } from './support/matrix.mjs';

await inRuntimes({
  argv: ['conformance'],
  page: { page: 'conformance' },
  print: (/** @type {import('./support/matrix.mjs').Column[]} */ columns) =>
    `\n${matrix(columns)}\n\nd: deviates, for the reasons below\n\n${notes(columns).join('\n')}`,
  failed: (/** @type {import('./support/matrix.mjs').Result} */ { failed }) => failed > 0,
});
