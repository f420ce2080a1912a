/** Replays the requests of a trace through an engine: one trace id is one page. */
import { ConfigError, DeviceError } from '../errors.ts';
import type { Engine, StepReport } from '../engine.ts';
import { macrotask } from '../event-loop.ts';
import type { FinishedRequest } from '../schedule/request.ts';
import type { WitnessReport } from '../schedule/step-plan.ts';
import type { EngineStatistics } from '../statistics.ts';
import { promptTokensOf, type TraceRequest } from './trace-request.ts';

export interface ReplayOptions {
  readonly engine: Engine;
  /** Replayed in this order. All with `blockTokens` equal to the engine's tokens a page. */
  readonly requests: Iterable<TraceRequest>;
  /** Requests under way at once. Default 1. */
  readonly concurrency?: number;
  /** Tokens to produce a request: a number, or what the trace recorded (at least 1). Default 1. */
  readonly outputTokens?: number | 'trace';
  /** Called after each step. */
  readonly onStep?: (report: StepReport, progress: ReplayProgress) => void;
  /** Stops between two steps; the report then covers what was done. */
  readonly signal?: AbortSignal;
}

export interface ReplayProgress {
  readonly requestsDone: number;
  readonly requestsRefused: number;
  readonly blockReferences: number;
  readonly hits: { readonly device: number; readonly host: number };
}

export interface ReplayReport {
  /** Requests that were replayed to their end, and those that the pool could never hold. */
  readonly requests: number;
  readonly requestsRefused: number;
  /** Messages of the first refusals. */
  readonly refusals: readonly string[];
  /** Trace ids over all replayed prompts, the partial last ones included. */
  readonly blockReferences: number;
  /** Pages that were not computed, by the tier that supplied them. */
  readonly hits: { readonly device: number; readonly host: number };
  /** Hits of both tiers over block references. */
  readonly hitRate: number;
  readonly engine: EngineStatistics;
  /** `null` where the run had no witness, or the device was lost before it could be read. */
  readonly witness: WitnessReport | null;
  readonly seconds: number;
  /** Why the run ended before the trace did; `null` when it did not. */
  readonly interrupted: string | null;
}

const REFUSALS_KEPT = 5;
/** A worker that never really waits would keep timers, signals and pictures from their turn. */
const BREAK_EVERY_MS = 20;

/** One replay. `start()` runs to the end; `next()` runs one step, for those who want to look in between. */
export class Replay {
  readonly engine: Engine;
  private readonly options: ReplayOptions;
  private readonly source: Iterator<TraceRequest>;
  private readonly blocksOf = new Map<string, number>();
  private exhausted = false;
  private done = 0;
  private refused = 0;
  private readonly refusals: string[] = [];
  private blockReferences = 0;
  private readonly hits = { device: 0, host: 0 };

  constructor(options: ReplayOptions) {
    this.options = options;
    this.engine = options.engine;
    this.source = options.requests[Symbol.iterator]();
  }

  get progress(): ReplayProgress {
    return {
      requestsDone: this.done,
      requestsRefused: this.refused,
      blockReferences: this.blockReferences,
      hits: { ...this.hits },
    };
  }

  /** Admits what the concurrency allows and runs one step. `null` when everything is done and at rest. */
  async next(): Promise<StepReport | null> {
    this.feed();
    if (!this.engine.hasWork) return null;
    const report = await this.engine.step();
    for (const request of report.finished) this.account(request);
    this.options.onStep?.(report, this.progress);
    return report;
  }

  /** Runs to the end, to a lost device, or to the signal. Never rejects for a lost device: see `interrupted`. */
  async start(): Promise<ReplayReport> {
    const begin = performance.now();
    let interrupted: string | null = null;
    let nextBreak = begin + BREAK_EVERY_MS;
    try {
      while (!this.options.signal?.aborted && (await this.next()) !== null) {
        if (performance.now() < nextBreak) continue;
        await macrotask();
        nextBreak = performance.now() + BREAK_EVERY_MS;
      }
      if (this.options.signal?.aborted) interrupted = 'stopped on request';
    } catch (error) {
      if (!(error instanceof DeviceError)) throw error;
      interrupted = error.message;
    }
    const witness = await this.readWitness();
    return { ...this.summary((performance.now() - begin) / 1000), witness, interrupted };
  }

  private summary(seconds: number): Omit<ReplayReport, 'witness' | 'interrupted'> {
    const { device, host } = this.hits;
    return {
      requests: this.done,
      requestsRefused: this.refused,
      refusals: this.refusals,
      blockReferences: this.blockReferences,
      hits: { device, host },
      hitRate: this.blockReferences === 0 ? 0 : (device + host) / this.blockReferences,
      engine: this.engine.statistics(),
      seconds,
    };
  }

  private async readWitness(): Promise<WitnessReport | null> {
    if (!this.engine.config.witness) return null;
    try {
      return await this.engine.worker.readWitness();
    } catch (error) {
      if (error instanceof DeviceError) return null;
      throw error;
    }
  }

  private feed(): void {
    const { concurrency = 1 } = this.options;
    while (!this.exhausted && this.engine.requestCount < concurrency) {
      const next = this.source.next();
      if (next.done === true) this.exhausted = true;
      else this.admit(next.value);
    }
  }

  private admit(request: TraceRequest): void {
    const { tokensPerPage } = this.engine.config.cache;
    const where = `${request.source.file}${request.source.line === null ? '' : `:${request.source.line}`}`;
    if (request.blockTokens !== tokensPerPage) {
      throw new ConfigError(
        `${where}: blocks of ${request.blockTokens} tokens do not fit pages of ${tokensPerPage}; replay traces of one block size at a time`,
      );
    }
    const { outputTokens = 1 } = this.options;
    const id = String(request.ordinal);
    try {
      this.engine.add({
        id,
        tokens: promptTokensOf(request),
        maxOutputTokens: outputTokens === 'trace' ? Math.max(request.outputTokens, 1) : outputTokens,
      });
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      this.refused += 1;
      if (this.refusals.length < REFUSALS_KEPT) this.refusals.push(`${where}: ${error.message}`);
      return;
    }
    this.blocksOf.set(id, request.blocks.length);
  }

  private account({ id, hitTokens }: FinishedRequest): void {
    const { tokensPerPage } = this.engine.config.cache;
    this.done += 1;
    this.blockReferences += this.blocksOf.get(id) ?? 0;
    this.blocksOf.delete(id);
    this.hits.device += hitTokens.device / tokensPerPage;
    this.hits.host += hitTokens.host / tokensPerPage;
  }
}

/** Replays a trace to its end. */
export async function replay(options: ReplayOptions): Promise<ReplayReport> {
  return new Replay(options).start();
}
