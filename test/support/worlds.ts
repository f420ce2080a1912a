/** Small engines for tests: one configuration, any worker. */
import { engineConfigSchema, type EngineConfig, type EngineConfigInput } from '../../src/config.ts';
import { Engine, type EngineOptions } from '../../src/engine.ts';
import { HostMemory } from '../../src/host-memory.ts';
import { SimulatedWorker, type SimulatedWorkerOptions } from '../../src/reference/simulated-worker.ts';
import type { Worker } from '../../src/schedule/step-plan.ts';
import { pageId, slotId } from '../../src/units.ts';

export interface WorkerParts {
  readonly config: EngineConfig;
  readonly host: HostMemory | null;
}

export type MakeWorker = (parts: WorkerParts) => Promise<Worker>;

export interface World {
  readonly engine: Engine;
  readonly worker: Worker;
  readonly host: HostMemory;
  readonly slot: (index: number) => Uint32Array;
  readonly page: (index: number) => Promise<Uint32Array>;
}

/** The simulated worker for `makeWorld`. */
export function simulated(faults?: SimulatedWorkerOptions['faults']): MakeWorker {
  return ({ config: { cache, transfer, witness }, host }) =>
    Promise.resolve(new SimulatedWorker({ cache, transfer, host, witness, faults }));
}

export async function makeWorld(
  input: EngineConfigInput,
  makeWorker: MakeWorker = simulated(),
  options: Pick<EngineOptions, 'nextToken' | 'onCacheEvent' | 'onOffloadEvent'> = {},
): Promise<World> {
  const config = engineConfigSchema.parse(input);
  const host = new HostMemory({
    slots: Math.max(config.offload.slots, 1),
    slotBytes: config.cache.pageBytes,
  });
  const worker = await makeWorker({ config, host });
  const engine = new Engine({ config, worker, host, ...options });
  return {
    engine,
    worker,
    host,
    slot: (index) => words(host.view(slotId(index)).slice()),
    page: async (index) => words(await worker.readPage(pageId(index))),
  };
}

export function words(bytes: Uint8Array<ArrayBuffer>): Uint32Array {
  return new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4);
}

/** `count` tokens that depend on `start`: prompts with different starts share nothing. */
export function prompt(start: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => start + i);
}
