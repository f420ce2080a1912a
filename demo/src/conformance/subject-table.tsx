/** Counts by subject; a subject opens to its cases. */
import { useState } from 'preact/hooks';
import { subjectOf } from '../../../src/conformance/case.ts';
import type { CaseResult } from '../../../src/conformance/suite.ts';
import type { SubjectCounts } from '../../../src/conformance/summary.ts';
import { CaseList } from './case-list.tsx';

const COLUMNS = ['passed', 'deviates', 'failed'] as const;

export function SubjectTable({
  subjects,
  results,
}: {
  subjects: readonly SubjectCounts[];
  results: readonly CaseResult[];
}) {
  const [opened, setOpened] = useState<string | null>(null);
  return (
    <section class="panel" aria-labelledby="subjects">
      <header>
        <h2 id="subjects">Subjects</h2>
        <p class="aside">Open one to see its cases.</p>
      </header>
      <table class="subjects">
        <thead>
          <tr>
            <th scope="col">Subject</th>
            {COLUMNS.map((column) => (
              <th key={column} scope="col" class="number">
                {column}
              </th>
            ))}
          </tr>
        </thead>
        {subjects.map((counts) => {
          const { subject } = counts;
          const isOpen = subject === opened;
          return (
            <tbody key={subject}>
              <tr>
                <th scope="row">
                  <button
                    type="button"
                    class="subject"
                    aria-expanded={isOpen}
                    onClick={() => setOpened(isOpen ? null : subject)}
                  >
                    {subject.replaceAll('-', ' ')}
                  </button>
                </th>
                {COLUMNS.map((column) => (
                  <td key={column} class={`number ${counts[column] > 0 ? column : 'none'}`}>
                    {counts[column]}
                  </td>
                ))}
              </tr>
              {isOpen && (
                <tr class="cases">
                  <td colSpan={COLUMNS.length + 1}>
                    <CaseList results={results.filter(({ id }) => subjectOf(id) === subject)} />
                  </td>
                </tr>
              )}
            </tbody>
          );
        })}
      </table>
    </section>
  );
}
