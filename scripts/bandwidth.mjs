/**
 * npm run bandwidth: how fast pages move in every WebGPU runtime that this machine has, as one table.
 *
 *   npm run bandwidth                        everything, a minute or two a runtime
 *   npm run bandwidth -- --runtime deno      one of node, browser, deno; may be repeated
 *   npm run bandwidth -- --json              the results for a program to read, by runtime
 *
 * Runtimes run one after the other: they would measure each other otherwise. Close what else uses the machine. Exit
 * status 1 where a runtime that was asked for is missing; with CI=true every runtime is.
 */
import { importTypeScript, inRuntimes } from './support/in-runtimes.mjs';

await inRuntimes({
  argv: ['bench', 'gpu'],
  page: { page: 'bandwidth', button: 'Measure' },
  print: async (/** @type {import('./support/bandwidth-table.ts').Column[]} */ columns) =>
    (await importTypeScript('scripts/support/bandwidth-table.ts')).bandwidthTable(columns),
});
