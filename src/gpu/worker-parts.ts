/** Makes the parts of a worker, all of them or none. */
import { resolveLayout, type CacheLayout } from '../config/layout.ts';
import { WORD_BYTES } from '../units.ts';
import { BufferLedger } from './buffers.ts';
import { CommandList } from './commands.ts';
import { BufferUsage } from './constants.ts';
import { adapterFacts, DeviceWatch } from './device.ts';
import { Loads } from './loads.ts';
import { PageBuffers } from './page-buffers.ts';
import { PageKernels, type PageKernelName } from './page-kernels.ts';
import { Stores } from './stores.ts';
import { defaultStrategies, type Strategies } from './strategies.ts';
import { WitnessKernels } from './witness.ts';
import type { WebGpuWorkerOptions } from './worker.ts';

export interface WorkerParts {
  readonly layout: CacheLayout;
  readonly strategies: Strategies;
  readonly ledger: BufferLedger;
  readonly watch: DeviceWatch;
  readonly buffers: PageBuffers;
  readonly kernels: PageKernels;
  readonly commands: CommandList;
  /** Detour of page copies within a segment. Null where a kernel copies. */
  readonly bounce: GPUBuffer | null;
  readonly stores: Stores | null;
  readonly loads: Loads | null;
  readonly witness: WitnessKernels | null;
}

/** Small enough to stay in a CPU's cache: only software adapters use it. */
const BOUNCE_BYTES = 2 ** 20;

export async function createParts(options: WebGpuWorkerOptions): Promise<WorkerParts> {
  const { device } = options;
  const watch = new DeviceWatch(device);
  const ledger = new BufferLedger(device);
  try {
    const parts = await watch.guard(makeParts(options, ledger, watch));
    await watch.guard(ledger.settle());
    return parts;
  } catch (error) {
    ledger.destroyAll();
    throw error;
  }
}

async function makeParts(
  options: WebGpuWorkerOptions,
  ledger: BufferLedger,
  watch: DeviceWatch,
): Promise<WorkerParts> {
  const { device, cache, transfer, host, witness, segmentBytesMax, rank = 0 } = options;
  const { pages, pageBytes } = cache;
  const layout = resolveLayout(cache);
  const facts = options.adapter ?? adapterFacts(device);
  const strategies: Strategies = {
    ...defaultStrategies(facts),
    ...options.tuning?.picked,
    ...options.strategies,
  };
  const buffers = await PageBuffers.create({ device, pages, pageBytes, ledger, segmentBytesMax });
  const kernels = await PageKernels.create({
    device,
    pageWords: buffers.pageWords,
    groupWords: layout.groups.map((group) => group.pageBytes / WORD_BYTES),
    names: kernelsFor(strategies, options, buffers.segments.length),
  });
  const bounceBytes = Math.max(1, Math.floor(BOUNCE_BYTES / pageBytes)) * pageBytes;
  const bounce =
    strategies.copy === 'bounce'
      ? ledger.create('bounce buffer', bounceBytes, BufferUsage.COPY_SRC | BufferUsage.COPY_DST)
      : null;
  const transfers = { ledger, watch, buffers, kernels, transfer };
  return {
    layout,
    strategies,
    ledger,
    watch,
    buffers,
    kernels,
    commands: new CommandList(ledger),
    bounce,
    stores: host && new Stores({ ...transfers, host, strategy: strategies.store }),
    loads: host && new Loads({ ...transfers, host, strategies }),
    witness: witness ? await WitnessKernels.create({ ledger, watch, buffers, layout, rank }) : null,
  };
}

/** Only what the strategies need: compiling takes longest of all. */
function kernelsFor(
  strategies: Strategies,
  options: WebGpuWorkerOptions,
  segments: number,
): PageKernelName[] {
  const { cache, host } = options;
  const names: PageKernelName[] = [];
  if (strategies.zero === 'kernel' || cache.zeroing === 'poison') names.push('zeroPages');
  if (strategies.copy === 'kernel') {
    names.push('copyPages');
    if (segments > 1) names.push('copyPagesAcross');
  }
  if (host && strategies.store === 'gather') names.push('gatherPages');
  if (host && strategies.load === 'scatter') names.push('scatterPages');
  return names;
}
