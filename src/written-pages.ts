/** Which pages a step writes, from its plan. */
import type { CacheLayout, GroupLayout } from './config/layout.ts';
import type { ForwardRequest, StepPlan } from './schedule/step-plan.ts';
import { ceilDiv, NULL_PAGE, type PageId } from './units.ts';

/** Pages that get rows or a state from the forward pass. */
export function computedPages(plan: Pick<StepPlan, 'forward'>, { groups }: CacheLayout): Set<PageId> {
  const computed = new Set<PageId>();
  for (const request of plan.forward) {
    for (const group of groups) for (const page of computedIn(request, group)) computed.add(page);
  }
  return computed;
}

/**
 * Pages of which the step changes what they held: zeroed, copied onto, loaded, or computed from their first row on. Rows
 * that a request adds to its own page leave those before them as they are.
 */
export function rewrittenPages(plan: StepPlan, layout: CacheLayout): Set<PageId> {
  const written = overwrittenPages(plan, layout);
  for (const { pages } of plan.newPageIdsToZero) for (const page of pages) written.add(page);
  for (const { destination } of plan.copies) written.add(destination);
  for (const { pages } of plan.loads) for (const page of pages) written.add(page);
  return written;
}

/** Pages whose first row, or whole state, the forward pass writes: nothing is left of what they held. */
export function overwrittenPages(plan: Pick<StepPlan, 'forward'>, { groups }: CacheLayout): Set<PageId> {
  const overwritten = new Set<PageId>();
  for (const request of plan.forward) {
    for (const group of groups) {
      if (group.kind === 'ring') continue;
      const isState = group.kind === 'recurrent';
      const first = isState ? 0 : ceilDiv(request.start, group.tokensPerPage);
      for (const page of computedIn(request, group, first)) overwritten.add(page);
    }
  }
  return overwritten;
}

function computedIn(
  { start, end, tables }: ForwardRequest,
  { id, kind, tokensPerPage }: GroupLayout,
  firstMin = 0,
): PageId[] {
  const table = tables[id];
  if (kind === 'ring') return [table[0]];
  const last = ceilDiv(end, tokensPerPage);
  const first = Math.floor(start / tokensPerPage);
  return table.slice(Math.max(first, firstMin), last).filter((page) => page !== NULL_PAGE);
}
