/** What a conformance case is, and what comes out of one. */

/**
 * `deviates`: the case failed, and it is known why: the specification allows either behaviour, or the deviation of this
 * runtime is listed in `deviations.ts` with a public reference.
 */
export type CaseStatus = 'passed' | 'failed' | 'deviates' | 'skipped';

export interface Outcome {
  readonly status: Exclude<CaseStatus, 'deviates'>;
  /** One line, or a few: what was seen. May be empty where a case passed. */
  readonly detail: string;
}

/** What a case gets to work with. */
export interface CaseContext {
  /** Shared with other cases, with default limits. A case that may harm it asks for one of its own. */
  readonly device: GPUDevice;
  /** A fresh adapter: one that has not given a device yet. */
  requestAdapter(): Promise<GPUAdapter>;
  /** A device of the case's own, destroyed after the case at the latest. Throws what the adapter refused. */
  requestDevice(descriptor?: GPUDeviceDescriptor): Promise<GPUDevice>;
  /**
   * The promise, or a `TimeoutError` that names `what` after the time that one wait may take. Every wait of a case goes
   * through here, so that an implementation that never answers gives a failed case and not a hanging suite.
   */
  wait<Value>(promise: Promise<Value>, what: string): Promise<Value>;
  /** `make`'s result, made once a run: for cases that share one batch of GPU work. Nothing in it belongs to a device. */
  once<Value>(key: string, make: () => Promise<Value>): Promise<Value>;
}

export interface ConformanceCase {
  /** `subject/name`, unique, stable from version to version. */
  readonly id: string;
  readonly title: string;
  /** Where the specification states it: an address with a fragment. */
  readonly spec: string;
  /** What of the cache would break without it, in one short sentence. */
  readonly promise: string;
  /** Why the specification allows the other behaviour as well. Such a case that fails is reported as `deviates`. */
  readonly eitherAllowed?: string;
  /** Whatever it throws or rejects with is a failure. */
  readonly run: (context: CaseContext) => Promise<Outcome>;
}

export function passed(detail = ''): Outcome {
  return { status: 'passed', detail };
}

export function failed(detail: string): Outcome {
  return { status: 'failed', detail };
}

export function skipped(detail: string): Outcome {
  return { status: 'skipped', detail };
}

/** Passed where there is no problem, else failed with it. */
export function verdict(problem: string | null, detail = ''): Outcome {
  return problem === null ? passed(detail) : failed(problem);
}

/** The first problem decides. */
export function firstProblem(...problems: readonly (string | null)[]): Outcome {
  return verdict(problems.find((problem) => problem !== null) ?? null);
}

/** The part of an id before the slash: one subject is one file of cases. */
export function subjectOf(id: string): string {
  return id.slice(0, id.indexOf('/'));
}
