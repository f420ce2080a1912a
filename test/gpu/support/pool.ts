/** A small pool on the device beside its twin, and plans for a worker. */
import { BufferLedger } from '../../../src/gpu/buffers.ts';
import { CommandList } from '../../../src/gpu/commands.ts';
import { PAGE_KERNELS } from '../../../src/gpu/kernels.ts';
import { PageBuffers } from '../../../src/gpu/page-buffers.ts';
import { PageKernels, type PageKernelName } from '../../../src/gpu/page-kernels.ts';
import type { StepPlan } from '../../../src/schedule/step-plan.ts';
import { WORD_BYTES } from '../../../src/units.ts';
import { readBytes } from './device.ts';

export interface PoolShape {
  readonly pageWords: number;
  readonly pages: number;
  /** Segments of at most this many pages. One segment where left out. */
  readonly pagesPerSegment?: number;
  readonly entriesPerDispatchMax?: number;
  readonly workgroupsPerDimensionMax?: number;
}

export interface Pool {
  readonly buffers: PageBuffers;
  readonly kernels: PageKernels;
  readonly commands: CommandList;
  readonly ledger: BufferLedger;
  /** What the pool holds at first: the twin's copy. */
  readonly expected: Uint32Array;
  /** What the device holds. */
  readonly read: () => Promise<Uint32Array>;
}

/** Every word tells its place, and none is zero. */
export function pattern(words: number): Uint32Array<ArrayBuffer> {
  return Uint32Array.from({ length: words }, (_, i) => Math.imul(i + 1, 0x9e3779b1) | 1);
}

export async function makePool(device: GPUDevice, shape: PoolShape): Promise<Pool> {
  const { pageWords, pages, pagesPerSegment, entriesPerDispatchMax, workgroupsPerDimensionMax } = shape;
  const pageBytes = pageWords * WORD_BYTES;
  const ledger = new BufferLedger(device);
  const segmentBytesMax = pagesPerSegment === undefined ? undefined : pagesPerSegment * pageBytes;
  const buffers = await PageBuffers.create({ device, pages, pageBytes, ledger, segmentBytesMax });
  const names = Object.keys(PAGE_KERNELS) as PageKernelName[];
  const kernels = await PageKernels.create({ device, pageWords, names, entriesPerDispatchMax });
  const expected = pattern(pages * pageWords);
  for (const { buffer, firstPage, pages: count } of buffers.segments) {
    device.queue.writeBuffer(buffer, 0, expected, firstPage * pageWords, count * pageWords);
  }
  return {
    buffers,
    kernels,
    commands: new CommandList(ledger, { workgroupsPerDimensionMax }),
    ledger,
    expected,
    read: () => readPool(device, buffers),
  };
}

async function readPool(device: GPUDevice, buffers: PageBuffers): Promise<Uint32Array> {
  const words = new Uint32Array(buffers.pages * buffers.pageWords);
  for (const { buffer, firstPage } of buffers.segments) {
    const bytes = await readBytes(device, buffer);
    words.set(new Uint32Array(bytes.buffer), firstPage * buffers.pageWords);
  }
  return words;
}

/** 0 to `count` - 1 in an order that looks like that of a pool in use; the same at each call. */
export function shuffled(count: number): number[] {
  const list = Array.from({ length: count }, (_, i) => i);
  let state = 12345;
  for (let i = count - 1; i > 0; i -= 1) {
    state = (Math.imul(state, 1103515245) + 12345) >>> 0;
    const other = Math.floor((state / 2 ** 32) * (i + 1));
    [list[i], list[other]] = [list[other], list[i]];
  }
  return list;
}

const EMPTY_PLAN: Omit<StepPlan, 'step'> = {
  stores: [],
  jobsToFlush: [],
  newPageIdsToZero: [],
  copies: [],
  loads: [],
  forward: [],
};

/** A plan of which only some parts matter. */
export function plan(step: number, parts: Partial<StepPlan> = {}): StepPlan {
  return { ...EMPTY_PLAN, ...parts, step };
}
