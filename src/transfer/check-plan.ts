/**
 * What a step plan must never ask of a worker. Both workers refuse the same plans, before anything is done.
 */
import { InvariantError } from '../errors.ts';
import type { StepPlan } from '../schedule/step-plan.ts';
import { NULL_PAGE } from '../units.ts';

export interface PlanBounds {
  /** Pages of the pool, the null page included. */
  readonly pages: number;
  /** Groups of layers that share the pool. */
  readonly groups: number;
  /** Slots of the host memory. 0 where there is none. */
  readonly slots: number;
}

/** Throws `InvariantError` that names the list and the id. */
export function checkPlan(plan: StepPlan, bounds: PlanBounds): void {
  for (const { group, pages } of plan.newPageIdsToZero) {
    checkGroup(plan, bounds, group, 'newPageIdsToZero');
    checkPages(plan, bounds, pages, () => 'newPageIdsToZero');
  }
  for (const { group, source, destination } of plan.copies) {
    checkGroup(plan, bounds, group, 'copies');
    checkPages(plan, bounds, [source], () => 'copies (source)');
    checkPages(plan, bounds, [destination], () => 'copies (destination)');
  }
  for (const list of ['stores', 'loads'] as const) {
    for (const { id, pages, slots } of plan[list]) {
      if (pages.length !== slots.length) {
        throw new InvariantError(
          `step ${plan.step}: job ${id} in ${list} has ${pages.length} pages for ${slots.length} slots`,
        );
      }
      checkPages(plan, bounds, pages, () => `${list}, job ${id}`);
      for (const slot of slots) {
        if (Number.isInteger(slot) && slot >= 0 && slot < bounds.slots) continue;
        throw new InvariantError(
          `step ${plan.step}: slot ${slot} in ${list}, job ${id}, is not one of the host memory's ${bounds.slots} slots`,
        );
      }
    }
  }
  checkDestinations(plan, bounds);
}

function checkGroup(plan: StepPlan, { groups }: PlanBounds, id: number, list: string): void {
  if (Number.isInteger(id) && id >= 0 && id < groups) return;
  throw new InvariantError(
    `step ${plan.step}: group ${id} in ${list} is not one of groups 0 to ${groups - 1}`,
  );
}

function checkPages(plan: StepPlan, { pages }: PlanBounds, ids: readonly number[], list: () => string): void {
  for (const id of ids) {
    if (Number.isInteger(id) && id > NULL_PAGE && id < pages) continue;
    const what = id === (NULL_PAGE as number) ? 'is the null page' : `is not one of pages 1 to ${pages - 1}`;
    throw new InvariantError(`step ${plan.step}: page ${id} in ${list()} ${what}`);
  }
}

/** Copies of one list and loads of one step run in no order, so they must not touch each other. */
function checkDestinations(plan: StepPlan, { pages }: PlanBounds): void {
  if (plan.copies.length > 0) {
    const copied = new PageSet(pages);
    for (const { destination } of plan.copies) {
      if (copied.add(destination)) continue;
      throw new InvariantError(`step ${plan.step}: page ${destination} is the destination of two copies`);
    }
    for (const { source } of plan.copies) {
      if (!copied.has(source)) continue;
      throw new InvariantError(`step ${plan.step}: page ${source} is source and destination in copies`);
    }
  }
  if (plan.loads.length > 0) {
    const loaded = new PageSet(pages);
    for (const load of plan.loads) {
      for (const page of load.pages) {
        if (loaded.add(page)) continue;
        throw new InvariantError(`step ${plan.step}: page ${page} is loaded twice`);
      }
    }
  }
}

/** A bit a page: lists of many thousand pages are checked in every step that loads. */
class PageSet {
  private readonly bits: Uint8Array;

  constructor(pages: number) {
    this.bits = new Uint8Array(Math.ceil(pages / 8));
  }

  has(page: number): boolean {
    return (this.bits[page >>> 3] & (1 << (page & 7))) !== 0;
  }

  /** False where it was there before. */
  add(page: number): boolean {
    if (this.has(page)) return false;
    this.bits[page >>> 3] |= 1 << (page & 7);
    return true;
  }
}
