/** The results of several runtimes beside each other. */

/** @typedef {import('../../src/conformance/suite.ts').ConformanceResult} Result */
/** @typedef {import('./in-runtimes.mjs').Column<Result>} Column */

/** @param {string} id */
const subjectOf = (id) => id.slice(0, id.indexOf('/'));

/**
 * Passed cases, and what did not pass: `28 +2d` where two deviate, `27 1 FAILED` where one failed.
 *
 * @param {readonly { readonly status: string }[]} cases
 */
export function cell(cases) {
  const count = (/** @type {string} */ status) => cases.filter((one) => one.status === status).length;
  return [
    String(count('passed')),
    ...(count('deviates') > 0 ? [`+${count('deviates')}d`] : []),
    ...(count('skipped') > 0 ? [`+${count('skipped')}s`] : []),
    ...(count('failed') > 0 ? [`${count('failed')} FAILED`] : []),
  ].join(' ');
}

/**
 * Subjects down, runtimes across, aligned.
 *
 * @param {readonly Column[]} columns
 */
export function matrix(columns) {
  const run = columns.flatMap((column) => ('result' in column ? [column] : []));
  const subjects = [...new Set(run.flatMap(({ result }) => result.cases.map(({ id }) => subjectOf(id))))];
  const rows = [
    ['', ...run.map(({ name }) => name)],
    ...subjects.map((subject) => [
      subject,
      ...run.map(({ result }) => cell(result.cases.filter(({ id }) => subjectOf(id) === subject))),
    ]),
    ['all', ...run.map(({ result }) => cell(result.cases))],
    ['seconds', ...run.map(({ result }) => result.seconds.toFixed(1))],
  ];
  const widths = rows[0].map((_, at) => Math.max(...rows.map((row) => row[at].length)));
  return rows
    .map((row) =>
      row
        .map((text, at) => text.padEnd(widths[at]))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/**
 * What did not pass, runtime by runtime: failures first.
 *
 * @param {readonly Column[]} columns
 */
export function notes(columns) {
  return columns.flatMap((column) => {
    if ('missing' in column) return [`${column.name}: not run: ${column.missing.replace(/\s+/g, ' ')}`];
    const { name, result } = column;
    const heading = `${name}: ${result.agent} on ${result.adapter}`;
    const rest = result.cases.filter(({ status }) => status !== 'passed');
    const sorted = [...rest].sort((a, b) => Number(b.status === 'failed') - Number(a.status === 'failed'));
    return [
      heading,
      ...sorted.map(
        ({ id, status, detail }) => `  ${status} ${id}\n      ${detail.split('\n').join('\n      ')}`,
      ),
    ];
  });
}
