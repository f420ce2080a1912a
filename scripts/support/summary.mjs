/**
 * @typedef {object} Suite
 * @property {string} runtime
 * @property {string} adapter A printable name, or '-'
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {string} status
 * @property {readonly Failure[]} failures
 *
 * @typedef {{ where: string, message: string }} Failure A failed test, or a file that did not load
 *
 * @typedef {object} Report Vitest's JSON report, as far as it is read here
 * @property {number} numPassedTests
 * @property {number} numFailedTests
 * @property {number} numPendingTests
 * @property {number} numTodoTests
 * @property {FileResult[]} testResults
 *
 * @typedef {object} FileResult
 * @property {string} status
 * @property {string} [name] Path of the file
 * @property {string} [message] Why the file did not load
 * @property {TestResult[]} assertionResults
 *
 * @typedef {object} TestResult
 * @property {string} status
 * @property {string} [fullName]
 * @property {string[]} [failureMessages]
 * @property {{ adapter?: string }} [meta]
 */

/**
 * One run of Vitest as a row of the summary. A run that failed counts at least one failure, whatever its report says:
 * a file that did not load, a crash, or errors outside any test leave no failed test behind.
 *
 * @param {string} runtime
 * @param {string | undefined} adapter The adapter's name where the tests do not tell it
 * @param {number | string} outcome The exit status, or what ended the run
 * @param {Report | undefined} report
 * @returns {Suite}
 */
export function summarise(runtime, adapter, outcome, report) {
  const results = report?.testResults ?? [];
  const names = results.flatMap((file) => file.assertionResults.map((test) => test.meta?.adapter));
  const unloaded = results.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  ).length;
  const reported = (report?.numFailedTests ?? 0) + unloaded;
  const bad = outcome !== 0 || report === undefined;
  const passed = report?.numPassedTests ?? 0;
  const skipped = (report?.numPendingTests ?? 0) + (report?.numTodoTests ?? 0);
  const failed = bad ? Math.max(1, reported) : reported;
  return {
    runtime,
    adapter: names.find((name) => name !== undefined) ?? adapter ?? '-',
    passed,
    failed,
    skipped,
    status: statusText({ passed, failed, skipped, reported, outcome, report }),
    failures: results.flatMap(failuresOf),
  };
}

/**
 * @param {FileResult} file
 * @returns {Failure[]}
 */
function failuresOf(file) {
  const name = file.name ?? 'a file';
  const failed = file.assertionResults.filter((test) => test.status === 'failed');
  if (failed.length === 0 && file.status === 'failed') {
    return [{ where: name, message: file.message ?? 'did not load' }];
  }
  return failed.map(({ fullName = 'a test', failureMessages = [] }) => ({
    where: `${name}: ${fullName}`,
    message: failureMessages.join('\n'),
  }));
}

/** @param {{ passed: number, failed: number, skipped: number, reported: number, outcome: number | string, report: Report | undefined }} run */
function statusText({ passed, failed, skipped, reported, outcome, report }) {
  if (report === undefined) return `ended without a report (${outcome})`;
  if (failed > 0) return reported > 0 ? 'failed' : `failed outside any test (${outcome})`;
  return passed + skipped === 0 ? 'no test matched' : 'passed';
}

/**
 * A runtime that this machine lacks. It is a failure where every runtime is required.
 *
 * @param {string} runtime
 * @param {string} reason
 * @param {boolean} required
 * @returns {Suite}
 */
export function notRun(runtime, reason, required) {
  const status = `not run: ${reason.replace(/\s+/g, ' ')}`;
  return { runtime, adapter: '-', passed: 0, failed: required ? 1 : 0, skipped: 0, status, failures: [] };
}

/**
 * An aligned table, a row a runtime.
 *
 * @param {readonly Suite[]} suites
 */
export function summaryTable(suites) {
  const columns = /** @type {const} */ (['runtime', 'adapter', 'passed', 'failed', 'skipped', 'status']);
  const rows = [[...columns], ...suites.map((suite) => columns.map((column) => String(suite[column])))];
  const widths = columns.map((_, at) => Math.max(...rows.map((row) => row[at].length)));
  const numbers = ['passed', 'failed', 'skipped'];
  return rows
    .map((row) =>
      row
        .map((cell, at) =>
          numbers.includes(columns[at]) ? cell.padStart(widths[at]) : cell.padEnd(widths[at]),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const FAILURES_MAX = 20;
const MESSAGE_LINES_MAX = 6;

/**
 * What failed, so that the end of a long log says it: empty where nothing did.
 *
 * @param {readonly Suite[]} suites
 * @param {string} [root] Folder that paths are told from
 */
export function failureList(suites, root = '') {
  const all = suites.flatMap(({ runtime, failures }) => failures.map((failure) => ({ runtime, ...failure })));
  const shown = all.slice(0, FAILURES_MAX).map(({ runtime, where, message }) => {
    const lines = message.split('\n').filter((line) => line.trim() !== '');
    const path = where.startsWith(`${root}/`) ? where.slice(root.length + 1) : where;
    return [`${runtime}: ${path}`, ...lines.slice(0, MESSAGE_LINES_MAX).map((line) => `    ${line}`)].join(
      '\n',
    );
  });
  if (all.length > FAILURES_MAX) shown.push(`and ${all.length - FAILURES_MAX} more`);
  return shown.join('\n');
}

/**
 * The last line of a run: `N passed, N failed`, and `, N skipped` where tests were skipped.
 *
 * @param {readonly Suite[]} suites
 */
export function closingLine(suites) {
  const total = (/** @type {'passed' | 'failed' | 'skipped'} */ column) =>
    suites.reduce((sum, suite) => sum + suite[column], 0);
  const skipped = total('skipped');
  return `${total('passed')} passed, ${total('failed')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}
