/** Results by subject. */
import { subjectOf, type CaseStatus } from './case.ts';
import type { CaseResult } from './suite.ts';

export interface SubjectCounts extends Readonly<Record<CaseStatus, number>> {
  readonly subject: string;
  /** Cases, whatever came out. */
  readonly cases: number;
}

/** Subjects in the order of their first case. */
export function countBySubject(results: readonly CaseResult[]): SubjectCounts[] {
  const counts = new Map<string, { -readonly [Key in keyof SubjectCounts]: SubjectCounts[Key] }>();
  for (const { id, status } of results) {
    const subject = subjectOf(id);
    const known = counts.get(subject) ?? { subject, cases: 0, passed: 0, failed: 0, deviates: 0, skipped: 0 };
    known.cases += 1;
    known[status] += 1;
    counts.set(subject, known);
  }
  return [...counts.values()];
}
