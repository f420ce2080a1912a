/** Puts an engine together from a configuration: host memory, worker, and the loop around them. */
import { engineConfigSchema, parseConfig, type EngineConfig, type EngineConfigInput } from './config.ts';
import { Engine, type EngineOptions, type Rank } from './engine.ts';
import { ConfigError } from './errors.ts';
import { adapterFacts } from './gpu/device.ts';
import { suggestedTransfer } from './gpu/strategies.ts';
import { tuneStaging } from './gpu/staging-tuning.ts';
import { tune, type Tuning } from './gpu/tuning.ts';
import { WebGpuWorker, type WebGpuWorkerOptions } from './gpu/worker.ts';
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
  /** See `WebGpuWorkerOptions`. Needs a device. */
  readonly forward?: WebGpuWorkerOptions['forward'];
}

/**
 * Creates an engine.
 *
 * @throws ConfigError for a configuration that cannot work, with the field, its value and the remedy.
 * @throws DeviceError when the device or the host refuses the memory.
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
  const { device, forward, nextToken, speculation, onCacheEvent, onOffloadEvent } = options;
  if ('queue' in options) {
    throw new ConfigError(
      'the options are a device; give the device by name: createEngine(config, { device })',
    );
  }
  if (device !== undefined && !('queue' in device)) {
    throw new ConfigError('device is no GPUDevice; give what adapter.requestDevice() resolves to');
  }
  const config = device ? configFor(device, input) : parseConfig(engineConfigSchema, input, WHAT);
  if (forward && !device) {
    throw new ConfigError('forward needs a device to run on; give one, or leave forward out');
  }
  const { cache, transfer, offload, witness } = config;
  const { tuning: mode = 'auto' } = options;
  const tuning =
    device && mode !== 'off' ? await tuneFor(device, config, input, { force: mode === 'force' }) : null;
  if (tuning?.staging) transfer.stagingBytes = atMostThePool(tuning.staging.stagingBytes, config);
  const rank = async (index: number): Promise<Rank<WebGpuWorker | SimulatedWorker>> => {
    const host = offload.slots > 0 ? hostFor(config) : null;
    const parts = { cache, transfer, host, witness, rank: index };
    if (!device) return { worker: new SimulatedWorker(parts), host };
    return { worker: await WebGpuWorker.create({ device, forward, tuning, ...parts }), host };
  };
  const ranks = [await rank(0)];
  try {
    while (ranks.length < cache.contextParallel) ranks.push(await rank(ranks.length));
  } catch (error) {
    for (const { worker } of ranks) await worker.close();
    throw error;
  }
  const [{ worker, host }, ...otherRanks] = ranks;
  return new Engine({
    config,
    worker,
    host,
    otherRanks,
    nextToken,
    speculation,
    onCacheEvent,
    onOffloadEvent,
  });
}

function hostFor({ offload, cache }: EngineConfig): HostMemory {
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
