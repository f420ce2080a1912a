/** The project's ways to move pages against the raw ones, side by side on this runtime's adapter. */
import { afterAll, beforeAll, it } from 'vitest';
import { cacheConfigSchema, transferConfigSchema } from '../../src/config.ts';
import { adapterFacts } from '../../src/gpu/device.ts';
import { defaultStrategies, suggestedTransfer, type Strategies } from '../../src/gpu/strategies.ts';
import { tuneStaging } from '../../src/gpu/staging-tuning.ts';
import { WebGpuWorker } from '../../src/gpu/worker.ts';
import { HostMemory } from '../../src/host-memory.ts';
import { acquireAdapter } from '../../src/runtime/acquire.ts';
import { jobId, pageId, slotId } from '../../src/units.ts';
import { plan, shuffled } from '../gpu/support/pool.ts';
import { measure, type Contest, type Verdict } from './measure.ts';
import { finished, rawCopy, rawLoad, rawStore, rawZero, type RawMemory, type Way } from './raw.ts';
import { copied, zeroed } from '../support/one-group.ts';

const PAGE_BYTES = 64 * 2 ** 10;
const POOL_PAGES = 4096;
const LIST_PAGES = 2000;
const MOVED_PAGES = (64 * 2 ** 20) / PAGE_BYTES;
const ROUNDS = 21;
const TARGET = 0.8;

let device: GPUDevice;
const verdicts: Verdict[] = [];
const workers: WebGpuWorker[] = [];

beforeAll(async () => {
  const { adapter, description, runtime } = await acquireAdapter();
  const bytes = POOL_PAGES * PAGE_BYTES;
  device = await adapter.requestDevice({
    requiredLimits: {
      maxBufferSize: Math.min(bytes, adapter.limits.maxBufferSize),
      maxStorageBufferBindingSize: Math.min(bytes, adapter.limits.maxStorageBufferBindingSize),
    },
  });
  const { stagingBytes, measured } = await tuneStaging(device);
  const rates = measured.map((one) => `${one.stagingBytes / 2 ** 20} MiB ${rate(one)} GB/s`);
  console.log(
    `${runtime}: staging buffers of ${stagingBytes / 2 ** 20} MiB, picked from ${rates.join(', ')}`,
  );
  console.log(`${runtime}: ${description}; pages of ${PAGE_BYTES / 1024} KiB, medians of ${ROUNDS} rounds`);
});

afterAll(async () => {
  for (const worker of workers) await worker.close();
  device.destroy();
  const lines = verdicts.map(({ title, ratio }) => {
    const verdict = ratio >= TARGET ? 'reached' : 'MISSED';
    return `${title}: ${ratio.toFixed(2)} of the best raw way, target ${TARGET} ${verdict}`;
  });
  console.log(lines.join('\n'));
});

function rate({ bytes, milliseconds }: { bytes: number; milliseconds: number }): string {
  return (bytes / milliseconds / 1e6).toFixed(2);
}

/** A worker on the same device, with one strategy changed; without a change, with the defaults. */
async function worker(
  strategies: Partial<Strategies>,
  host: HostMemory | null = null,
): Promise<WebGpuWorker> {
  const made = await WebGpuWorker.create({
    device,
    cache: cacheConfigSchema.parse({ pages: POOL_PAGES, pageBytes: PAGE_BYTES, tokensPerPage: 16 }),
    transfer: transferConfigSchema.parse({
      ...suggestedTransfer(adapterFacts(device)),
      stagingBytes: (await tuneStaging(device)).stagingBytes,
      acknowledgementLag: 'as-they-come',
    }),
    host,
    witness: false,
    strategies,
  });
  workers.push(made);
  return made;
}

/** Each way holds 256 MiB: none outlives its contest. */
async function contest(made: Contest): Promise<void> {
  verdicts.push(await measure(made, ROUNDS));
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
function rawMemory(host = makeHost()): RawMemory {
  const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
  const makePool = () => {
    const pool = device.createBuffer({ size: POOL_PAGES * PAGE_BYTES, usage });
    rawPools.push(pool);
    return pool;
  };
  return {
    device,
    pageBytes: PAGE_BYTES,
    makePool,
    makeHost: () => host.view(slotId(0), MOVED_PAGES),
  };
}

function makeHost(): HostMemory {
  const host = new HostMemory({ slots: MOVED_PAGES, slotBytes: PAGE_BYTES });
  host.view(slotId(0), MOVED_PAGES).fill(1);
  return host;
}

const pages = shuffled(POOL_PAGES - 1).map((page) => page + 1);
const defaults = () => defaultStrategies(adapterFacts(device));

it('zeroes a scattered list', async () => {
  const list = pages.slice(0, LIST_PAGES);
  const ours: Way[] = [];
  for (const zero of ['kernel', 'clear'] as const) {
    const run = stepper(await worker({ zero }), () => ({ newPageIdsToZero: zeroed(list.map(pageId)) }));
    ours.push({ name: zero, run });
  }
  await contest({
    title: `zero ${LIST_PAGES} scattered pages`,
    bytes: LIST_PAGES * PAGE_BYTES,
    raw: await rawZero(rawMemory(), list),
    ours,
    byDefault: defaults().zero,
  });
});

it('copies a scattered list', async () => {
  const pairs = pages.slice(0, LIST_PAGES).map((page, i): [number, number] => [page, pages[LIST_PAGES + i]]);
  const copies = copied(
    pairs.map(([source, destination]) => ({ source: pageId(source), destination: pageId(destination) })),
  );
  const ours: Way[] = [];
  for (const copy of ['kernel', 'bounce'] as const) {
    ours.push({ name: copy, run: stepper(await worker({ copy }), () => ({ copies })) });
  }
  await contest({
    title: `copy ${LIST_PAGES} scattered pages`,
    bytes: LIST_PAGES * PAGE_BYTES,
    raw: await rawCopy(rawMemory(), pairs),
    ours,
    byDefault: defaults().copy,
  });
});

const lists = [
  { kind: 'neighbouring', list: Array.from({ length: MOVED_PAGES }, (_, i) => i + 1) },
  { kind: 'scattered', list: pages.slice(0, MOVED_PAGES) },
];

it.each(lists)('stores 64 MiB of $kind pages', async ({ kind, list }) => {
  const ours: Way[] = [];
  const host = makeHost();
  for (const store of ['copy', 'gather'] as const) {
    const target = await worker({ store }, host);
    // The scheduler has these lists anyway.
    const ids = { pages: list.map(pageId), slots: list.map((_, i) => slotId(i)) };
    let step = 0;
    const run = async () => {
      step += 1;
      await target.execute(plan(step, { stores: [{ id: jobId(step), ...ids }] }));
      while (target.busy) await target.execute(plan((step += 1)));
    };
    ours.push({ name: store, run });
  }
  await contest({
    title: `store 64 MiB, ${kind} pages`,
    bytes: MOVED_PAGES * PAGE_BYTES,
    raw: rawStore(rawMemory(host), list),
    ours,
    byDefault: defaults().store,
  });
});

it.each(lists)('loads 64 MiB of $kind pages', async ({ kind, list }) => {
  const load = (job: number) => ({
    loads: [{ id: jobId(job), pages: list.map(pageId), slots: list.map((_, i) => slotId(i)) }],
  });
  const ours: Way[] = [];
  const host = makeHost();
  for (const strategy of ['write', 'pack', 'scatter', 'ring'] as const) {
    const target = await worker({ load: strategy, directWritesMax: 0 }, host);
    ours.push({ name: strategy, run: stepper(target, load) });
  }
  ours.push({ name: 'as configured', run: stepper(await worker({}, host), load) });
  await contest({
    title: `load 64 MiB, ${kind} pages`,
    bytes: MOVED_PAGES * PAGE_BYTES,
    raw: rawLoad(rawMemory(host), list),
    ours,
    byDefault: 'as configured',
  });
});
