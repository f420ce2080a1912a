/** A small worker over several segments on both sides, whose pages tell their places. */
import { expect } from 'vitest';
import { cacheConfigSchema, transferConfigSchema, type TransferConfig } from '../../../src/config.ts';
import { WebGpuWorker, type WebGpuWorkerOptions } from '../../../src/gpu/worker.ts';
import { HostMemory } from '../../../src/host-memory.ts';
import type { Acknowledgement } from '../../../src/schedule/step-plan.ts';
import { jobId, pageId, slotId } from '../../../src/units.ts';
import { withDevice } from './device.ts';
import { pattern, plan } from './pool.ts';

export const PAGE_WORDS = 12;
export const PAGE_BYTES = 4 * PAGE_WORDS;
export const PAGES = 40;

export interface Setup {
  readonly transfer?: Partial<TransferConfig>;
  readonly options?: Partial<WebGpuWorkerOptions>;
  readonly zeroing?: 'always' | 'poison';
}

export interface Rig {
  readonly worker: WebGpuWorker;
  readonly host: HostMemory;
}

/** A worker whose pages hold the pattern, in segments of 7 pages, over host segments of 5 slots. */
export async function withWorker(
  setup: Setup,
  body: (rig: Rig, device: GPUDevice) => Promise<void>,
): Promise<void> {
  await withDevice(async (device) => {
    const host = new HostMemory({ slots: PAGES, slotBytes: PAGE_BYTES, segmentBytesMax: 5 * PAGE_BYTES });
    const worker = await WebGpuWorker.create({
      device,
      cache: cacheConfigSchema.parse({
        pages: PAGES,
        pageBytes: PAGE_BYTES,
        tokensPerPage: 4,
        zeroing: setup.zeroing ?? 'always',
      }),
      transfer: transferConfigSchema.parse({
        stagingBuffers: 3,
        stagingBytes: 6 * PAGE_BYTES,
        overflowBytes: 8 * PAGE_BYTES,
        acknowledgementLag: 1,
        ...setup.transfer,
      }),
      host,
      witness: false,
      segmentBytesMax: 7 * PAGE_BYTES,
      ...setup.options,
    });
    for (let page = 0; page < PAGES; page += 1) worker.damagePage(pageId(page), 0, bytesOf(page));
    try {
      await body({ worker, host }, device);
    } finally {
      await worker.close();
    }
    expect(worker.liveBytes).toBe(0);
  });
}

const ALL = pattern(PAGES * PAGE_WORDS);
/** The bytes that page (or slot) `page` holds at first. */
export function bytesOf(page: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(ALL.buffer.slice(page * PAGE_BYTES, (page + 1) * PAGE_BYTES));
}
export const ZEROS = new Uint8Array(PAGE_BYTES);

export const store = (id: number, moves: readonly [page: number, slot: number][]) => ({
  id: jobId(id),
  pages: moves.map(([page]) => pageId(page)),
  slots: moves.map(([, slot]) => slotId(slot)),
});

/** Runs empty steps until everything is acknowledged. */
export async function drain(worker: WebGpuWorker, step: number): Promise<Acknowledgement[]> {
  const acknowledgements: Acknowledgement[] = [];
  for (let next = step; worker.busy && next < step + 500; next += 1) {
    acknowledgements.push(...(await worker.execute(plan(next))).acknowledgements);
  }
  expect(worker.busy).toBe(false);
  return acknowledgements;
}
