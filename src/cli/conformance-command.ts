/** `pagefence conformance`: whether this runtime keeps what the cache builds on. */
import { subjectOf } from '../conformance/case.ts';
import { sectionAndAddress } from '../conformance/spec.ts';
import { runConformance, type CaseResult, type ConformanceResult } from '../conformance/suite.ts';
import { countBySubject } from '../conformance/summary.ts';
import { CASES } from '../conformance/cases.ts';
import { ConfigError } from '../errors.ts';
import { acquireAdapter } from '../runtime/acquire.ts';
import { alignColumns, formatCount, formatSeconds } from './format.ts';
import { STATUS_INTERRUPTED, writeText, type CliIo } from './io.ts';

export interface ConformanceCliOptions {
  readonly json?: boolean;
  /** Subjects or ids; all where left out. */
  readonly only?: string;
  readonly evenFatal?: boolean;
}

/** 1 if a case failed, else 0. Throws `DeviceError` where there is no adapter. */
export async function conformanceCommand(options: ConformanceCliOptions, io: CliIo): Promise<number> {
  const cases = chosen(options.only);
  const stop = new AbortController();
  const release = io.onInterrupt(() => stop.abort());
  try {
    const { evenFatal } = options;
    const result = await runConformance({ acquire: acquireAdapter, cases, evenFatal, signal: stop.signal });
    await writeText(
      io.stdout,
      options.json === true ? `${JSON.stringify(result)}\n` : conformanceText(result),
    );
    if (stop.signal.aborted) return STATUS_INTERRUPTED;
    return result.failed > 0 ? 1 : 0;
  } finally {
    release();
  }
}

function chosen(only: string | undefined): typeof CASES {
  if (only === undefined) return CASES;
  const cases = CASES.filter(({ id }) => id === only || subjectOf(id) === only);
  if (cases.length > 0) return cases;
  const subjects = [...new Set(CASES.map(({ id }) => subjectOf(id)))];
  throw new ConfigError(`--only ${only}: no such case or subject; the subjects are ${subjects.join(', ')}`);
}

export function conformanceText(result: ConformanceResult): string {
  const { agent, adapter, seconds } = result;
  const rows = countBySubject(result.cases).map(({ subject, passed, deviates, failed, skipped }) => [
    subject,
    ...[passed, deviates, failed, skipped].map(formatCount),
  ]);
  const all = [result.passed, result.deviates, result.failed, result.skipped].map(formatCount);
  const notes = result.cases.filter(({ status }) => status !== 'passed');
  return [
    `${agent} on ${adapter}: ${formatCount(result.cases.length)} cases in ${formatSeconds(seconds)}`,
    '',
    ...alignColumns([['', 'passed', 'deviates', 'failed', 'skipped'], ...rows, ['all', ...all]], {
      right: [1, 2, 3, 4],
    }),
    ...notes.flatMap(noteLines),
    '',
  ].join('\n');
}

function noteLines({ id, status, title, detail, promise, spec }: CaseResult): string[] {
  const { section, address } = sectionAndAddress(spec);
  return [
    '',
    `${status.toUpperCase()} ${id}`,
    `  ${title}`,
    ...detail.split('\n').map((line) => `  ${line}`),
    `  stands on it: ${promise}`,
    `  specified in: ${section}, ${address}`,
  ];
}
