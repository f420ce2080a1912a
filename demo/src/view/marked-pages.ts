/** Pages that belong to what is pointed at: those of a job, or of a phase of the step that is shown. */
import { useRef } from 'preact/hooks';
import type { RunLog } from '../../../src/index.ts';
import type { Counted } from '../run/look.ts';
import { phasesOf } from '../time/phases.ts';
import type { Selecting } from './selection.ts';

export function useMarkedPages(
  log: RunLog<Counted> | null,
  moment: number,
  { selection, phase }: Selecting,
): ReadonlySet<number> {
  const before = useRef<ReadonlySet<number>>(new Set());
  const pages = new Set<number>();
  const spanOf = (job: number) => log?.jobs.of(job as never) ?? null;
  if (selection?.kind === 'job') for (const page of spanOf(selection.index)?.pages ?? []) pages.add(page);
  if (phase !== null && log !== null && moment > 0) {
    const phases = phasesOf(log.step(moment - 1), { spanOf, nameOf: (id) => id });
    for (const page of phases.find(({ name }) => name === phase)?.pages ?? []) pages.add(page);
  }
  // The same set as long as it holds the same: what is drawn again is what changed.
  const isSame = pages.size === before.current.size && [...pages].every((page) => before.current.has(page));
  if (!isSame) before.current = pages;
  return before.current;
}
