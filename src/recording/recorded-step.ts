/** What a recording keeps of one step: the plan and its outcome without tokens, which would be most of it. */
import type { StepReport } from '../engine.ts';
import type { FinishedRequest } from '../schedule/request.ts';
import type { ForwardRequest, StepOutcome, StepPlan, StoreJob, LoadJob } from '../schedule/step-plan.ts';
import type { JobId, PageId, RequestId } from '../units.ts';

export type RecordedForward = Pick<ForwardRequest, 'requestId' | 'start' | 'end' | 'computedFrom'>;

/** `null`: whoever asked for the transfer is not known. */
interface Asked {
  readonly request: RequestId | null;
}

export interface RecordedPlan extends Omit<StepPlan, 'forward' | 'stores' | 'loads'> {
  readonly stores: readonly (StoreJob & Asked)[];
  readonly loads: readonly (LoadJob & Asked)[];
  readonly forward: readonly RecordedForward[];
}

export interface RecordedStep {
  readonly plan: RecordedPlan;
  readonly outcome: StepOutcome;
  readonly finished: readonly FinishedRequest[];
  /** Pages that got rows or a state from the forward pass. */
  readonly computed: readonly PageId[];
  /** Pages that were written while a store still had to read them. */
  readonly exposed: readonly PageId[];
}

export function recordedStep(
  { plan, outcome, finished }: StepReport,
  facts: {
    readonly askedBy: (job: JobId) => RequestId | null;
    readonly computed: Iterable<PageId>;
    readonly exposed: readonly PageId[];
  },
): RecordedStep {
  const { askedBy, computed, exposed } = facts;
  return {
    plan: {
      ...plan,
      stores: plan.stores.map((job) => ({ ...job, request: askedBy(job.id) })),
      loads: plan.loads.map((job) => ({ ...job, request: askedBy(job.id) })),
      forward: plan.forward.map(({ requestId, start, end, computedFrom }) => {
        return { requestId, start, end, computedFrom };
      }),
    },
    outcome,
    finished,
    computed: [...computed],
    exposed: [...exposed],
  };
}
