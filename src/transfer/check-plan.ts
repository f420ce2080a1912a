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
export function checkPlan(plan: StepPlan, { pages, groups, slots }: PlanBounds): void {
  const page = (id: number, list: string) => {
    if (Number.isInteger(id) && id > NULL_PAGE && id < pages) return;
    const what = id === (NULL_PAGE as number) ? 'is the null page' : `is not one of pages 1 to ${pages - 1}`;
    throw new InvariantError(`step ${plan.step}: page ${id} in ${list} ${what}`);
  };
  const group = (id: number, list: string) => {
    if (Number.isInteger(id) && id >= 0 && id < groups) return;
    throw new InvariantError(
      `step ${plan.step}: group ${id} in ${list} is not one of groups 0 to ${groups - 1}`,
    );
  };
  for (const { group: owner, pages: listed } of plan.newPageIdsToZero) {
    group(owner, 'newPageIdsToZero');
    for (const id of listed) page(id, 'newPageIdsToZero');
  }
  for (const { group: owner, source, destination } of plan.copies) {
    group(owner, 'copies');
    page(source, 'copies (source)');
    page(destination, 'copies (destination)');
  }
  for (const list of ['stores', 'loads'] as const) {
    for (const job of plan[list]) {
      if (job.pages.length !== job.slots.length) {
        throw new InvariantError(
          `step ${plan.step}: job ${job.id} in ${list} has ${job.pages.length} pages for ${job.slots.length} slots`,
        );
      }
      const where = `${list}, job ${job.id}`;
      for (const id of job.pages) page(id, where);
      for (const slot of job.slots) {
        if (Number.isInteger(slot) && slot >= 0 && slot < slots) continue;
        throw new InvariantError(
          `step ${plan.step}: slot ${slot} in ${list}, job ${job.id}, is not one of the host memory's ${slots} slots`,
        );
      }
    }
  }
  checkDestinations(plan);
}

/** Copies of one list and loads of one step run in no order, so they must not touch each other. */
function checkDestinations(plan: StepPlan): void {
  const copied = new Set<number>();
  for (const { destination } of plan.copies) {
    if (copied.has(destination)) {
      throw new InvariantError(`step ${plan.step}: page ${destination} is the destination of two copies`);
    }
    copied.add(destination);
  }
  for (const { source } of plan.copies) {
    if (copied.has(source)) {
      throw new InvariantError(`step ${plan.step}: page ${source} is source and destination in copies`);
    }
  }
  const loaded = new Set<number>();
  for (const load of plan.loads) {
    for (const page of load.pages) {
      if (loaded.has(page)) throw new InvariantError(`step ${plan.step}: page ${page} is loaded twice`);
      loaded.add(page);
    }
  }
}
