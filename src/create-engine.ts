/** Puts an engine together from a configuration: host memory, worker, and the loop around them. */
import { engineConfigSchema, parseConfig, type EngineConfig, type EngineConfigInput } from './config.ts';
import { Engine, type EngineOptions, type Rank } from './engine.ts';
import { ConfigError, DeviceMemoryError } from './errors.ts';
import { adapterFacts } from './gpu/device.ts';
import { suggestedTransfer } from './gpu/strategies.ts';
import { tuneStaging } from './gpu/staging-tuning.ts';
import { tune, type Tuning } from './gpu/tuning.ts';
import { WebGpuWorker, type WebGpuWorkerOptions } from './gpu/worker.ts';
import type { Worker } from './schedule/step-plan.ts';
import { HostMemory } from './host-memory.ts';
import { SimulatedWorker } from './reference/simulated-worker.ts';

const WHAT = 'engine configuration';
const TUNING_MS = 500;
/** Below it all sizes of staging buffers come to nearly the same. */
const STAGED_POOL_BYTES_MIN = 16 * 2 ** 20;

export interface CreateEngineOptions extends Pick<
  EngineOptions,
  'nextToken' | 'speculation' | 'onCacheEvent' | 'onOffloadEvent'
> {
  /**
   * The device that holds the pages. It stays the caller's: the engine makes and destroys its own buffers on it and
   * nothing else. Left out: the pages are plain arrays (the simulated worker).
   */
  readonly device?: GPUDevice;
  /**
   * Whether the ways to zero, copy, store and load are measured on the device, half a second at most, once a process for
   * each size of page. `auto` (default), `off`: what suits the adapter by its name, `force`: measured again.
   * `engine.worker.tuning` tells what came of it.
   */
  readonly tuning?: 'auto' | 'off' | 'force';
  /** How large the pool is, as far as the device decides. Needs a device. */
  readonly pool?: PoolOptions;
  /** See `WebGpuWorkerOptions`. Needs a device. */
  readonly forward?: WebGpuWorkerOptions['forward'];
}

export interface PoolOptions {
  /**
   * The pools of all ranks together, as a part of the device's `maxBufferSize`, above 0: the one figure about memory
   * that WebGPU gives. Takes the place of `cache.pages` and `cache.poolBytes`.
   */
  readonly fraction?: number;
  /**
   * What happens where the device refuses the memory. `fail` (default): `DeviceMemoryError`. `shrink`: the pool is made
   * smaller by a quarter, again and again; `engine.config.cache.pages` tells what was granted.
   */
  readonly ifRefused?: 'fail' | 'shrink';
}

/**
 * Creates an engine.
 *
 * @throws ConfigError for a configuration that cannot work, with the field, its value and the remedy.
 * @throws DeviceMemoryError when the device refuses the memory, even for the smallest pool that can work.
 * @throws DeviceError when the device is lost, or its limits or the host rule it out.
 * @example
 * ```ts
 * import { createEngine } from 'pagefence';
 *
 * const engine = await createEngine({
 *   cache: { pages: 64, pageBytes: 4096, tokensPerPage: 16 },
 *   offload: { slots: 256 },
 * });
 * engine.add({ id: 'first', tokens: [5, 6, 7], maxOutputTokens: 4 });
 * for (const { id, outputTokens } of await engine.drain()) console.log(id, outputTokens); // first 4
 * await engine.close();
 * ```
 */
export function createEngine(
  input: EngineConfigInput,
  options: CreateEngineOptions & { readonly device: GPUDevice },
): Promise<Engine<WebGpuWorker>>;
export function createEngine(
  input: EngineConfigInput,
  options?: CreateEngineOptions & { readonly device?: undefined },
): Promise<Engine<SimulatedWorker>>;
export function createEngine(
  input: EngineConfigInput,
  options?: CreateEngineOptions,
): Promise<Engine<WebGpuWorker | SimulatedWorker>>;
export async function createEngine(
  input: EngineConfigInput,
  options: CreateEngineOptions = {},
): Promise<Engine<WebGpuWorker | SimulatedWorker>> {
  const { device, forward, tuning, pool, ...hooks } = options;
  if ('queue' in options) {
    throw new ConfigError(
      'the options are a device; give the device by name: createEngine(config, { device })',
    );
  }
  if (device !== undefined && !('queue' in device)) {
    throw new ConfigError('device is no GPUDevice; give what adapter.requestDevice() resolves to');
  }
  if (forward && !device) {
    throw new ConfigError('forward needs a device to run on; give one, or leave forward out');
  }
  const { config, ranks } = device
    ? await onDevice(device, input, { forward, tuning, pool })
    : simulated(input, { pool });
  const [{ worker, host }, ...otherRanks] = ranks;
  return new Engine({ ...hooks, config, worker, host, otherRanks });
}

interface Made<W extends Worker> {
  readonly config: EngineConfig;
  /** At least one. */
  readonly ranks: readonly Rank<W>[];
}

function simulated(input: EngineConfigInput, { pool }: CreateEngineOptions): Made<SimulatedWorker> {
  if (pool) throw new ConfigError('pool asks a device for memory; give one, or leave pool out');
  const config = parseConfig(engineConfigSchema, input, WHAT);
  const { cache, transfer, witness } = config;
  const ranks = Array.from({ length: cache.contextParallel }, (_, rank) => {
    const host = hostFor(config);
    return { worker: new SimulatedWorker({ cache, transfer, host, witness, rank }), host };
  });
  return { config, ranks };
}

/** Left of a pool whose memory was refused. */
const SHRINK = 0.75;

async function onDevice(
  device: GPUDevice,
  input: EngineConfigInput,
  options: CreateEngineOptions,
): Promise<Made<WebGpuWorker>> {
  const { forward, pool = {}, tuning: mode = 'auto' } = options;
  const given = withPool({ ...input }, pool, device);
  let config = configFor(device, given);
  const tuning = mode === 'off' ? null : await tuneFor(device, config, given, { force: mode === 'force' });
  for (;;) {
    if (tuning?.staging) config.transfer.stagingBytes = atMostThePool(tuning.staging.stagingBytes, config);
    try {
      return { config, ranks: await ranksOn(device, config, { forward, tuning }) };
    } catch (error) {
      if (!(error instanceof DeviceMemoryError) || pool.ifRefused !== 'shrink') throw error;
      const smaller = withPages(given, Math.floor(config.cache.pages * SHRINK));
      try {
        config = configFor(device, smaller);
      } catch {
        // No request fits a pool so small: what the device said is what has to be known.
        throw error;
      }
    }
  }
}

/** All ranks or, where one cannot be made, none. */
async function ranksOn(
  device: GPUDevice,
  config: EngineConfig,
  parts: Pick<WebGpuWorkerOptions, 'forward' | 'tuning'>,
): Promise<Rank<WebGpuWorker>[]> {
  const { cache, transfer, witness } = config;
  const ranks: Rank<WebGpuWorker>[] = [];
  try {
    while (ranks.length < cache.contextParallel) {
      const host = hostFor(config);
      const own = { device, cache, transfer, host, witness, rank: ranks.length };
      ranks.push({ worker: await WebGpuWorker.create({ ...parts, ...own }), host });
    }
    return ranks;
  } catch (error) {
    for (const { worker } of ranks) await worker.close();
    throw error;
  }
}

function withPool(input: EngineConfigInput, pool: PoolOptions, device: GPUDevice): EngineConfigInput {
  const { fraction, ifRefused = 'fail' } = pool;
  if (ifRefused !== 'fail' && ifRefused !== 'shrink') {
    throw new ConfigError(`pool.ifRefused is ${String(ifRefused)}; use 'fail' or 'shrink'`);
  }
  if (fraction === undefined) return input;
  if (typeof fraction !== 'number' || !(fraction > 0 && fraction < Infinity)) {
    throw new ConfigError(`pool.fraction is ${String(fraction)}; use a number above 0, such as 0.5`);
  }
  const { cache } = input;
  for (const name of ['pages', 'poolBytes'] as const) {
    if (cache?.[name] === undefined) continue;
    throw new ConfigError(
      `pool.fraction is ${fraction}, and cache.${name} is ${cache[name]}; leave one of them out`,
    );
  }
  const ranks = cache?.contextParallel ?? 1;
  const poolBytes = Math.floor((fraction * device.limits.maxBufferSize) / ranks);
  return { ...input, cache: { ...cache, poolBytes } };
}

function withPages(input: EngineConfigInput, pages: number): EngineConfigInput {
  return { ...input, cache: { ...input.cache, poolBytes: undefined, pages } };
}

function hostFor({ offload, cache }: EngineConfig): HostMemory | null {
  if (offload.slots === 0) return null;
  return new HostMemory({ slots: offload.slots * offload.pagesPerSlot, slotBytes: cache.pageBytes });
}

/**
 * Staging suits the device's implementation where the caller did not choose. The sizes that suit are meant for pools of
 * many MiB. In a small one hardly more pages than it has can be on their way at once, so the buffers hold no more.
 */
function configFor(device: GPUDevice, input: EngineConfigInput): EngineConfig {
  const given: EngineConfigInput['transfer'] = input?.transfer;
  const suggested = suggestedTransfer(adapterFacts(device));
  const stagingBuffers = given?.stagingBuffers ?? suggested.stagingBuffers;
  const stagingBytes = given?.stagingBytes ?? suggested.stagingBytes;
  const whole = { ...input, transfer: { ...given, stagingBuffers, stagingBytes } };
  const config = parseConfig(engineConfigSchema, whole, WHAT);
  const { transfer, cache } = config;
  if (given?.stagingBuffers === undefined) {
    transfer.stagingBuffers = Math.min(transfer.stagingBuffers, cache.pages);
  }
  if (given?.stagingBytes === undefined) {
    transfer.stagingBytes = atMostThePool(transfer.stagingBytes, config);
  }
  return config;
}

function atMostThePool(stagingBytes: number, { cache, transfer }: EngineConfig): number {
  const pagesEach = Math.max(1, Math.floor(cache.pages / transfer.stagingBuffers));
  return Math.max(cache.pageBytes, Math.min(stagingBytes, pagesEach * cache.pageBytes));
}

/** Half a second at most. The size of staging buffers only where it is open and the pool is large enough for it to matter. */
async function tuneFor(
  device: GPUDevice,
  config: EngineConfig,
  input: EngineConfigInput,
  { force }: { force: boolean },
): Promise<Tuning> {
  const { cache, offload } = config;
  const tuning = await tune(device, { pageBytes: cache.pageBytes, force });
  const isOpen = offload.slots > 0 && input.transfer?.stagingBytes === undefined;
  if (!isOpen || cache.pages * cache.pageBytes < STAGED_POOL_BYTES_MIN) return tuning;
  const budget = Math.max(0, TUNING_MS - tuning.milliseconds);
  return { ...tuning, staging: await tuneStaging(device, { budget, force }) };
}
