/** Our own kernels against their twins on the CPU, on sizes where index arithmetic goes wrong. */
import { BufferLedger } from '../gpu/buffers.ts';
import { CommandList } from '../gpu/commands.ts';
import { BufferUsage } from '../gpu/constants.ts';
import { recordCopies } from '../gpu/copy.ts';
import { PAGE_KERNELS } from '../gpu/kernels.ts';
import { PageBuffers } from '../gpu/page-buffers.ts';
import { bySegment, PageKernels, type PageKernelName } from '../gpu/page-kernels.ts';
import { recordZero } from '../gpu/zero.ts';
import { copyPages, gatherPages, scatterPages, zeroPages } from '../reference/kernels/index.ts';
import { pageId, WORD_BYTES } from '../units.ts';
import { firstProblem, type CaseContext, type ConformanceCase } from './case.ts';
import { webgpu } from './spec.ts';
import { difference, pattern, Workbench } from './workbench.ts';

interface PoolShape {
  readonly pageWords: number;
  readonly pages: number;
  /** One segment where left out. */
  readonly pagesPerSegment?: number;
  /** Below the device's own, so that few pages make a grid of several rows. */
  readonly workgroupsPerDimensionMax?: number;
}

/** 1, 3 and 5 words take the word form, the others the vec4 form; 1,024 words take several workgroups a page. */
const SHAPES: readonly PoolShape[] = [
  { pageWords: 1, pages: 200 },
  { pageWords: 3, pages: 41, pagesPerSegment: 10 },
  { pageWords: 5, pages: 30 },
  { pageWords: 12, pages: 6, pagesPerSegment: 4 },
  { pageWords: 64, pages: 17, pagesPerSegment: 1 },
  { pageWords: 1024, pages: 9, pagesPerSegment: 4 },
  { pageWords: 4099, pages: 5, workgroupsPerDimensionMax: 4 },
  { pageWords: 4096, pages: 5, workgroupsPerDimensionMax: 3 },
];

interface Rig {
  readonly bench: Workbench;
  readonly buffers: PageBuffers;
  readonly kernels: PageKernels;
  readonly commands: CommandList;
  readonly ledger: BufferLedger;
  /** The twin's pool: what the device's pool holds at first. */
  readonly twin: Uint32Array<ArrayBuffer>;
}

async function makeRig(context: CaseContext, shape: PoolShape, ledger: BufferLedger): Promise<Rig> {
  const { device } = context;
  const { pageWords, pages, pagesPerSegment, workgroupsPerDimensionMax } = shape;
  const pageBytes = pageWords * WORD_BYTES;
  const segmentBytesMax = pagesPerSegment === undefined ? undefined : pagesPerSegment * pageBytes;
  const made = PageBuffers.create({ device, pages, pageBytes, ledger, segmentBytesMax });
  const buffers = await context.wait(made, 'making the pool');
  const names = Object.keys(PAGE_KERNELS) as PageKernelName[];
  const compiled = PageKernels.create({ device, pageWords, names });
  const kernels = await context.wait(compiled, 'compiling the kernels');
  const twin = pattern(pages * pageWords);
  for (const { buffer, firstPage, pages: count } of buffers.segments) {
    device.queue.writeBuffer(buffer, 0, twin, firstPage * pageWords, count * pageWords);
  }
  const commands = new CommandList(ledger, { workgroupsPerDimensionMax });
  return { bench: new Workbench(context), buffers, kernels, commands, ledger, twin };
}

async function poolDifference({ bench, buffers, twin }: Rig, what: string): Promise<string | null> {
  const words = new Uint32Array(twin.length);
  // At once: a read takes 11 ms in Deno however small it is.
  const read = buffers.segments.map(async ({ buffer, firstPage }) => {
    words.set(await bench.read(buffer), firstPage * buffers.pageWords);
  });
  await Promise.all(read);
  return difference(words, twin, what);
}

/** 0 to `count` - 1 in an order without system, the same each time. */
function shuffled(count: number): number[] {
  const list = Array.from({ length: count }, (_, i) => i);
  const rank = pattern(count, 11);
  return list.sort((a, b) => rank[a] - rank[b]);
}

/** First page, last page, every second one in disorder, all. */
function lists(pages: number): number[][] {
  const all = shuffled(pages);
  return [[0], [pages - 1], all.filter((page) => page % 2 === 1), all];
}

/** The first half of a list onto the second. */
function pairs(pages: readonly number[]) {
  const half = Math.floor(pages.length / 2);
  return Array.from({ length: half }, (_, i) => ({
    source: pageId(pages[i]),
    destination: pageId(pages[half + i]),
  }));
}

const CHECKS: Readonly<
  Record<
    string,
    { title: string; promise: string; check: (rig: Rig, shape: PoolShape) => Promise<(string | null)[]> }
  >
> = {
  zero: {
    title: 'zeroing',
    promise: 'A recycled page is zeroed, and no other.',
    check: async (rig, { pages, pageWords }) => {
      const problems: (string | null)[] = [];
      // A word that is not zero shows what is written twice or not at all.
      for (const [i, list] of lists(pages).entries()) {
        for (const fill of [0, 0xa5a5_0000 + i]) {
          recordZero(list, { ...rig, strategy: 'kernel', fill });
          rig.commands.submit('conformance zero');
          zeroPages(rig.twin, { strideWords: pageWords, pageWords }, list, fill);
          problems.push(await poolDifference(rig, `${list.length} pages filled with ${fill}`));
        }
      }
      return problems;
    },
  },
  copy: {
    title: 'copying',
    promise: 'Copy-on-write copies whole pages, within segments and across them.',
    check: async (rig, { pages, pageWords }) => {
      const problems: (string | null)[] = [];
      const inOrder = Array.from({ length: pages }, (_, i) => i);
      for (const copies of [pairs(shuffled(pages)), pairs(inOrder), pairs([0, pages - 1])]) {
        recordCopies(copies, { ...rig, strategy: 'kernel', bounce: null });
        rig.commands.submit('conformance copy');
        copyPages(rig.twin, { strideWords: pageWords, pageWords }, copies);
        problems.push(await poolDifference(rig, `${copies.length} copies`));
      }
      return problems;
    },
  },
  gather: {
    title: 'gathering',
    promise: 'A store packs its pages into staging in the order of its list.',
    check: async (rig, { pages, pageWords }) => {
      const problems: (string | null)[] = [];
      for (const list of lists(pages)) {
        const usage = BufferUsage.STORAGE | BufferUsage.COPY_SRC;
        const staging = rig.ledger.create('conformance staging', pages * rig.buffers.pageBytes, usage);
        for (const [segment, which] of bySegment(list, rig.buffers)) {
          rig.kernels.move(rig.commands, 'gatherPages', [segment.buffer, staging], {
            count: which.length,
            source: (i) => list[which[i]] - segment.firstPage,
            destination: (i) => which[i],
          });
        }
        rig.commands.submit('conformance gather');
        const expected = new Uint32Array(pages * pageWords);
        gatherPages(rig.twin, pageWords, list, expected);
        problems.push(difference(await rig.bench.read(staging), expected, `${list.length} pages gathered`));
      }
      return problems;
    },
  },
  scatter: {
    title: 'scattering',
    promise: 'A load spreads staging over its pages, each where it belongs.',
    check: async (rig, { pages, pageWords }) => {
      const problems: (string | null)[] = [];
      for (const [i, list] of lists(pages).entries()) {
        const words = pattern(pages * pageWords, i + 1);
        const usage = BufferUsage.STORAGE | BufferUsage.COPY_DST;
        const staging = rig.ledger.create('conformance staging', words.byteLength, usage);
        rig.bench.device.queue.writeBuffer(staging, 0, words);
        for (const [segment, which] of bySegment(list, rig.buffers)) {
          rig.kernels.move(rig.commands, 'scatterPages', [staging, segment.buffer], {
            count: which.length,
            source: (at) => which[at],
            destination: (at) => list[which[at]] - segment.firstPage,
          });
        }
        rig.commands.submit('conformance scatter');
        scatterPages(words, pageWords, list, rig.twin);
        problems.push(await poolDifference(rig, `${list.length} pages scattered`));
      }
      return problems;
    },
  },
};

function describe({ pages, pageWords, pagesPerSegment, workgroupsPerDimensionMax }: PoolShape): string {
  const segments = pagesPerSegment === undefined ? '' : ` in segments of ${pagesPerSegment}`;
  const rows =
    workgroupsPerDimensionMax === undefined ? '' : `, rows of ${workgroupsPerDimensionMax} workgroups`;
  return `${pages} pages of ${pageWords * WORD_BYTES} bytes${segments}${rows}`;
}

export const KERNEL_CASES: readonly ConformanceCase[] = Object.entries(CHECKS).flatMap(
  ([name, { title, promise, check }]) =>
    SHAPES.map((shape) => ({
      id: `kernels/${name}-${shape.pages}-pages-of-${shape.pageWords}-words`,
      title: `${title} by kernel as on the CPU: ${describe(shape)}`,
      spec: webgpu(
        'GPUComputePassEncoder.dispatchWorkgroups',
        'dom-gpucomputepassencoder-dispatchworkgroups',
      ),
      promise,
      run: async (context: CaseContext) => {
        const ledger = new BufferLedger(context.device);
        try {
          return firstProblem(...(await check(await makeRig(context, shape, ledger), shape)));
        } finally {
          ledger.destroyAll();
        }
      },
    })),
);
