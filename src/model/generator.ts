/** Text from a model whose whole memory of a text is the paged cache. */
import { engineConfigSchema, parseConfig, type EngineConfig, type EngineConfigInput } from '../config.ts';
import type { GroupConfigInput } from '../config/groups.ts';
import { createEngine } from '../create-engine.ts';
import { Engine, type EngineOptions, type ForkInput } from '../engine.ts';
import { ConfigError } from '../errors.ts';
import { macrotask } from '../event-loop.ts';
import type { WebGpuWorker } from '../gpu/worker.ts';
import { HostMemory } from '../host-memory.ts';
import { SimulatedWorker } from '../reference/simulated-worker.ts';
import type { FinishedRequest, Request } from '../schedule/request.ts';
import { cacheConfigFor } from './cache-layout.ts';
import { Generation, type GenerateRequest, type GenerateResult } from './generation.ts';
import type { Model } from './model.ts';
import {
  DeviceModelRunner,
  ReferenceModelRunner,
  type DraftGroup,
  type DraftGuards,
  type ModelRunner,
} from './model-runner.ts';
import { requireSampling } from './sample.ts';
import { putSnapshot, readSnapshot, takeSnapshot, type SnapshotOptions } from './snapshot.ts';
import type { Speculation } from '../speculation.ts';

export type { GeneratedToken, GenerateRequest, GenerateResult } from './generation.ts';
export type { SnapshotOptions } from './snapshot.ts';

export interface GeneratorOptions {
  readonly model: Model;
  /** Computes and holds the pages. It stays the caller's. Left out: the CPU does both, as the reference. */
  readonly device?: GPUDevice;
  /** Tokens a page. Default: 16. */
  readonly tokensPerPage?: number;
  /** Pages of the pool, over all groups, the null page included. Default: 256. */
  readonly poolPages?: number;
  /** Places in host memory, of one page each. Default: 0, no offloading. */
  readonly hostSlots?: number;
  /** Tokens computed in one step; longer prompts take several. Default: 256. */
  readonly stepTokensMax?: number;
  /** Requests that run at once. Default: 16. */
  readonly runningMax?: number;
  /** Speculative decoding: tokens that the model's drafter proposes for a step. Default: 0, none. */
  readonly draftTokens?: number;
  /** Whatever else an engine can be told. */
  readonly engine?: {
    readonly cache?: Partial<
      Omit<EngineConfigInput['cache'], 'groups' | 'pages' | 'pageBytes' | 'tokensPerPage'>
    >;
  } & Pick<EngineConfigInput, 'schedule' | 'offload' | 'transfer'>;
  readonly onCacheEvent?: EngineOptions['onCacheEvent'];
  /** Sees the logits that each token is chosen from, before it is. */
  readonly onLogits?: (logits: Float32Array, place: LogitsPlace) => void;
}

/** What tests change underneath a generator. */
export interface GeneratorInternals extends DraftGuards {
  /** Groups of the cache behind the model's own, which no kernel of this model touches. */
  readonly moreGroups?: readonly GroupConfigInput[];
}

/** Whose next token it is, and where in its sequence, counted from 0 with the prompt. */
export interface LogitsPlace {
  readonly id: string;
  readonly position: number;
}

type GeneratorEngine = Engine<WebGpuWorker | SimulatedWorker>;
/** Further samples of requests, by the name of the first: they are forked when its prompt has been computed. */
type Forks = Map<string, readonly ForkInput[]>;
/** What a generator and the hooks of its engine both use. */
interface Shared {
  readonly live: Map<string, Generation>;
  readonly forks: Forks;
  readonly draftTokens: number;
}
type Hooks = Pick<EngineOptions, 'nextToken' | 'speculation' | 'onCacheEvent'>;

const DEFAULTS = {
  tokensPerPage: 16,
  poolPages: 256,
  hostSlots: 0,
  stepTokensMax: 256,
  runningMax: 16,
  draftTokens: 0,
};
const MAX_TOKENS = 64;

/**
 * @example
 * ```ts
 * import { Generator, loadModel } from 'pagefence';
 *
 * const model = await loadModel('models/kjv-tiny'); // a folder, an address or files
 * const generator = await Generator.create({ model, device });
 * const [{ text }] = await generator.generate([{ prompt: 'In the beginning', maxTokens: 20 }]);
 * await generator.close();
 * ```
 */
export class Generator {
  readonly model: Model;
  /** The engine underneath: statistics, pages, events. Its steps are the generator's to make. */
  readonly engine: GeneratorEngine;
  private readonly runner: ModelRunner;
  /** By the engine's ids. */
  private readonly live: Map<string, Generation>;
  private readonly forks: Forks;
  private readonly draftTokens: number;
  private count = 0;
  private running: Promise<void> | null = null;

  /**
   * Uploads the model and makes its cache.
   *
   * @throws ConfigError for sizes that cannot work, with the field, its value and the remedy.
   * @throws DeviceError when the device refuses the memory.
   */
  static async create(options: GeneratorOptions, internals: GeneratorInternals = {}): Promise<Generator> {
    const { model, device, onCacheEvent, onLogits } = options;
    const live = new Map<string, Generation>();
    const forks: Forks = new Map();
    const choose = async (
      { id, sequence, sampledFrom }: Request,
      draft = 0,
    ): Promise<{ token: number; isOver: boolean }> => {
      const logits = await made.runner.logits(sampledFrom, draft);
      const waiting = forks.get(id);
      forks.delete(id);
      for (const fork of waiting ?? []) made.engine.fork(id, fork);
      const position = sequence.length + draft;
      onLogits?.(logits, { id, position });
      const chosen = live.get(id)!.choose(logits, position);
      if (chosen.isOver) made.engine.abort(id);
      return chosen;
    };
    const verify = async (request: Request, drafts: readonly number[]): Promise<number[]> => {
      const tokens: number[] = [];
      for (let i = 0; i <= drafts.length; i += 1) {
        const { token, isOver } = await choose(request, i);
        tokens.push(token);
        if (isOver || token !== drafts[i]) break;
      }
      return tokens;
    };
    const propose: Speculation['propose'] = (wanted) =>
      made.runner.propose(
        wanted.map(({ request: { id, sequence }, accepted, tokensMax }) => {
          const token = sequence.tokens()[sequence.length - 1];
          return { request: id, accepted, token, tokensMax };
        }),
      );
    const input = engineInput(options, internals);
    const { draftTokens, tokensPerPage } = { ...DEFAULTS, ...defined(options) };
    const hooks: Hooks = {
      nextToken: async (request) => (await choose(request)).token,
      speculation:
        draftTokens > 0
          ? { tokensMax: draftTokens, boundaryTokens: tokensPerPage, verify, propose }
          : undefined,
      onCacheEvent,
    };
    const made = device
      ? await onDevice(model, device, input, hooks, internals)
      : onCpu(model, input, hooks, internals);
    return new Generator(model, made, { live, forks, draftTokens });
  }

  private constructor(
    model: Model,
    { engine, runner }: { readonly engine: GeneratorEngine; readonly runner: ModelRunner },
    { live, forks, draftTokens }: Shared,
  ) {
    this.model = model;
    this.engine = engine;
    this.runner = runner;
    this.live = live;
    this.forks = forks;
    this.draftTokens = draftTokens;
  }

  /**
   * Generates for several prompts at once, together with those of other calls that are under way. Results come in the
   * order of the requests, those of one request's samples one behind the other. Rejects with `ConfigError`, with nothing
   * begun, for requests that cannot be; with `DeviceError` when the device is lost.
   */
  async generate(requests: readonly GenerateRequest[]): Promise<GenerateResult[]> {
    const begun = performance.now();
    const prompts = requests.map((request) => this.promptOf(request));
    const results = requests.flatMap((request, i) => this.begin(request, prompts[i], begun));
    this.start();
    return Promise.all(results);
  }

  /**
   * What is cached of a prompt's beginning, on the device or in host memory, as bytes to keep: whole pages of every cache
   * group, with the tokens and what they were computed from. Waits until nothing is under way; requests that come
   * meanwhile wait for it.
   *
   * @param prompt text or token ids; a beginning that is longer than what is cached gives what is.
   * @returns about as many bytes as the pages have: 2 x layers x kvHeads x headDim x 4 a token, of windows the last ones.
   * @throws ConfigError where no whole page is cached under that salt; `DeviceError` when the device is lost.
   *
   * @example
   * ```ts
   * import { Generator, loadModel } from 'pagefence';
   *
   * const model = await loadModel('demo/public/models/kjv-tiny');
   * const prompt = 'In the beginning God created the heaven and the earth. And the earth was without form';
   * const first = await Generator.create({ model });
   * await first.generate([{ prompt, maxTokens: 1 }]);
   * const buffer = await first.snapshot(prompt);
   * await first.close();
   *
   * const second = await Generator.create({ model, hostSlots: 64 });
   * console.log(await second.restore(buffer), 'tokens need not be computed');
   * const [{ hits }] = await second.generate([{ prompt, maxTokens: 20 }]);
   * console.log(hits.host, 'of them were found');
   * await second.close();
   * ```
   */
  async snapshot(prompt: string | readonly number[], options: SnapshotOptions = {}): Promise<ArrayBuffer> {
    const tokens = this.idsOf(prompt);
    return this.alone(() => takeSnapshot(this.engine, this.model, { ...options, tokens }));
  }

  /**
   * Puts a snapshot into host memory, where requests that begin with its tokens and have its salt find it. Needs a place of
   * `hostSlots` for each page; what is used least gives way. Waits as `snapshot` does. The last token of a prompt is
   * always computed, so a prompt that is just the snapshot's tokens finds a page less (with a drafter
   * perhaps nothing: its states stand where steps ended).
   *
   * @returns the tokens that the snapshot is of.
   * @throws InputError with nothing changed, for a buffer that is truncated or damaged, or of another model (weights or
   *   config), layout, version or salt. ConfigError for too few `hostSlots`.
   */
  async restore(buffer: ArrayBuffer, options: SnapshotOptions = {}): Promise<number> {
    const read = await readSnapshot(this.engine, this.model, buffer);
    return this.alone(() => Promise.resolve(putSnapshot(this.engine, read, options)));
  }

  /** Ends what is under way, and gives the memory back. */
  async close(): Promise<void> {
    for (const id of this.live.keys()) this.engine.abort(id);
    while (this.running) await this.running;
    await this.runner.close();
    await this.engine.close();
  }

  private promptOf(request: GenerateRequest): readonly number[] {
    requireSampling(request);
    requireSamples(request, this.draftTokens);
    const { prompt, maxTokens = MAX_TOKENS } = request;
    const { config, name } = this.model;
    const ids = this.idsOf(prompt);
    if (!Number.isInteger(maxTokens) || maxTokens < 1) {
      throw new ConfigError(`maxTokens is ${maxTokens}; use an integer of at least 1`);
    }
    // The last token that is generated is not computed.
    if (ids.length + maxTokens - 1 > config.positionsMax) {
      throw new ConfigError(
        `a prompt of ${ids.length} tokens and ${maxTokens} more exceed the ${config.positionsMax} positions of ${name}; ` +
          'use a smaller maxTokens or a shorter prompt',
      );
    }
    return ids;
  }

  private idsOf(prompt: string | readonly number[]): readonly number[] {
    const { config, tokenizer, name } = this.model;
    if (typeof prompt === 'string' && tokenizer === null) {
      throw new ConfigError(`${name} has no tokenizer.json; give prompts as token ids`);
    }
    const ids = typeof prompt === 'string' ? tokenizer!.encode(prompt) : [...prompt];
    if (ids.length === 0) throw new ConfigError('a prompt has no tokens; give it at least one');
    const unknown = ids.find((id) => !Number.isInteger(id) || id < 0 || id >= config.vocabSize);
    if (unknown !== undefined) {
      throw new ConfigError(`token ${unknown} is not one of the ${config.vocabSize} of ${name}; use others`);
    }
    return ids;
  }

  private begin(
    request: GenerateRequest,
    promptIds: readonly number[],
    begun: number,
  ): Promise<GenerateResult>[] {
    const { config, tokenizer } = this.model;
    const { signal, stop = config.eosIds, maxTokens = MAX_TOKENS, salt, n = 1 } = request;
    const { id = `text ${this.count}` } = request;
    this.count += 1;
    const samples = Array.from({ length: n }, (_, sample) => {
      const name = sample === 0 ? id : `${id} sample ${sample}`;
      const generation = new Generation({ request, promptIds, stop, sample, tokenizer, begun });
      return { name, generation };
    });
    try {
      const taken = samples.find(({ name }) => this.live.has(name));
      if (taken) throw new ConfigError(`request ${taken.name} is not finished yet; give it another id`);
      this.engine.add({ id, tokens: promptIds, maxOutputTokens: maxTokens, salt });
    } catch (error) {
      for (const { generation } of samples) generation.reject(error);
      return samples.map(({ generation }) => generation.result);
    }
    for (const { name, generation } of samples) this.live.set(name, generation);
    if (n > 1) {
      this.forks.set(
        id,
        samples.slice(1).map(({ name }) => ({ id: name, maxOutputTokens: maxTokens })),
      );
    }
    const abort = () => {
      for (const { name } of samples) this.engine.abort(name);
    };
    if (signal?.aborted === true) abort();
    else signal?.addEventListener('abort', abort, { once: true });
    return samples.map(({ generation }) =>
      generation.result.finally(() => signal?.removeEventListener('abort', abort)),
    );
  }

  /** One that ended before its first token takes the samples with it that were to be its forks. */
  private conclude(request: FinishedRequest): void {
    const names = [request.id, ...(this.forks.get(request.id) ?? []).map(({ id }) => id)];
    this.forks.delete(request.id);
    for (const name of names) {
      this.live.get(name)?.finish(request);
      this.live.delete(name);
    }
  }

  private start(): void {
    this.running ??= this.run().finally(() => {
      this.running = null;
    });
  }

  /** Does something while no step runs. Requests that are added meanwhile begin behind it. */
  private async alone<Value>(work: () => Promise<Value>): Promise<Value> {
    // What was aborted or failed may be left for one more step.
    if (this.engine.hasWork) this.start();
    while (this.running) await this.running;
    const done = work();
    this.running = done
      .then(
        () => undefined,
        () => undefined,
      )
      .finally(() => {
        this.running = null;
        if (this.engine.hasWork) this.start();
      });
    return done;
  }

  /** Steps until nothing is left. A failure is that of all who wait. */
  private async run(): Promise<void> {
    try {
      while (this.engine.hasWork) {
        const { finished } = await this.engine.step();
        // On the CPU a step is one task: whoever draws or stops gets a turn between two of them.
        if (this.engine.worker.kind === 'simulated') await macrotask();
        for (const request of finished) this.conclude(request);
      }
    } catch (error) {
      const failed = [...this.live];
      this.live.clear();
      this.forks.clear();
      for (const [id, generation] of failed) {
        this.engine.abort(id);
        generation.reject(error);
      }
    }
  }
}

function requireSamples({ n = 1, temperature = 0 }: GenerateRequest, draftTokens: number): void {
  if (!Number.isInteger(n) || n < 1) throw new ConfigError(`n is ${n}; use an integer of at least 1`);
  if (n > 1 && temperature === 0) {
    throw new ConfigError(
      `n is ${n} at temperature 0, where all samples are the same; use a temperature above 0, or n 1`,
    );
  }
  if (n > 1 && draftTokens > 0) {
    throw new ConfigError(`n is ${n} with ${draftTokens} drafts a step; use n 1, or leave draftTokens out`);
  }
}

function engineInput(options: GeneratorOptions, { moreGroups = [] }: GeneratorInternals): EngineConfigInput {
  const { tokensPerPage, poolPages, hostSlots, stepTokensMax, runningMax, draftTokens } = {
    ...DEFAULTS,
    ...defined(options),
  };
  const { cache, schedule, offload, transfer } = options.engine ?? {};
  if (!Number.isInteger(draftTokens) || draftTokens < 0) {
    throw new ConfigError(`draftTokens is ${draftTokens}; use a whole number, 0 or more`);
  }
  if (draftTokens > 0 && options.model.drafter === null) {
    throw new ConfigError(
      `draftTokens is ${draftTokens}, but ${options.model.name} has no drafter; leave draftTokens out`,
    );
  }
  const { groups, pages } = cacheConfigFor(options.model.config, {
    tokensPerPage,
    pages: poolPages,
    draftTokens,
  });
  return {
    cache: { ...cache, pages, groups: [...groups, ...moreGroups] },
    schedule: { maxTokensPerStep: stepTokensMax, maxRunning: runningMax, ...schedule },
    offload: { slots: hostSlots, ...offload },
    transfer,
    witness: false,
  };
}

/** Options that are there and undefined are as good as left out. */
function defined(options: GeneratorOptions): Partial<typeof DEFAULTS> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
}

function draftGroupOf({ cache: { groups } }: EngineConfig): DraftGroup | null {
  const group = groups.findIndex(({ kind }) => kind === 'recurrent');
  const config = groups[group];
  return config?.kind === 'recurrent' ? { group, tokensPerPage: config.tokensPerPage } : null;
}

async function onDevice(
  model: Model,
  device: GPUDevice,
  input: EngineConfigInput,
  hooks: Hooks,
  guards: DraftGuards,
): Promise<{ engine: GeneratorEngine; runner: ModelRunner }> {
  const runner = new DeviceModelRunner(guards);
  const engine = await createEngine(input, { device, forward: runner.run, ...hooks });
  const { config } = engine;
  const { cache, schedule } = config;
  try {
    await runner.attach(engine.worker, {
      model,
      tokensPerPage: cache.tokensPerPage,
      strideBytes: cache.pageBytes,
      pages: cache.pages,
      rowsMax: schedule.maxTokensPerStep,
      requestsMax: schedule.maxRunning,
      draftTokens: hooks.speculation?.tokensMax,
      draftGroup: draftGroupOf(config),
    });
  } catch (error) {
    await engine.close();
    throw error;
  }
  return { engine: engine as unknown as GeneratorEngine, runner };
}

function onCpu(
  model: Model,
  input: EngineConfigInput,
  hooks: Hooks,
  guards: DraftGuards,
): { engine: GeneratorEngine; runner: ModelRunner } {
  const config = parseConfig(engineConfigSchema, input, 'generator options');
  const { cache, transfer, offload } = config;
  const slots = offload.slots * offload.pagesPerSlot;
  const host = slots > 0 ? new HostMemory({ slots, slotBytes: cache.pageBytes }) : null;
  const sizes = { tokensPerPage: cache.tokensPerPage, strideBytes: cache.pageBytes };
  const runner = new ReferenceModelRunner(model, sizes, draftGroupOf(config), guards);
  const worker = new SimulatedWorker({ cache, transfer, host, witness: false, forward: runner.run });
  return { engine: new Engine<WebGpuWorker | SimulatedWorker>({ config, worker, host, ...hooks }), runner };
}
