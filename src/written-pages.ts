/** Which pages a step writes, from its plan. */
import type { StepPlan } from './schedule/step-plan.ts';
import { ceilDiv, type PageId } from './units.ts';

/** Pages that get rows from the forward pass. */
export function computedPages(plan: Pick<StepPlan, 'forward'>, tokensPerPage: number): Set<PageId> {
  const computed = new Set<PageId>();
  for (const { start, end, pages } of plan.forward) {
    for (let i = Math.floor(start / tokensPerPage); i < ceilDiv(end, tokensPerPage); i += 1) {
      computed.add(pages[i]);
    }
  }
  return computed;
}

/** Pages that the step writes in any way: zeroed, copied onto, loaded or computed. */
export function writtenPages(plan: StepPlan, tokensPerPage: number): Set<PageId> {
  const written = computedPages(plan, tokensPerPage);
  for (const page of plan.newPageIdsToZero) written.add(page);
  for (const { destination } of plan.copies) written.add(destination);
  for (const { pages } of plan.loads) for (const page of pages) written.add(page);
  return written;
}
