/**
 * The loop: schedule, connector, worker, update. One `step()` at a time; requests may be added and aborted at any
 * moment in between and while a step runs.
 *
 * With `schedule.stepsInFlight: 2`, step n + 1 is planned and dispatched before step n comes back: the token that n
 * samples is in n + 1's plan as the device's, and what it means (a stop, a key) counts when n is processed.
 */
import { CacheManager } from './cache/cache-manager.ts';
import type { CacheEvent } from './cache/events.ts';
import { createPrefixHasher, type PrefixHasher } from './cache/prefix-key.ts';
import { TokenSequence } from './cache/token-sequence.ts';
import type { EngineConfig } from './config.ts';
import { ConfigError, invariant, InvariantError } from './errors.ts';
import type { HostMemory } from './host-memory.ts';
import type { OffloadEvent } from './offload/events.ts';
import { OffloadConnector } from './offload/connector.ts';
import { RankedWorker } from './ranked-worker.ts';
import { requireFork, requireRequest, type ForkInput, type RequestInput } from './request-input.ts';
import type { ScheduledRequest, SchedulerOutput } from './schedule/connector-interface.ts';
import { createRequest, seenTokens, type FinishedRequest, type Request } from './schedule/request.ts';
import { Scheduler } from './schedule/scheduler.ts';
import type { StepRecord } from './schedule/step-log.ts';
import type { ForwardRequest, StepOutcome, StepPlan, WitnessReport, Worker } from './schedule/step-plan.ts';
import { RunStatistics, type EngineStatistics } from './statistics.ts';
import type { Drafting, Speculation } from './speculation.ts';
import { ceilDiv, requestId, type RequestId } from './units.ts';

export type { ForkInput, RequestInput } from './request-input.ts';

export interface StepReport extends StepRecord {
  readonly finished: readonly FinishedRequest[];
}

/** One rank's share: its worker, and the slots that this one reads and writes. */
export interface Rank<W extends Worker = Worker> {
  readonly worker: W;
  readonly host: HostMemory | null;
}

export interface EngineOptions<W extends Worker = Worker> {
  readonly config: EngineConfig;
  readonly worker: W;
  /** The slots that `worker` reads and writes. `null` when `config.offload.slots` is 0. */
  readonly host: HostMemory | null;
  /** With `config.cache.contextParallel` ranks: those from 1 on. `worker` and `host` are rank 0. */
  readonly otherRanks?: readonly Rank<W>[];
  /**
   * The token after `request`'s last one. Default: a fixed mix of what is there, the same on every run. With two steps in
   * flight it is asked before the step that computes the last token comes back.
   */
  readonly nextToken?: (request: Request) => number | Promise<number>;
  /** Speculative decoding; it takes the place of `nextToken`. Needs one rank and one step in flight. */
  readonly speculation?: Speculation;
  readonly onCacheEvent?: (event: CacheEvent) => void;
  /** What happens in the host tier. Called in the middle of an operation: it must not call back into the engine. */
  readonly onOffloadEvent?: (event: OffloadEvent) => void;
}

/** A step that is dispatched and not processed. */
interface StepInFlight {
  readonly output: SchedulerOutput;
  readonly plan: StepPlan;
  readonly outcome: Promise<StepOutcome>;
  /** Requests whose last token it computes, so that there is a next one. */
  readonly sampling: Request[];
  /** Whether that one has been asked for, who got one, and where it could not be given. */
  isSampled: boolean;
  readonly sampled: Request[];
  readonly failures: Map<Request, unknown>;
}

/** Steps in a row that may pass with requests waiting and nothing happening before the engine calls it a fault. */
const IDLE_STEPS_MAX = 3;

export class Engine<W extends Worker = Worker> {
  readonly config: EngineConfig;
  readonly host: HostMemory | null;
  readonly cache: CacheManager;
  readonly connector: OffloadConnector;
  readonly scheduler: Scheduler;
  private allRanks: readonly Rank<W>[];
  /** Carries out each step on every rank. */
  private executor: Worker;
  private readonly nextToken: (request: Request) => number | Promise<number>;
  private readonly speculation: Speculation | null;
  private readonly hasher: PrefixHasher;
  private readonly live = new Map<RequestId, Request>();
  private readonly aborts = new Set<RequestId>();
  /** Finished since the last report: also those of steps that rejected. */
  private readonly unreported: FinishedRequest[] = [];
  /** The oldest first. */
  private readonly inFlight: StepInFlight[] = [];
  /** The step that has come back and is being processed. */
  private returned: StepInFlight | null = null;
  private readonly run = new RunStatistics();
  private stepCount = 0;
  private addedCount = 0;
  private stepping = false;
  private idleSteps = 0;
  private pendingReset: { readonly settled: Promise<void>; readonly settle: () => void } | null = null;

  constructor(options: EngineOptions<W>) {
    const { config, worker, host } = options;
    requireGroups(config);
    if (options.speculation) requireSpeculation(config);
    this.config = config;
    this.host = host;
    this.allRanks = [{ worker, host }, ...(options.otherRanks ?? [])];
    this.executor = executorOf(this.allRanks, config);
    this.nextToken = options.nextToken ?? mixedToken;
    this.speculation = options.speculation ?? null;
    this.hasher = createPrefixHasher({ salt: config.cache.salt });
    this.cache = new CacheManager(config.cache, {
      onEvent: options.onCacheEvent,
      announceTails: config.offload.slots > 0 ? 'fenced' : 'no',
    });
    this.connector = new OffloadConnector({
      config: config.offload,
      layout: this.cache.layout,
      workers: config.cache.contextParallel,
      onEvent: options.onOffloadEvent,
    });
    this.scheduler = new Scheduler({ config: config.schedule, cache: this.cache, connector: this.connector });
  }

  /** Owns the pages' bytes. A `WebGpuWorker` tells where each of them lies: `locate`. */
  get worker(): W {
    return this.allRanks[0].worker;
  }

  /** All ranks; the first one is `worker` and `host`. */
  get ranks(): readonly Rank<W>[] {
    return this.allRanks;
  }

  /** Steps begun so far. The next one gets this number. */
  get steps(): number {
    return this.stepCount;
  }

  /** Steps dispatched and not processed. */
  get stepsInFlight(): number {
    return this.inFlight.length;
  }

  /** Requests that are not finished. */
  get requestCount(): number {
    return this.live.size;
  }

  /** True while a step would do something: requests, stores on their way, acknowledgements to come, ends to report. */
  get hasWork(): boolean {
    const isWaiting = this.inFlight.length > 0 || this.connector.hasPendingWork || this.executor.busy;
    const isOwing = this.unreported.length > 0 || this.pendingReset !== null;
    return this.live.size > 0 || isWaiting || isOwing;
  }

  /** Queues a request. Throws `ConfigError`, with nothing changed, for one that is malformed or can never fit. */
  add(input: RequestInput): void {
    requireRequest(input);
    this.requireNew(input.id);
    const { tokens, salt, adapter, media, ignoreCache = false, priority = 0 } = input;
    const sequence = new TokenSequence({
      tokens,
      unitTokens: this.cache.layout.hashTokens,
      hasher: this.hasher,
      identity: { salt, adapter, media },
    });
    const request = this.newRequest(input, {
      sequence,
      ignoresCache: ignoreCache,
      priority,
      promptTokens: sequence.length,
    });
    this.scheduler.add(request);
    this.live.set(request.id, request);
    this.addedCount += 1;
  }

  /**
   * Starts a request that begins with the tokens of another one, for parallel samples and beams. It shares the parent's
   * full pages; the next step copies what both would go on writing to. From there on it has tokens, stop tokens and an
   * end of its own, while salt, adapter and media are the parent's. Also from within `nextToken`.
   *
   * Where the parent's last token is being computed, the fork takes its first own token from the same step: `nextToken`
   * is asked for it with `sampledFrom` set to the parent. Tokens that the parent has sampled and a step in flight has not
   * brought back yet are the fork's first output.
   *
   * Gives the tokens whose pages are shared. 0: the fork is queued, and finds what is cached as any request does; so it
   * is where the parent waits, loads or was preempted, where it has written over what those tokens need (states, rings
   * and windows, if fewer than all are shared), and where pages or places to run are short.
   *
   * Throws `ConfigError`, with nothing changed, for a parent that is finished or unknown, for a fork that is malformed
   * or can never fit, and where the engine speculates.
   */
  fork(parentId: string, input: ForkInput): number {
    if (this.speculation) {
      throw new ConfigError(
        `request ${parentId} has drafts behind it, which a fork cannot share; fork in an engine without speculation`,
      );
    }
    const parent = this.live.get(requestId(parentId));
    if (!parent) {
      throw new ConfigError(
        `request ${parentId} is finished or was never added; fork one that runs, or add the tokens as a new request`,
      );
    }
    const { length } = parent.sequence;
    requireFork(input, length);
    this.requireNew(input.id);
    const { parentTokens = length, tokens = [], priority = parent.priority } = input;
    const sequence = parent.sequence.fork(parentTokens);
    for (let i = 0; i < tokens.length; i++) sequence.append(tokens[i]);
    const { ignoresCache } = parent;
    // What is sampled and not seen yet counts as output of whoever has it.
    const unseenTokens = sequence.length === length && tokens.length === 0 ? parent.unseenTokens : 0;
    // Behind the parent's prompt all is generated, whoever sampled it.
    const promptTokens = parentTokens < parent.promptTokens ? sequence.length : parent.promptTokens;
    const child = this.newRequest(input, { sequence, ignoresCache, priority, promptTokens, unseenTokens });
    child.unseenTokens = unseenTokens;
    const steps = this.returned ? [this.returned, ...this.inFlight] : this.inFlight;
    // The step that computes the parent's last token, if the fork has that token and no other behind it.
    const source =
      sequence.length === length && parent.computedTokens === length && tokens.length === 0
        ? steps.find(({ sampling, sampled }) => sampling.includes(parent) && !sampled.includes(parent))
        : undefined;
    const shared = Math.min(parent.computedTokens, parentTokens, source ? Infinity : sequence.length - 1);
    const sharedTokens = this.scheduler.fork(parent, child, shared);
    this.live.set(child.id, child);
    this.addedCount += 1;
    const unseen = steps.filter(({ sampled }) => sampled.includes(parent));
    for (const { sampled } of unseen.slice(unseen.length - unseenTokens)) sampled.push(child);
    if (source && sharedTokens > 0) {
      child.sampledFrom = parent.sampledFrom;
      if (source.failures.has(parent)) source.failures.set(child, source.failures.get(parent));
      else source.sampling.push(child);
    }
    return sharedTokens;
  }

  /** Ends a request before the next step is scheduled. Unknown and finished ids mean nothing. */
  abort(id: string): void {
    if (this.live.has(requestId(id))) this.aborts.add(requestId(id));
  }

  /**
   * Runs one step, or brings back the oldest of two in flight. Rejects with `DeviceError` when the device is lost; statistics stay readable then.
   * Not reentrant: await one step before the next.
   */
  async step(): Promise<StepReport> {
    if (this.stepping) throw new InvariantError('step() was called while a step was running; await it first');
    this.stepping = true;
    try {
      return await this.runStep();
    } finally {
      this.stepping = false;
    }
  }

  /** Steps until nothing is left to do. If a step rejects, the next report brings all that ended before as well. */
  async drain(): Promise<FinishedRequest[]> {
    const finished: FinishedRequest[] = [];
    try {
      while (this.hasWork) finished.push(...(await this.step()).finished);
    } catch (error) {
      this.unreported.unshift(...finished);
      throw error;
    }
    return finished;
  }

  /**
   * Forgets every cached prefix, on the device and in the host tier. False, with nothing changed, while pages are
   * still referenced or transfers are under way: `reset` waits for those.
   */
  resetPrefixCache(): boolean {
    if (this.stepping || this.connector.hasPendingWork || !this.cache.resetPrefixCache()) return false;
    this.connector.reset();
    return true;
  }

  /**
   * Forgets every cached prefix, on the device and in the host tier, whatever is under way: requests that run give way and
   * start again, loads count as failed, stores in flight add no key. Nobody is admitted until the last transfer has come
   * home, so keep stepping. Settles then.
   */
  reset(): Promise<void> {
    if (!this.pendingReset) {
      let settle = (): void => undefined;
      const settled = new Promise<void>((resolve) => {
        settle = resolve;
      });
      this.pendingReset = { settled, settle };
    }
    const { settled } = this.pendingReset;
    if (!this.stepping && this.inFlight.length === 0 && this.resetPrefixCache()) this.endReset();
    return settled;
  }

  /** What the witness found so far, over all ranks. */
  readWitness(): Promise<WitnessReport> {
    return this.executor.readWitness();
  }

  /**
   * Goes on with new workers, one a rank, when the pages of the old ones are lost, as with their device. Each must have
   * been made with the host memory of its rank. What only the pages knew is forgotten: the prefix cache of the device is
   * empty, transfers under way have failed, and running requests start again, with what the host tier has. The old
   * workers are closed.
   *
   * Throws `InvariantError` while a step runs, `ConfigError` for another number of workers; nothing has changed then.
   */
  async recover(workers: readonly W[]): Promise<void> {
    if (this.stepping)
      throw new InvariantError('recover() was called while a step was running; await it first');
    const ranks = workers.map((worker, rank) => ({ worker, host: this.allRanks[rank]?.host ?? null }));
    const executor = executorOf(ranks, this.config);
    this.stepping = true;
    try {
      // What steps in flight bring is void, but they must not come back later.
      while (this.inFlight.length > 0) await this.bringBack().catch(() => undefined);
    } finally {
      this.stepping = false;
    }
    const old = this.executor;
    this.allRanks = ranks;
    this.executor = executor;
    this.idleSteps = 0;
    const loads = this.connector.failAll('the pages were lost');
    for (const request of this.scheduler.finishLoads(loads)) this.conclude(request, this.unreported);
    this.scheduler.preemptAll();
    invariant(this.cache.resetPrefixCache(), 'pages are still held though every request gave its own back');
    // One that was asked for and had not begun is done here, host tier included.
    if (this.pendingReset) this.connector.reset();
    this.endReset();
    await old.close();
  }

  /** Counts since the engine was made. */
  statistics(): EngineStatistics {
    return this.run.summary({
      cache: this.cache.statistics,
      connector: this.connector.metrics,
      pageBytes: this.config.cache.pageBytes,
    });
  }

  /** Throws `InvariantError` if a rule of the pool, the scheduler, the connector or the host tier is broken. */
  checkIntegrity(): void {
    this.cache.checkIntegrity();
    this.scheduler.checkIntegrity();
    this.connector.checkIntegrity();
  }

  /** Gives the worker's memory back. Twice is harmless. */
  async close(): Promise<void> {
    await this.executor.close();
  }

  private newRequest(
    { id, maxOutputTokens = 1, stopTokens = [] }: RequestInput | ForkInput,
    what: Pick<Request, 'sequence' | 'ignoresCache' | 'priority' | 'promptTokens'> & {
      readonly unseenTokens?: number;
    },
  ): Request {
    const { sequence, ignoresCache, priority, promptTokens, unseenTokens = 0 } = what;
    return createRequest({
      id: requestId(id),
      sequence,
      promptTokens,
      begunTokens: sequence.length - unseenTokens,
      maxOutputTokens,
      stopTokens: new Set(Array.from(stopTokens)),
      ignoresCache,
      priority,
      arrival: this.addedCount,
    });
  }

  private requireNew(id: string): void {
    if (!this.live.has(requestId(id))) return;
    throw new ConfigError(`request ${id} is not finished yet; give each request an id of its own`);
  }

  private async runStep(): Promise<StepReport> {
    const finished = this.unreported;
    for (const id of this.aborts) this.conclude(this.scheduler.abort(id), finished);
    this.aborts.clear();
    if (this.pendingReset && !this.scheduler.isClosed) this.beginReset();
    const { stepsInFlight } = this.config.schedule;
    while (this.inFlight.length === 0 || (this.inFlight.length < stepsInFlight && this.live.size > 0)) {
      for (const step of this.inFlight) await this.sample(step);
      this.dispatch();
    }
    const { step, outcome } = await this.bringBack();
    this.returned = step;
    const { output, plan } = step;
    this.run.record(output, plan, outcome);
    const loads = this.connector.updateFromAcknowledgements(outcome.acknowledgements);
    for (const request of this.scheduler.finishLoads(loads)) this.conclude(request, finished);
    await this.sample(step);
    this.deliver(step, finished);
    this.returned = null;
    if (step.failures.size > 0) throw [...step.failures.values()][0];
    this.watchProgress(output, outcome, finished);
    const isHome = this.scheduler.isClosed && !this.connector.hasPendingWork;
    if (isHome && this.cache.resetPrefixCache()) this.endReset();
    return { plan, outcome, finished: finished.splice(0) };
  }

  private beginReset(): void {
    this.scheduler.isClosed = true;
    this.scheduler.preemptAll();
    this.connector.reset();
  }

  private endReset(): void {
    this.scheduler.isClosed = false;
    this.pendingReset?.settle();
    this.pendingReset = null;
  }

  private dispatch(): void {
    const output = this.scheduler.schedule(this.stepCount);
    this.stepCount += 1;
    const meta = this.connector.buildConnectorMeta(output);
    const plan: StepPlan = {
      step: output.step,
      ...meta,
      newPageIdsToZero: output.newPageIdsToZero,
      copies: output.copies.copies,
      forward: output.scheduled.map((scheduled) => this.forwardOf(scheduled)),
    };
    const outcome = this.executor.execute(plan);
    // Whoever asks for the step's outcome hears of it; another step's may be asked for first.
    outcome.catch(() => undefined);
    const sampling = output.scheduled
      .map(({ request }) => request)
      .filter(({ computedTokens, sequence }) => computedTokens >= sequence.length);
    this.inFlight.push({
      output,
      plan,
      outcome,
      sampling,
      isSampled: false,
      sampled: [],
      failures: new Map(),
    });
  }

  /** Waits for the oldest step in flight. Its pages and copies are nobody's from here on, however it ended. */
  private async bringBack(): Promise<{ step: StepInFlight; outcome: StepOutcome }> {
    const [step] = this.inFlight;
    try {
      return { step, outcome: await step.outcome };
    } catch (error) {
      // Tokens that later plans have already are not sampled again.
      if (step.isSampled) this.deliver(step, this.unreported);
      throw error;
    } finally {
      this.inFlight.shift();
      this.cache.releasePageCopies(step.output.copies);
      this.scheduler.retire(step.output);
    }
  }

  /** Asks for the tokens that a step samples. One request without a next token leaves the others as they are. */
  private async sample(step: StepInFlight): Promise<void> {
    if (step.isSampled) return;
    step.isSampled = true;
    const drafting: Drafting[] = [];
    // Forks may join while the others are asked.
    for (const request of step.sampling) {
      if (request.status === 'finished') continue;
      try {
        if (this.speculation) {
          drafting.push(await this.verify(request, this.speculation));
          step.sampled.push(request);
          continue;
        }
        const token = this.nextToken(request);
        request.sequence.append(typeof token === 'number' ? token : await token);
        request.unseenTokens += 1;
        step.sampled.push(request);
      } catch (error) {
        step.failures.set(request, error);
      }
    }
    if (this.speculation) await this.propose(drafting, this.speculation);
  }

  /** Takes in the drafts that are right and the token behind them; rows of the others count as not computed. */
  private async verify(request: Request, speculation: Speculation): Promise<Drafting> {
    const { sequence, stopTokens, begunTokens, maxOutputTokens } = request;
    const drafts = request.drafts.slice(0, request.computedTokens - sequence.length);
    request.drafts = [];
    const before = sequence.length;
    for (const token of await speculation.verify(request, drafts)) {
      sequence.append(token);
      if (stopTokens.has(token)) break;
    }
    const { length } = sequence;
    const accepted = length - before - 1;
    invariant(
      accepted >= 0 && accepted <= drafts.length,
      `${accepted} of ${drafts.length} drafts were right`,
    );
    request.computedTokens = length - 1;
    this.run.verify(drafts.length, accepted);
    const { boundaryTokens } = speculation;
    const tokensMax = Math.min(
      speculation.tokensMax,
      begunTokens + maxOutputTokens - length - 1,
      ceilDiv(length, boundaryTokens) * boundaryTokens - length,
    );
    return { request, accepted, tokensMax };
  }

  private async propose(drafting: readonly Drafting[], speculation: Speculation): Promise<void> {
    const wanted = drafting.filter(({ request, tokensMax, accepted }) => {
      const isOver = this.aborts.has(request.id) || tokensMax < 0;
      return !isOver && tokensMax + accepted > 0;
    });
    if (wanted.length === 0) return;
    const proposed = await speculation.propose(wanted);
    for (const [i, { request }] of wanted.entries()) request.drafts = proposed[i];
  }

  /** Takes note of the tokens that a step sampled. */
  private deliver({ sampled, failures }: StepInFlight, finished: FinishedRequest[]): void {
    for (const request of failures.keys()) {
      if (request.status === 'finished') continue;
      this.scheduler.finish(request, 'aborted');
      this.conclude(request, finished);
    }
    for (const request of sampled) {
      // Aborted, or ended by the step before: nobody is told of what came after.
      if (request.status === 'finished') continue;
      if (!this.speculation) request.unseenTokens -= 1;
      const seen = seenTokens(request);
      const isStop =
        request.stopTokens.size > 0 && request.stopTokens.has(request.sequence.tokens(seen)[seen - 1]);
      if (isStop || seen - request.begunTokens >= request.maxOutputTokens) {
        this.scheduler.finish(request, isStop ? 'stop' : 'length');
        this.conclude(request, finished);
      } else if (request.stepsInFlight > 0) {
        this.scheduler.publishSeen(request);
      }
    }
  }

  private forwardOf({
    request,
    holdings,
    computedBefore,
    scheduledTokens,
  }: ScheduledRequest): ForwardRequest {
    const { sequence, drafts } = request;
    const end = computedBefore + scheduledTokens;
    // A worker may begin this step after the next one was planned.
    const isEarly = this.inFlight.length > 0;
    const known = Math.min(end, sequence.length);
    const tokens = sequence.tokens(known);
    return {
      ...(end > known && { drafts: end - known }),
      requestId: request.id,
      start: computedBefore,
      end,
      computedFrom: request.foundTokens,
      tables: isEarly ? holdings.tables.map((table) => table.slice()) : holdings.tables,
      tokens: end > known ? withDrafts(tokens, drafts.slice(0, end - known)) : tokens,
      unitSeeds: sequence.pageSeeds(Math.floor(known / sequence.unitTokens) + 1),
    };
  }

  private conclude(request: Request | null, finished: FinishedRequest[]): void {
    if (!request) return;
    this.live.delete(request.id);
    // It may have ended in the very step during which it was aborted: its id is free for another one now.
    this.aborts.delete(request.id);
    const summary: FinishedRequest = {
      id: request.id,
      reason: request.finishReason ?? 'aborted',
      promptTokens: request.begunTokens,
      outputTokens: seenTokens(request) - request.begunTokens,
      hitTokens: request.hitTokens ?? { device: 0, host: 0 },
      preemptions: request.preemptions,
    };
    this.run.finish(summary);
    finished.push(summary);
  }

  /** Turns a wedge into an error: requests wait, nothing is in flight, and nothing has happened for some steps. */
  private watchProgress(
    output: SchedulerOutput,
    outcome: StepOutcome,
    finished: readonly FinishedRequest[],
  ): void {
    const idle =
      output.scheduled.length === 0 &&
      output.preempted.length === 0 &&
      finished.length === 0 &&
      outcome.acknowledgements.length === 0 &&
      this.live.size > 0 &&
      !this.executor.busy &&
      !this.connector.hasPendingWork;
    this.idleSteps = idle ? this.idleSteps + 1 : 0;
    if (this.idleSteps <= IDLE_STEPS_MAX) return;
    throw new InvariantError(
      `${this.live.size} requests wait, nothing runs or loads, and ${this.cache.freePages} pages are free; ` +
        'this is a fault of the scheduler',
    );
  }
}

function executorOf<W extends Worker>(ranks: readonly Rank<W>[], { cache }: EngineConfig): Worker {
  if (ranks.length !== cache.contextParallel) {
    throw new ConfigError(
      `contextParallel is ${cache.contextParallel}, but there are ${ranks.length} workers; give one a rank`,
    );
  }
  return ranks.length === 1 ? ranks[0].worker : new RankedWorker(ranks.map(({ worker }) => worker));
}

function withDrafts(tokens: Uint32Array, drafts: readonly number[]): Uint32Array {
  const all = new Uint32Array(tokens.length + drafts.length);
  all.set(tokens);
  all.set(drafts, tokens.length);
  return all;
}

function requireSpeculation({ cache: { contextParallel }, schedule: { stepsInFlight } }: EngineConfig): void {
  if (contextParallel > 1 || stepsInFlight > 1) {
    throw new ConfigError(
      `speculation with contextParallel ${contextParallel} and stepsInFlight ${stepsInFlight}; use 1 of each`,
    );
  }
}

/** Layers over an encoder's output need that output, which no request brings. */
function requireGroups({ cache: { groups } }: EngineConfig): void {
  if (groups.some(({ kind }) => kind === 'cross-attention')) {
    throw new ConfigError(
      'the engine has no encoder outputs for a cross-attention group; leave the group out, or use a CacheManager by itself',
    );
  }
}

/** Stands in for sampling: depends on the last token and the position, so equal prompts continue equally. */
function mixedToken({ sequence }: Request): number {
  const { length } = sequence;
  const last = sequence.tokens()[length - 1];
  return (Math.imul(last ^ (last >>> 15), 0x2c1b3c6d) + Math.imul(length, 0x297a2d39)) >>> 0;
}
