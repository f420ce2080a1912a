/** The kernels that stand in for the forward pass, against their twins. */
import { BufferLedger } from '../gpu/buffers.ts';
import { CommandList } from '../gpu/commands.ts';
import { WITNESS_KERNELS, type Kernel } from '../gpu/kernels.ts';
import { compileKernel, type Pipeline } from '../gpu/pipelines.ts';
import { PAGE_OPS_HEADER_WORDS, REPORT_LAYOUT } from '../gpu/witness.ts';
import { witnessCheck, witnessFill } from '../reference/kernels/index.ts';
import { ceilDiv } from '../units.ts';
import { OpList, PAGE_OP_WORDS, type PageOps } from '../witness/page-ops.ts';
import type { PageShape } from '../witness/page-shape.ts';
import { firstProblem, type CaseContext, type ConformanceCase, type Outcome } from './case.ts';
import { webgpu } from './spec.ts';
import { difference, pattern, Workbench } from './workbench.ts';

const PAGES = 9;
const FINDINGS = 64;

/** Rows of less than a word, of a few, of a page; pages of several tiles; tokens dealt out to ranks. */
const SHAPES: readonly Pick<PageShape, 'pageWords' | 'rows' | 'ratio' | 'interleave' | 'ranks'>[] = [
  { pageWords: 3, rows: 3, ratio: 1, interleave: 1, ranks: 1 },
  { pageWords: 64, rows: 16, ratio: 1, interleave: 1, ranks: 1 },
  { pageWords: 60, rows: 4, ratio: 4, interleave: 8, ranks: 2 },
  { pageWords: 3000, rows: 7, ratio: 1, interleave: 1, ranks: 1 },
];

interface Kernels {
  readonly commands: CommandList;
  readonly shape: PageShape;
  readonly tokens: Uint32Array;
}

/** Operations on all pages, the first and the last of them on a part only. */
function operations({ pageWords }: PageShape): PageOps {
  const ops = new OpList();
  for (let page = 0; page < PAGES; page += 1) {
    const start = page === 0 ? Math.floor(pageWords / 3) : 0;
    const end = page === PAGES - 1 ? Math.ceil(pageWords / 2) : pageWords;
    ops.push(page, 1000 + page, page * 3, start, end);
  }
  return ops;
}

function compile(device: GPUDevice, kernel: Kernel, shape: PageShape): Promise<Pipeline> {
  return compileKernel(device, kernel, {
    workgroup_size: kernel.workgroupSize,
    words_per_invocation: kernel.perInvocation,
    stride_words: shape.strideWords,
    page_words: shape.pageWords,
    rows: shape.rows,
    ratio: shape.ratio,
    interleave: shape.interleave,
    ranks: shape.ranks,
    rank: shape.rank,
  });
}

function run(pipeline: Pipeline, ops: PageOps, segment: GPUBuffer, rest: GPUBuffer[], rig: Kernels): void {
  const { commands, shape, tokens } = rig;
  const tokenRegion = commands.parameters.reserve(tokens.length);
  tokenRegion.view.set(tokens);
  const words = ops.count * PAGE_OP_WORDS;
  const list = commands.parameters.reserve(PAGE_OPS_HEADER_WORDS + words);
  list.view.set([ops.count, 0, 1]);
  list.view.set(ops.data.subarray(0, words), PAGE_OPS_HEADER_WORDS);
  const { workgroupSize, perInvocation } = pipeline.kernel;
  const tiles = ceilDiv(shape.pageWords, workgroupSize * perInvocation);
  commands.dispatch(pipeline, [segment, list.region, tokenRegion.region, ...rest], ops.count * tiles);
  commands.submit('conformance witness');
}

async function fillAndCheck(context: CaseContext, shape: PageShape, ledger: BufferLedger): Promise<Outcome> {
  const bench = new Workbench(context);
  const { witnessFill: fillKernel, witnessCheck: checkKernel } = WITNESS_KERNELS;
  const compiled = [fillKernel, checkKernel].map((kernel) => compile(context.device, kernel, shape));
  const [fill, check] = await context.wait(Promise.all(compiled), 'compiling the kernels');
  const twin = pattern(PAGES * shape.strideWords);
  const segment = bench.storage(twin);
  const tokens = pattern(PAGES * 3 + shape.rows * shape.ratio * shape.ranks, 5);
  const rig: Kernels = { commands: new CommandList(ledger), shape, tokens };
  const ops = operations(shape);

  run(fill, ops, segment, [], rig);
  witnessFill(twin, shape, ops, tokens);
  const filled = difference(await bench.read(segment), twin, 'after the fill');

  const damaged = [2 * shape.strideWords, 5 * shape.strideWords + shape.pageWords - 1];
  for (const word of damaged) {
    twin[word] ^= 1;
    bench.device.queue.writeBuffer(segment, word * twin.BYTES_PER_ELEMENT, twin, word, 1);
  }
  const report = bench.storage(
    new Uint32Array(REPORT_LAYOUT.findings + FINDINGS * REPORT_LAYOUT.findingWords),
  );
  run(check, ops, segment, [report], rig);
  const words = await bench.read(report);
  const found = new Set<number>();
  for (let i = 0; i < words[REPORT_LAYOUT.recorded]; i += 1) {
    found.add(words[REPORT_LAYOUT.findings + i * REPORT_LAYOUT.findingWords]);
  }
  const expected = witnessCheck(twin, shape, ops, tokens);
  return firstProblem(
    filled,
    difference(words.subarray(0, 1), Uint32Array.of(expected.mismatches), 'mismatches'),
    difference(Uint32Array.from(found).sort(), Uint32Array.from(expected.pages), 'pages found'),
  );
}

export const WITNESS_CASES: readonly ConformanceCase[] = SHAPES.map((part) => {
  const { pageWords, rows, ratio, interleave, ranks } = part;
  return {
    id: `kernels/witness-${pageWords}-words-${rows}-rows-${ranks}-ranks`,
    title: `filling and checking as on the CPU: ${rows} rows in ${pageWords} words, ${ratio} tokens a row, ${ranks} ranks in runs of ${interleave}`,
    spec: webgpu('GPUComputePassEncoder.dispatchWorkgroups', 'dom-gpucomputepassencoder-dispatchworkgroups'),
    promise: 'The witness counts every word that does not hold what it must.',
    run: async (context) => {
      const ledger = new BufferLedger(context.device);
      try {
        return await fillAndCheck(context, { ...part, strideWords: pageWords + 4, rank: ranks - 1 }, ledger);
      } finally {
        ledger.destroyAll();
      }
    },
  };
});
