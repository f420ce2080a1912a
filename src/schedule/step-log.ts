/** Plans and outcomes kept beyond their step: what a log holds, a replay feeds to another worker, and a demo draws. */
import type { StepOutcome, StepPlan } from './step-plan.ts';

export interface StepRecord {
  readonly plan: StepPlan;
  readonly outcome: StepOutcome;
}

/** A plan that no later step changes: views and live page tables are copied. */
export function freezePlan(plan: StepPlan): StepPlan {
  return {
    ...plan,
    forward: plan.forward.map((request) => ({
      ...request,
      tables: request.tables.map((table) => [...table]),
      tokens: request.tokens.slice(),
      unitSeeds: request.unitSeeds.slice(),
    })),
  };
}
