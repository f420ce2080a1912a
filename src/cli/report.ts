/** The outcome of a replay as one plain object: what `--json` prints, and what the report for people is made of. */
import process from 'node:process';
import type { EngineConfig } from '../config.ts';
import type { Strategies } from '../gpu/strategies.ts';
import type { Tuning } from '../gpu/tuning.ts';
import { detectRuntime, type Runtime } from '../runtime/detect.ts';
import type { ReplayReport } from '../trace/replay.ts';

export interface ReplayRun {
  readonly report: ReplayReport;
  readonly config: EngineConfig;
  readonly files: readonly string[];
  readonly concurrency: number;
  readonly outputTokens: number | 'trace';
  readonly limit: number;
  readonly linesSkipped: number;
  readonly residentBytesMax: number;
  readonly worker: 'webgpu' | 'simulated';
  /** How bytes move on the device, and what that was measured by. `null` on the simulated worker. */
  readonly strategies: Strategies | null;
  readonly tuning: Tuning | null;
  /** `null` on the simulated worker. */
  readonly adapter: { readonly name: string; readonly software: boolean } | null;
}

export interface ReplayResult {
  /** Replayed to their end, and those that the pool could never hold, with the first messages. */
  readonly requests: number;
  readonly requestsRefused: number;
  readonly refusals: readonly string[];
  readonly linesSkipped: number;
  /** Block ids over all replayed prompts. */
  readonly blockReferences: number;
  /** Pages that were not computed, by the tier that had them. */
  readonly hits: { readonly device: number; readonly host: number };
  readonly hitTokens: { readonly device: number; readonly host: number };
  /** Hits of both tiers over block references, 0 to 1. */
  readonly hitRate: number;
  readonly promptTokens: number;
  readonly computedTokens: number;
  readonly outputTokens: number;
  readonly preemptions: number;
  readonly steps: number;
  readonly pages: { readonly allocated: number; readonly zeroed: number; readonly evicted: number };
  readonly stores: number;
  readonly storesFailed: number;
  readonly loads: number;
  readonly loadsFailed: number;
  readonly flushes: number;
  readonly flushOverflows: number;
  readonly flushWaits: number;
  readonly pagesStored: number;
  readonly pagesLoaded: number;
  readonly bytesStored: number;
  readonly bytesLoaded: number;
  /** Words that were read and did not hold what they must; `null` without witness, and where the device took it along. */
  readonly mismatches: number | null;
  readonly checkedWords: number | null;
  /** The first pages with a mismatch. */
  readonly mismatchedPages: readonly { readonly page: number; readonly step: number }[];
  readonly seconds: number;
  readonly residentBytesMax: number;
  readonly worker: 'webgpu' | 'simulated';
  readonly adapter: string | null;
  readonly adapterIsSoftware: boolean | null;
  readonly strategies: Strategies | null;
  readonly tuning: Tuning | null;
  readonly runtime: Runtime;
  readonly runtimeVersion: string;
  /** Of the host tier. `arc-tier` is not the textbook's ARC. */
  readonly policy: 'lru' | 'arc-tier';
  /** Why the run ended before the trace did; `null` when it did not. */
  readonly interrupted: string | null;
  readonly files: readonly string[];
  readonly config: EngineConfig & {
    readonly concurrency: number;
    readonly outputTokens: number | 'trace';
    /** `null`: all requests. */
    readonly limit: number | null;
  };
}

export function resultOf(run: ReplayRun): ReplayResult {
  const { report, config, concurrency, outputTokens, limit, adapter } = run;
  const { engine, witness } = report;
  return {
    requests: report.requests,
    requestsRefused: report.requestsRefused,
    refusals: report.refusals,
    linesSkipped: run.linesSkipped,
    blockReferences: report.blockReferences,
    hits: report.hits,
    hitTokens: engine.hitTokens,
    hitRate: report.hitRate,
    promptTokens: engine.promptTokens,
    computedTokens: engine.computedTokens,
    outputTokens: engine.outputTokens,
    preemptions: engine.requests.preemptions,
    steps: engine.steps,
    pages: engine.pages,
    stores: engine.stores,
    storesFailed: engine.storesFailed,
    loads: engine.loads,
    loadsFailed: engine.loadsFailed,
    flushes: engine.flushes,
    flushOverflows: engine.flushOverflows,
    flushWaits: engine.flushWaits,
    pagesStored: engine.pagesStored,
    pagesLoaded: engine.pagesLoaded,
    bytesStored: engine.bytesStored,
    bytesLoaded: engine.bytesLoaded,
    mismatches: witness?.mismatches ?? null,
    checkedWords: witness?.checkedWords ?? null,
    mismatchedPages: witness?.pages ?? [],
    seconds: report.seconds,
    residentBytesMax: run.residentBytesMax,
    worker: run.worker,
    adapter: adapter?.name ?? null,
    adapterIsSoftware: adapter?.software ?? null,
    strategies: run.strategies,
    tuning: run.tuning,
    runtime: detectRuntime(),
    runtimeVersion: (process.versions as { deno?: string }).deno ?? process.versions.node,
    policy: config.offload.policy,
    interrupted: report.interrupted,
    files: run.files,
    config: { ...config, concurrency, outputTokens, limit: Number.isFinite(limit) ? limit : null },
  };
}
