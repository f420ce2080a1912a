/** The project's ways to move pages against the raw ones, side by side on this runtime's adapter. */
import { afterAll, beforeAll, it } from 'vitest';
import { cacheConfigSchema, transferConfigSchema } from '../../src/config.ts';
import { adapterFacts } from '../../src/gpu/device.ts';
import { suggestedTransfer, type Strategies } from '../../src/gpu/strategies.ts';
import { tuneStaging } from '../../src/gpu/staging-tuning.ts';
import { tune } from '../../src/gpu/tuning.ts';
import { WebGpuWorker } from '../../src/gpu/worker.ts';
import { HostMemory } from '../../src/host-memory.ts';
import { acquireAdapter } from '../../src/runtime/acquire.ts';
import { jobId, pageId, slotId } from '../../src/units.ts';
import { plan, shuffled } from '../gpu/support/pool.ts';
import { measure, type Contest, type Verdict } from './measure.ts';
import { finished, rawCopy, rawLoad, rawMemcpy, rawStore, rawZero, type RawMemory, type Way } from './raw.ts';
import { copied, zeroed } from '../support/one-group.ts';

const KIBIBYTE = 2 ** 10;
const MEBIBYTE = 2 ** 20;
const PAGE_SIZES = [4, 16, 64, 256, 1024, 4096].map((kib) => ({ kib }));
const POOL_BYTES = 256 * MEBIBYTE;
const LIST_PAGES_MAX = 2000;
const MOVED_BYTES = 64 * MEBIBYTE;
const ROUNDS = 21;
const DEVICE_TARGET = 0.95;
const TRANSFER_TARGET = 0.9;

let device: GPUDevice;
const verdicts: (Verdict & { readonly target: number })[] = [];
const workers: WebGpuWorker[] = [];

beforeAll(async () => {
  const { adapter, description, runtime } = await acquireAdapter();
  device = await adapter.requestDevice({
    requiredLimits: {
      maxBufferSize: Math.min(POOL_BYTES, adapter.limits.maxBufferSize),
      maxStorageBufferBindingSize: Math.min(POOL_BYTES, adapter.limits.maxStorageBufferBindingSize),
    },
  });
  const { stagingBytes, measured } = await tuneStaging(device);
  const rates = measured.map((one) => `${one.stagingBytes / 2 ** 20} MiB ${rate(one)} GB/s`);
  console.log(
    `${runtime}: staging buffers of ${stagingBytes / 2 ** 20} MiB, picked from ${rates.join(', ')}`,
  );
  console.log(`${runtime}: ${description}; medians of ${ROUNDS} rounds`);
});

afterAll(async () => {
  for (const worker of workers) await worker.close();
  device.destroy();
  const lines = verdicts.map(({ title, ratio, interval, target, byKernel, ofLimit }) => {
    const verdict = ratio >= target ? 'reached' : 'MISSED';
    const [low, high] = interval.map((bound) => bound.toFixed(2));
    return [
      `${title}: ${ratio.toFixed(2)} (${low} to ${high}) of the best raw way, target ${target} ${verdict}`,
      ...(byKernel === null ? [] : [`kernel ${byKernel.toFixed(2)}`]),
      ...(ofLimit === null ? [] : [`${ofLimit.toFixed(2)} of memcpy`]),
    ].join('; ');
  });
  console.log(lines.join('\n'));
});

function rate({ bytes, milliseconds }: { bytes: number; milliseconds: number }): string {
  return (bytes / milliseconds / 1e6).toFixed(2);
}

/** A worker on the same device, with one strategy changed; the rest is what was measured to be best here. */
async function worker(
  pageBytes: number,
  strategies: Partial<Strategies>,
  host: HostMemory | null = null,
): Promise<WebGpuWorker> {
  const made = await WebGpuWorker.create({
    device,
    cache: cacheConfigSchema.parse({ pages: POOL_BYTES / pageBytes, pageBytes, tokensPerPage: 16 }),
    transfer: transferConfigSchema.parse({
      ...suggestedTransfer(adapterFacts(device)),
      stagingBytes: (await tuneStaging(device)).stagingBytes,
      acknowledgementLag: 'as-they-come',
    }),
    host,
    witness: false,
    tuning: await tune(device, { pageBytes }),
    strategies,
  });
  workers.push(made);
  return made;
}

/** Each way holds 256 MiB: none outlives its contest. */
async function contest(made: Contest, target: number): Promise<void> {
  verdicts.push({ ...(await measure(made, ROUNDS)), target });
  for (const each of workers.splice(0)) await each.close();
  for (const pool of rawPools.splice(0)) pool.destroy();
}

/** Drives a step, and what it leaves under way, to its end. */
function stepper(
  target: WebGpuWorker,
  parts: (job: number) => Parameters<typeof plan>[1],
): () => Promise<void> {
  let step = 0;
  return async () => {
    step += 1;
    await target.execute(plan(step, parts(step)));
    await finished(device);
  };
}

const rawPools: GPUBuffer[] = [];

/**
 * Pools of their own, since what another way has just written is written again at half the speed, and one host memory:
 * where that lies in the machine's memory makes up to a factor of two for one and the same command.
 */
function rawMemory(pageBytes: number, host = makeHost(pageBytes)): RawMemory {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const makePool = () => {
    const pool = device.createBuffer({ size: POOL_BYTES, usage });
    rawPools.push(pool);
    return pool;
  };
  return { device, pageBytes, makePool, makeHost: () => host.view(slotId(0), MOVED_BYTES / pageBytes) };
}

function makeHost(pageBytes: number): HostMemory {
  const slots = MOVED_BYTES / pageBytes;
  const host = new HostMemory({ slots, slotBytes: pageBytes });
  host.view(slotId(0), slots).fill(1);
  return host;
}

/** All pages of a pool but the null page, in an order without neighbours to speak of. */
const scattered = (pageBytes: number) => shuffled(POOL_BYTES / pageBytes - 1).map((page) => page + 1);

/** As many pages as a busy step may zero, or half the pool where pages are large. */
const listed = (pageBytes: number) => Math.min(LIST_PAGES_MAX, POOL_BYTES / pageBytes / 2 - 1);

it.each(PAGE_SIZES)('zeroes scattered pages of $kib KiB', async ({ kib }) => {
  const pageBytes = kib * KIBIBYTE;
  const list = scattered(pageBytes).slice(0, listed(pageBytes));
  const ours: Way[] = [];
  // The scheduler has such lists anyway.
  const newPageIdsToZero = zeroed(list.map(pageId));
  for (const zero of ['kernel', 'clear'] as const) {
    const target = await worker(pageBytes, { zero });
    const run = stepper(target, () => ({ newPageIdsToZero }));
    ours.push({ name: zero, run });
  }
  await contest(
    {
      title: `zero ${list.length} scattered pages of ${kib} KiB`,
      bytes: list.length * pageBytes,
      raw: await rawZero(rawMemory(pageBytes), list),
      ours,
      byDefault: (await tune(device, { pageBytes })).picked.zero,
      kernel: 'kernel',
    },
    DEVICE_TARGET,
  );
});

it.each(PAGE_SIZES)('copies scattered pages of $kib KiB', async ({ kib }) => {
  const pageBytes = kib * KIBIBYTE;
  const pages = scattered(pageBytes);
  const count = listed(pageBytes);
  const pairs = pages.slice(0, count).map((page, i): [number, number] => [page, pages[count + i]]);
  const copies = copied(
    pairs.map(([source, destination]) => ({ source: pageId(source), destination: pageId(destination) })),
  );
  const ours: Way[] = [];
  for (const copy of ['kernel', 'bounce'] as const) {
    ours.push({ name: copy, run: stepper(await worker(pageBytes, { copy }), () => ({ copies })) });
  }
  await contest(
    {
      title: `copy ${count} scattered pages of ${kib} KiB`,
      bytes: count * pageBytes,
      raw: await rawCopy(rawMemory(pageBytes), pairs),
      ours,
      byDefault: (await tune(device, { pageBytes })).picked.copy,
      kernel: 'kernel',
    },
    DEVICE_TARGET,
  );
});

const LISTS = PAGE_SIZES.flatMap(({ kib }) =>
  (['neighbouring', 'scattered'] as const).map((kind) => ({ kib, kind })),
);

/** 64 MiB in pages of such a size, one after the other or strewn over the pool. */
function movedList(kind: 'neighbouring' | 'scattered', pageBytes: number): number[] {
  const count = MOVED_BYTES / pageBytes;
  if (kind === 'scattered') return scattered(pageBytes).slice(0, count);
  return Array.from({ length: count }, (_, i) => i + 1);
}

it.each(LISTS)('stores 64 MiB of $kind pages of $kib KiB', async ({ kind, kib }) => {
  const pageBytes = kib * KIBIBYTE;
  const list = movedList(kind, pageBytes);
  const ours: Way[] = [];
  const host = makeHost(pageBytes);
  for (const store of ['copy', 'gather'] as const) {
    const target = await worker(pageBytes, { store }, host);
    const ids = { pages: list.map(pageId), slots: list.map((_, i) => slotId(i)) };
    let step = 0;
    const run = async () => {
      step += 1;
      await target.execute(plan(step, { stores: [{ id: jobId(step), ...ids }] }));
      while (target.busy) await target.execute(plan((step += 1)));
    };
    ours.push({ name: store, run });
  }
  const memory = rawMemory(pageBytes, host);
  await contest(
    {
      title: `store 64 MiB, ${kind} pages of ${kib} KiB`,
      bytes: MOVED_BYTES,
      raw: rawStore(memory, list),
      ours,
      byDefault: (await tune(device, { pageBytes })).picked.store,
      kernel: 'gather',
      limit: rawMemcpy(memory, MOVED_BYTES),
    },
    TRANSFER_TARGET,
  );
});

it.each(LISTS)('loads 64 MiB of $kind pages of $kib KiB', async ({ kind, kib }) => {
  const pageBytes = kib * KIBIBYTE;
  const list = movedList(kind, pageBytes);
  const ids = { pages: list.map(pageId), slots: list.map((_, i) => slotId(i)) };
  const load = (job: number) => ({ loads: [{ id: jobId(job), ...ids }] });
  const ours: Way[] = [];
  const host = makeHost(pageBytes);
  for (const strategy of ['write', 'pack', 'scatter', 'ring'] as const) {
    const target = await worker(pageBytes, { load: strategy, directWritesMax: 0 }, host);
    ours.push({ name: strategy, run: stepper(target, load) });
  }
  ours.push({ name: 'as configured', run: stepper(await worker(pageBytes, {}, host), load) });
  const memory = rawMemory(pageBytes, host);
  await contest(
    {
      title: `load 64 MiB, ${kind} pages of ${kib} KiB`,
      bytes: MOVED_BYTES,
      raw: rawLoad(memory, list),
      ours,
      byDefault: 'as configured',
      kernel: 'scatter',
      limit: rawMemcpy(memory, MOVED_BYTES),
    },
    TRANSFER_TARGET,
  );
});
