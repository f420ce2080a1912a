/** Puts an engine together from a configuration: host memory, worker, and the loop around them. */
import { engineConfigSchema, parseConfig, type EngineConfigInput } from './config.ts';
import { Engine, type EngineOptions } from './engine.ts';
import { WebGpuWorker } from './gpu/worker.ts';
import { HostMemory } from './host-memory.ts';
import { SimulatedWorker } from './reference/simulated-worker.ts';

export interface CreateEngineOptions extends Pick<EngineOptions, 'nextToken' | 'onCacheEvent'> {
  /**
   * The device that holds the pages. It stays the caller's: the engine makes and destroys its own buffers on it and
   * nothing else. Left out: the pages are plain arrays (the simulated worker).
   */
  readonly device?: GPUDevice;
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
 * const [first] = await engine.drain();
 * console.log(first.outputTokens); // 4
 * await engine.close();
 * ```
 */
export async function createEngine(
  input: EngineConfigInput,
  options: CreateEngineOptions = {},
): Promise<Engine> {
  const config = parseConfig(engineConfigSchema, input, 'engine configuration');
  const { cache, transfer, offload, witness } = config;
  const host =
    offload.slots > 0 ? new HostMemory({ slots: offload.slots, slotBytes: cache.pageBytes }) : null;
  const parts = { cache, transfer, host, witness };
  const { device, nextToken, onCacheEvent } = options;
  const worker = device ? await WebGpuWorker.create({ device, ...parts }) : new SimulatedWorker(parts);
  return new Engine({ config, worker, host, nextToken, onCacheEvent });
}
