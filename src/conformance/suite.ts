/** Runs the cases, one after the other, and reports. */
import type { AcquiredAdapter } from '../runtime/adapter.ts';
import type { Runtime } from '../runtime/detect.ts';
import { CASES } from './cases.ts';
import { failed, type CaseContext, type CaseStatus, type ConformanceCase, type Outcome } from './case.ts';
import { knownDeviation, type Deviation, type Environment } from './deviations.ts';
import { SuiteDevices } from './devices.ts';
import { agentName } from '../runtime/agent.ts';
import { TimeoutError, within } from './wait.ts';
import { asRejection } from './workbench.ts';

export interface CaseResult {
  readonly id: string;
  readonly status: CaseStatus;
  /** Empty where there is nothing to say. */
  readonly detail: string;
  readonly spec: string;
  readonly promise: string;
  readonly title: string;
}

export interface ConformanceResult {
  readonly runtime: Runtime;
  /** Name and version of the runtime. */
  readonly agent: string;
  readonly adapter: string;
  /** Of the adapter, sorted. */
  readonly features: readonly string[];
  /** Of the adapter. */
  readonly limits: Readonly<Record<string, number>>;
  readonly cases: readonly CaseResult[];
  readonly passed: number;
  readonly failed: number;
  readonly deviates: number;
  readonly skipped: number;
  readonly seconds: number;
}

export interface ConformanceOptions {
  /** A fresh adapter with each call. */
  readonly acquire: () => Promise<AcquiredAdapter>;
  /** Default: all. */
  readonly cases?: readonly ConformanceCase[];
  readonly deviations?: readonly Deviation[];
  /** Runs the cases as well that are known to end the process here. */
  readonly evenFatal?: boolean;
  /** Milliseconds that one wait may take. */
  readonly waitMs?: number;
  /** Milliseconds that one case may take. */
  readonly caseMs?: number;
  /** Called after each case. What it returns is waited for, so that a page can draw. */
  readonly onResult?: (result: CaseResult, progress: Progress) => void | Promise<void>;
  /** Stops after the case that runs; the result covers those that ran. */
  readonly signal?: AbortSignal;
}

export interface Progress {
  readonly done: number;
  readonly total: number;
}

const WAIT_MS = 15_000;
const CASE_MS = 60_000;

/**
 * Runs the cases and reports on each of them; a case that fails, hangs or loses its device is a result and no exception.
 * Throws `DeviceError` where there is no adapter, or none that gives a device.
 */
export async function runConformance(options: ConformanceOptions): Promise<ConformanceResult> {
  const { cases = CASES, waitMs = WAIT_MS, signal, onResult } = options;
  const begin = performance.now();
  const devices = new SuiteDevices(options.acquire, waitMs);
  try {
    const { adapter, runtime, description } = await devices.adapter();
    await devices.open();
    const environment: Environment = { runtime, agent: agentName(), adapter: description };
    const results: CaseResult[] = [];
    for (const one of cases) {
      if (signal?.aborted === true) break;
      const known = knownDeviation(one.id, environment, options.deviations);
      const { id, spec, promise, title } = one;
      const result = { id, ...(await resultOf(one, known, devices, options)), spec, promise, title };
      results.push(result);
      await onResult?.(result, { done: results.length, total: cases.length });
    }
    const count = (status: CaseStatus) => results.filter((result) => result.status === status).length;
    return {
      ...environment,
      features: [...adapter.features].sort(),
      limits: limitsOf(adapter.limits),
      cases: results,
      passed: count('passed'),
      failed: count('failed'),
      deviates: count('deviates'),
      skipped: count('skipped'),
      seconds: (performance.now() - begin) / 1000,
    };
  } finally {
    devices.close();
  }
}

async function runCase({ run }: ConformanceCase, devices: SuiteDevices, caseMs: number): Promise<Outcome> {
  try {
    const { value, stray } = await devices.watched(async () => {
      const context: CaseContext = {
        device: await devices.open(),
        requestAdapter: async () => (await devices.adapter()).adapter,
        requestDevice: (descriptor) => devices.openOwn(descriptor),
        wait: (promise, what) => within(promise, devices.waitMs, what),
        once: (key, make) => devices.once(key, make),
      };
      return within(run(context), caseMs, 'the case');
    });
    return stray === null || value.status === 'failed' ? value : failed(stray);
  } catch (error) {
    // What a call that never answers has left behind is nothing for the next case to stumble over.
    if (error instanceof TimeoutError) devices.discardHanging();
    return failed(describe(error));
  } finally {
    devices.releaseOwn();
  }
}

function describe(error: unknown): string {
  const { name, message } = asRejection(error);
  return error instanceof TimeoutError ? message : `${name}: ${message}`;
}

/** Runs a case. A failure that is allowed or known is a deviation. */
async function resultOf(
  one: ConformanceCase,
  known: Deviation | undefined,
  devices: SuiteDevices,
  options: ConformanceOptions,
): Promise<{ status: CaseStatus; detail: string }> {
  if (known?.endsProcess === true && options.evenFatal !== true) {
    return { status: 'deviates', detail: `Not run. ${knownText(known)}` };
  }
  const outcome = await runCase(one, devices, options.caseMs ?? CASE_MS);
  if (outcome.status !== 'failed') return outcome;
  const { eitherAllowed } = one;
  if (eitherAllowed !== undefined) {
    return {
      status: 'deviates',
      detail: `${outcome.detail}\nThe specification allows either: ${eitherAllowed}`,
    };
  }
  if (known === undefined) return outcome;
  return { status: 'deviates', detail: `${outcome.detail}\n${knownText(known)}` };
}

function knownText({ what, reference }: Deviation): string {
  return `Known: ${what} (${reference})`;
}

/** Limits are getters of a prototype in some runtimes and own properties in others. */
function limitsOf(limits: GPUSupportedLimits): Record<string, number> {
  const found: Record<string, number> = {};
  for (const name in limits) {
    const value: unknown = (limits as unknown as Record<string, unknown>)[name];
    if (typeof value === 'number') found[name] = value;
  }
  return found;
}
