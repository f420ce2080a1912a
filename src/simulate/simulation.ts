/** Runs a script on simulated workers, and looks after each step whether anything is as it must not be. */
import { engineConfigSchema, type EngineConfig } from '../config.ts';
import { Engine, type StepReport } from '../engine.ts';
import { ConfigError, InvariantError } from '../errors.ts';
import { HostMemory } from '../host-memory.ts';
import { SimulatedWorker, type SimulatedWorkerOptions } from '../reference/simulated-worker.ts';
import type { Request } from '../schedule/request.ts';
import type { Worker } from '../schedule/step-plan.ts';
import { TransferLog } from '../transfer-log.ts';
import type { JobId, SlotId } from '../units.ts';
import type { Guard } from './guards.ts';
import { LooseWorker } from './loose-worker.ts';
import { Random } from './random.ts';
import { SAMPLED_TOKENS, type Command, type Script } from './script.ts';
import { HostShadow } from './shadow.ts';

/** Something that was as it must not be. */
export interface Failure {
  readonly seed: number;
  readonly step: number;
  /** The broken rule: of `cache` (C) or `offload` (O), or what stands for several of them. */
  readonly invariant: string;
  readonly symptom: string;
}

export interface SimulationResult {
  readonly steps: number;
  readonly failure: Failure | null;
  /** What the run went through, to see that it went where the trouble is. */
  readonly seen: Readonly<Record<string, number>>;
}

export interface SimulationOptions {
  /** A guard of the engine that is switched off, to see that it is missed. */
  readonly without?: Guard | null;
  /** Told of each step. */
  readonly onStep?: (step: number, commands: readonly Command[], report: StepReport) => void;
}

/** Far more than any script takes: who gets here is going round in circles. */
const STEPS_MAX = 5_000;

export async function simulate(script: Script, options: SimulationOptions = {}): Promise<SimulationResult> {
  return new Simulation(script, options).run();
}

class Simulation {
  private readonly script: Script;
  private readonly options: SimulationOptions;
  private readonly engine: Engine;
  private readonly shadow: HostShadow;
  /** `null` where transfers arrive at no fixed lag: then only the worker knows what is in the ring. */
  private readonly transfers: TransferLog | null;
  private readonly hasFence: boolean;
  private readonly slotsOfJob = new Map<JobId, readonly SlotId[]>();
  private mismatches = 0;
  private sharingForks = 0;
  private failure: Failure | null = null;

  constructor(script: Script, options: SimulationOptions) {
    this.script = script;
    this.options = options;
    const without = options.without ?? null;
    const parsed = engineConfigSchema.parse(script.config);
    const fence = without?.fence ?? parsed.offload.fence;
    const config = { ...parsed, offload: { ...parsed.offload, fence } };
    this.engine = makeEngine(script, config, without, () => this.engine.stepsInFlight > 0);
    without?.remove?.(this.engine);
    this.shadow = new HostShadow(this.engine);
    this.transfers = script.arrivals === null ? new TransferLog(config) : null;
    this.hasFence = config.offload.fence === 'complete' && without === null;
  }

  async run(): Promise<SimulationResult> {
    const { steps, commands } = this.script;
    const byStep = new Map<number, Command[]>();
    for (const command of commands) byStep.set(command.step, [...(byStep.get(command.step) ?? []), command]);
    for (let step = 0; this.failure === null && (step < steps || this.engine.hasWork); step += 1) {
      if (step > STEPS_MAX) this.fail(step, 'C-I28', `no end after ${STEPS_MAX} steps`);
      else await this.step(step, byStep.get(step) ?? []);
    }
    if (this.failure === null && this.options.without?.unbalanced !== true) this.checkEnd();
    const { hitTokens, flushes, storesFailed, loadsFailed, requests, steps: done } = this.engine.statistics();
    return {
      steps: done,
      failure: this.failure,
      seen: {
        deviceHits: hitTokens.device,
        hostHits: hitTokens.host,
        flushes,
        failures: storesFailed + loadsFailed,
        preemptions: requests.preemptions,
        sharingForks: this.sharingForks,
      },
    };
  }

  private async step(step: number, commands: readonly Command[]): Promise<void> {
    try {
      for (const command of commands) this.apply(command);
      this.shadow.learn();
      const report = await this.engine.step();
      this.options.onStep?.(step, commands, report);
      this.transfers?.record(report);
      this.noteArrivals(report);
      // Where nothing happened, everything is as it was when it was looked at last.
      if (commands.length === 0 && isIdle(report)) return;
      if (this.options.without?.unbalanced !== true) this.engine.checkIntegrity();
      await this.check(step, report);
    } catch (error) {
      if (!(error instanceof InvariantError)) throw error;
      this.fail(step, 'integrity', error.message);
    }
  }

  /** Bytes reach their slots when the acknowledgement is admitted, and some of a job's may come earlier. */
  private noteArrivals({ plan, outcome }: StepReport): void {
    for (const { id, slots } of plan.stores) this.slotsOfJob.set(id, slots);
    for (const { job } of outcome.acknowledgements) {
      const slots = this.slotsOfJob.get(job);
      if (slots) this.shadow.written(slots);
    }
  }

  private apply(command: Command): void {
    if (command.type === 'abort') this.engine.abort(command.id);
    else if (command.type === 'reset' && command.isForced) void this.engine.reset();
    else if (command.type === 'reset') this.engine.resetPrefixCache();
    else {
      try {
        this.begin(command);
      } catch (error) {
        // A request that can never fit, or forks one that is over, is refused, and nothing has changed.
        if (!(error instanceof ConfigError)) throw error;
      }
    }
  }

  private begin(command: Extract<Command, { readonly type: 'add' | 'fork' }>): void {
    const { id, tokens, outputTokens: maxOutputTokens } = command;
    if (command.type === 'add') {
      const { stopTokens, priority } = command;
      this.engine.add({ id, tokens, maxOutputTokens, stopTokens, priority });
      return;
    }
    const { parent, without } = command;
    const source = [...this.engine.scheduler.queues.all()].find((request) => request.id === parent);
    const parentTokens = Math.max(0, (source?.sequence.length ?? 0) - without);
    if (this.engine.fork(parent, { id, parentTokens, tokens, maxOutputTokens }) > 0) this.sharingForks += 1;
  }

  private async check(step: number, { plan }: StepReport): Promise<void> {
    const { mismatches, pages } = await this.engine.readWitness();
    if (mismatches > this.mismatches) {
      const where = pages.filter((found) => found.step >= plan.step).map(({ page }) => page);
      this.fail(
        step,
        'C-I8',
        `a request read ${mismatches - this.mismatches} wrong words, on pages ${where.join(', ')}`,
      );
    }
    this.mismatches = mismatches;
    const wrong = this.shadow.findWrongSlot();
    if (wrong !== null) this.fail(step, 'O-I2', wrong);
    const zeroed = new Set(plan.newPageIdsToZero.flatMap(({ pages: listed }) => listed));
    const both = plan.loads.flatMap((load) => load.pages).find((page) => zeroed.has(page));
    if (both !== undefined && this.options.without?.unbalanced !== true) {
      this.fail(step, 'O-I8', `page ${both} is zeroed and loaded in one step`);
    }
    const exposed = this.transfers?.exposedInLastStep[0];
    if (this.hasFence && exposed !== undefined) {
      this.fail(step, 'O-I1', `page ${exposed} was written while a store still had to read it`);
    }
    const { flushWaits } = this.engine.statistics();
    if (flushWaits > 0) this.fail(step, 'O-I3', 'a store named in a flush was not released in that step');
  }

  private checkEnd(): void {
    const { cache, connector } = this.engine;
    const at = this.engine.steps;
    if (cache.freePages !== cache.pageCountMax) {
      this.fail(at, 'C-I28', `${cache.pageCountMax - cache.freePages} pages never came home`);
    }
    const { pinned, writing } = connector.manager.counts;
    if (pinned + writing > 0)
      this.fail(at, 'O-I13', `${pinned} slots stay pinned, ${writing} stay unfinished`);
    const { jobs, fence, cursors, drainingRequests } = connector.snapshot();
    if (jobs.length + fence.size + cursors.size + drainingRequests > 0) {
      this.fail(
        at,
        'O-I23',
        `${jobs.length} jobs, ${fence.size} fenced pages, ${cursors.size} requests are left`,
      );
    }
  }

  private fail(step: number, invariant: string, symptom: string): void {
    this.failure ??= { seed: this.script.seed, step, invariant, symptom };
  }
}

/** Few, so that some are stop tokens, and always the same after the same tokens. */
function nextToken({ sequence }: Request): number {
  const { length } = sequence;
  const last = sequence.tokens()[length - 1];
  return (
    (Math.imul(last + 1, 0x9e3779b1) ^ Math.imul(length, 0x85ebca6b)) >>> (32 - Math.log2(SAMPLED_TOKENS))
  );
}

function isIdle({ plan, outcome, finished }: StepReport): boolean {
  const { stores, jobsToFlush, newPageIdsToZero, copies, loads, forward } = plan;
  const { released, acknowledgements } = outcome;
  const parts: readonly (readonly unknown[])[] = [
    stores,
    jobsToFlush,
    newPageIdsToZero,
    copies,
    loads,
    forward,
  ];
  return [...parts, released, acknowledgements, finished].every((part) => part.length === 0);
}

/** When transfers arrive on one rank. Drawn from job and step, so that the order of questions does not matter. */
function admitsOf({ seed, arrivals }: Script, rank: number): SimulatedWorkerOptions['admits'] {
  if (arrivals === null) return undefined;
  return (kind, job, step) =>
    new Random(((seed * 7919 + job) * 104_729 + step) * 4 + 2 * rank + (kind === 'loads' ? 1 : 0)).chance(
      arrivals,
    );
}

function makeEngine(
  script: Script,
  config: EngineConfig,
  without: Guard | null,
  isOverlapping: () => boolean,
): Engine {
  const { cache, transfer, offload, witness } = config;
  // Drawn from the job, not from the order in which workers ask, so that every rank fails alike.
  const fails = (job: JobId): boolean => new Random(script.seed * 7919 + job).chance(script.failures);
  const ranks = Array.from({ length: cache.contextParallel }, (_, rank) => {
    const slots = offload.slots * offload.pagesPerSlot;
    const host = slots > 0 ? new HostMemory({ slots, slotBytes: cache.pageBytes }) : null;
    const faults = { store: fails, load: fails };
    const parts = { cache, transfer, host, witness, rank, faults, admits: admitsOf(script, rank) };
    const worker: Worker = new SimulatedWorker(parts);
    const how = without?.worker;
    return { host, worker: how ? new LooseWorker(worker, how, isOverlapping) : worker };
  });
  const [{ worker, host }, ...otherRanks] = ranks;
  return new Engine({ config, worker, host, otherRanks, nextToken });
}
