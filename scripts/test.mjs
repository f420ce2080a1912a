/**
 * npm test: the unit tests, then the GPU tests in every WebGPU runtime that this machine has.
 *
 *   npm test                                       everything
 *   npm test -- --runtime node                     one of unit, node, browser, deno, demo; may be repeated
 *   npm test -- --runtime unit test/unit/runtime   what follows goes to Vitest
 *
 * With CI=true a missing runtime is a failure.
 */
import { mkdir, readFile, rm } from 'node:fs/promises';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';
import { interruptedBy, runChild, runChildAside } from './support/child.mjs';
import { denoAdapter, findDeno } from './support/deno.mjs';
import { splitRuntimes, UsageError } from './support/parameters.mjs';
import { closingLine, failureList, notRun, summarise, summaryTable } from './support/summary.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const results = join(root, 'test-results');
const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs');

/** @typedef {'unit' | 'node' | 'browser' | 'deno' | 'demo'} RuntimeName */
/** @type {RuntimeName[]} */
const runtimes = ['unit', 'node', 'browser', 'deno', 'demo'];
/**
 * One stage after the other; in a stage the lanes run side by side, since tests on a device wait for it much of the time.
 * The demo's tests watch a page that moves, so nothing runs beside them.
 *
 * @type {readonly (readonly (readonly RuntimeName[])[])[]}
 */
const stages = [[['unit']], [['node', 'browser'], ['deno']], [['demo']]];

const USAGE = `npm test -- [--runtime NAME]... [what Vitest takes]

Runs the unit tests, then the GPU tests in every WebGPU runtime that this machine has.

  --runtime NAME   one of ${runtimes.join(', ')}; may be repeated. Default: all that are found
  PATH             test files to run, as for Vitest
  -t NAME          tests to run by name, as for Vitest

With CI=true a missing runtime is a failure.`;

/**
 * How a runtime is started, and what was found for it.
 *
 * @typedef {{ program: string, prefix: string[], adapter?: string, found?: string }} Found
 */

/** @param {import('./support/look-up.ts').Finding} finding */
function required(finding) {
  if ('missing' in finding) throw new Error(finding.missing);
  return finding.found;
}

/** @type {Record<RuntimeName, (machine: typeof import('./support/look-up.ts')) => Found>} */
const find = {
  unit: () => ({ program: process.execPath, prefix: [] }),
  node: (machine) => {
    const adapter = required(machine.nodeAdapter);
    return { program: process.execPath, prefix: [], adapter, found: adapter };
  },
  browser: (machine) => ({ program: process.execPath, prefix: [], found: required(machine.browser) }),
  deno: () => {
    const deno = findDeno();
    if (deno === undefined) throw new Error('no Deno found; run: npm install deno');
    const adapter = denoAdapter(deno);
    return { program: deno, prefix: ['run', '-A'], adapter, found: adapter };
  },
  // The demo's page, driven from Node in the same browser.
  demo: (machine) => find.browser(machine),
};

/**
 * @param {RuntimeName} runtime
 * @param {Found} found
 * @param {{ forVitest: readonly string[], aside: boolean }} options `aside`: another lane has the terminal
 */
async function run(runtime, found, { forVitest, aside }) {
  const report = join(results, `${runtime}.json`);
  await rm(report, { force: true });
  const parameters = [
    ...found.prefix,
    vitest,
    'run',
    `--project=${runtime}`,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
    // A filter may well match files of one runtime only; without one, no test is a mistake.
    ...(forVitest.length > 0 ? ['--passWithNoTests', ...forVitest] : []),
  ];
  const title = `\n== ${runtime}${found.found === undefined ? '' : `: ${found.found}`}`;
  if (!aside) console.log(title);
  const { outcome, output } = aside
    ? await runChildAside(found.program, parameters)
    : { outcome: await runChild(found.program, parameters), output: '' };
  if (aside) console.log(`${title}\n${output}`);
  return summarise(runtime, found.adapter, outcome, await readReport(report));
}

/**
 * The report of a run, or undefined where it left none that can be read.
 *
 * @param {string} path
 * @returns {Promise<import('./support/summary.mjs').Report | undefined>}
 */
async function readReport(path) {
  try {
    return JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * @param {RuntimeName} runtime
 * @param {typeof import('./support/look-up.ts')} machine
 * @returns {Found | { missing: string }}
 */
function lookFor(runtime, machine) {
  try {
    return find[runtime](machine);
  } catch (error) {
    return { missing: messageOf(error) };
  }
}

/** @param {unknown} error */
const messageOf = (error) => (error instanceof Error ? error.message : String(error));

async function main() {
  process.chdir(root);
  const parameters = process.argv.slice(2);
  if (parameters.includes('--help') || parameters.includes('-h')) {
    console.log(USAGE);
    return;
  }
  const { chosen, rest: forVitest } = splitRuntimes(parameters, runtimes);
  const mustRun = process.env.CI === 'true' || chosen.length > 0;
  await mkdir(results, { recursive: true });
  // Node 20 does not read TypeScript by itself.
  const { module: machine } = await runnerImport(join(root, 'scripts/support/look-up.ts'), {
    root,
    configFile: false,
    logLevel: 'error',
  });

  const wanted = runtimes.filter((runtime) => chosen.length === 0 || chosen.includes(runtime));
  // Looking for an adapter may unpack one, so nobody does it beside another.
  const places = new Map(wanted.map((runtime) => [runtime, lookFor(runtime, machine)]));
  /** @type {Map<RuntimeName, Awaited<ReturnType<typeof run>>>} */
  const done = new Map();
  const runAll = async (/** @type {readonly RuntimeName[]} */ lane, aside = false) => {
    for (const runtime of lane) {
      const found = places.get(runtime);
      if (found === undefined || interruptedBy() !== undefined) continue;
      if ('missing' in found) {
        const suite = notRun(runtime, found.missing, mustRun);
        done.set(runtime, suite);
        console.log(`\n== ${runtime}: ${suite.status}`);
      } else {
        done.set(runtime, await run(runtime, found, { forVitest, aside }));
      }
    }
  };
  for (const lanes of stages) {
    const busy = lanes.filter((lane) => lane.some((runtime) => places.has(runtime)));
    await Promise.all(busy.map((lane, i) => runAll(lane, i > 0)));
  }
  const suites = runtimes.flatMap((runtime) => done.get(runtime) ?? []);

  const failures = failureList(suites, root);
  if (failures !== '') console.log(`\n${failures}`);
  console.log(`\n${summaryTable(suites)}\n`);
  console.log(closingLine(suites));
  const signal = interruptedBy();
  if (signal !== undefined) process.exitCode = 128 + constants.signals[signal];
  else process.exitCode = suites.some((suite) => suite.failed > 0) ? 1 : 0;
}

try {
  await main();
} catch (error) {
  console.error(messageOf(error));
  if (error instanceof UsageError) {
    process.exitCode = 2;
  } else {
    console.log('0 passed, 1 failed');
    process.exitCode = 1;
  }
}
