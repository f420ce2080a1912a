/**
 * The forward pass of a run without a model: fills computed rows with the witness pattern, checks every row that is
 * read, and counts what does not hold.
 */
import { ConfigError } from '../errors.ts';
import type { ForwardRequest, WitnessReport } from '../schedule/step-plan.ts';
import { ceilDiv, pageId, WORD_BYTES } from '../units.ts';
import type { CacheLayout } from '../config/layout.ts';
import { PAGE_OP_WORDS, type PageOps } from '../witness/page-ops.ts';
import { pageShape, type PageShape } from '../witness/page-shape.ts';
import { witnessOps } from '../witness/witness-ops.ts';
import { mappedBytes, type BufferLedger } from './buffers.ts';
import { WORKGROUPS_MAX, type Binding, type CommandList } from './commands.ts';
import { BufferUsage, MapMode } from './constants.ts';
import type { DeviceWatch } from './device.ts';
import { WITNESS_KERNELS, type Kernel } from './kernels.ts';
import type { PageBuffers, PageSegment } from './page-buffers.ts';
import type { ParameterRegion } from './parameters.ts';
import { compileKernel, type Pipeline } from './pipelines.ts';

/** Words in front of the operations of a `PageOps`: count, first page, step. */
export const PAGE_OPS_HEADER_WORDS = 3;

/** The `Report` of `witness_check.wgsl`: three counters, then findings of two words (page, step). */
export const REPORT_LAYOUT = { mismatches: 0, recent: 1, recorded: 2, findings: 3, findingWords: 2 } as const;
const FINDINGS_MAX = 1024;
const REPORT_BYTES = (REPORT_LAYOUT.findings + FINDINGS_MAX * REPORT_LAYOUT.findingWords) * WORD_BYTES;

/** Pages that `readReport` names. */
const PAGES_REPORTED_MAX = 64;

export interface WitnessOptions {
  readonly ledger: BufferLedger;
  readonly watch: DeviceWatch;
  readonly buffers: PageBuffers;
  readonly layout: CacheLayout;
  /** Which of the layout's ranks the pages belong to. */
  readonly rank: number;
  /** Words after which the counter on the device is read ahead of its overflow at 2^32. */
  readonly drainWords?: number;
}

export class WitnessKernels {
  private readonly options: WitnessOptions;
  /** By group. Groups of one shape share their kernels. */
  private readonly pipelines: readonly ShapePipelines[];
  private readonly report: GPUBuffer;
  /** Words checked since the counter on the device was last read. */
  private wordsSinceDrain = 0;
  private checkedWords = 0;
  private mismatches = 0;
  private readonly pages = new Map<string, WitnessReport['pages'][number]>();
  private readonly drains = new Set<Promise<void>>();

  static async create(options: WitnessOptions): Promise<WitnessKernels> {
    const { ledger, layout, rank } = options;
    const compiled = new Map<string, Promise<ShapePipelines>>();
    const pipelines = layout.groups.map((group) => {
      const shape = pageShape(layout, group, rank);
      const key = JSON.stringify(shape);
      const known = compiled.get(key) ?? compileShape(ledger.device, shape);
      compiled.set(key, known);
      return known;
    });
    return new WitnessKernels(options, await Promise.all(pipelines));
  }

  private constructor(options: WitnessOptions, pipelines: readonly ShapePipelines[]) {
    this.options = options;
    this.pipelines = pipelines;
    const usage = BufferUsage.STORAGE | BufferUsage.COPY_SRC | BufferUsage.COPY_DST;
    this.report = options.ledger.create('witness report', REPORT_BYTES, usage);
  }

  /** Records the forward pass of a step: checks of what it starts from, all fills, then checks of all that it reads. */
  record(forward: readonly ForwardRequest[], step: number, commands: CommandList): void {
    const { tokens, groups } = witnessOps(forward, this.options.layout, this.options.rank);
    let checked = 0;
    let filled = 0;
    for (const { before, fill, check } of groups) {
      checked += before.words + check.words;
      filled += fill.words;
    }
    if (checked + filled === 0) return;
    const { region, view } = commands.parameters.reserve(tokens.length);
    view.set(tokens);
    if (this.wordsSinceDrain + checked >= (this.options.drainWords ?? 2 ** 32)) this.drain(commands);
    // Each step records its own findings, also of a page that an earlier step has named.
    commands.clear(this.report, REPORT_LAYOUT.recent * WORD_BYTES, WORD_BYTES);
    const recordAll = (part: 'before' | 'fill' | 'check', rest: readonly Binding[]) => {
      for (const [i, group] of groups.entries()) {
        const pipeline = this.pipelines[i][part === 'fill' ? 'fill' : 'check'];
        this.recordOps(commands, { pipeline, ops: group[part], shape: group.shape, step }, [region, ...rest]);
      }
    };
    recordAll('before', [this.report]);
    recordAll('fill', []);
    recordAll('check', [this.report]);
    this.checkedWords += checked;
    this.wordsSinceDrain += checked;
  }

  /** What was found since the start, after everything submitted so far. */
  async readReport(commands: CommandList): Promise<WitnessReport> {
    this.drain(commands);
    const { checkedWords } = this;
    commands.submit('witness report');
    await Promise.all(this.drains);
    return { mismatches: this.mismatches, checkedWords, pages: [...this.pages.values()] };
  }

  /** Waits for reports under way. */
  async settle(): Promise<void> {
    await Promise.allSettled(this.drains);
  }

  private recordOps(
    commands: CommandList,
    what: {
      readonly pipeline: Pipeline;
      readonly ops: PageOps;
      readonly shape: PageShape;
      readonly step: number;
    },
    rest: readonly (Binding | ParameterRegion)[],
  ): void {
    const { pipeline, ops, shape, step } = what;
    const { pageWords } = shape;
    const { workgroupSize, perInvocation } = pipeline.kernel;
    const tilesPerPage = ceilDiv(pageWords, workgroupSize * perInvocation);
    const room = Math.floor((commands.parameters.regionWordsMax - PAGE_OPS_HEADER_WORDS) / PAGE_OP_WORDS);
    const opsMax = Math.min(room, Math.floor(WORKGROUPS_MAX / tilesPerPage));
    for (const { segment, data } of opsBySegment(ops, this.options.buffers)) {
      const wordsMax = opsMax * PAGE_OP_WORDS;
      for (let start = 0; start < data.length; start += wordsMax) {
        const part = data.subarray(start, start + wordsMax);
        const count = part.length / PAGE_OP_WORDS;
        const { region, view } = commands.parameters.reserve(PAGE_OPS_HEADER_WORDS + part.length);
        view.set([count, segment.firstPage, step]);
        view.set(part, PAGE_OPS_HEADER_WORDS);
        commands.dispatch(pipeline, [segment.buffer, region, ...rest], count * tilesPerPage);
      }
    }
  }

  /** Records the reading of the report, and its reset. The counts are added up when they arrive. */
  private drain(commands: CommandList): void {
    const { ledger, watch } = this.options;
    const usage = BufferUsage.MAP_READ | BufferUsage.COPY_DST;
    const size = Math.ceil(REPORT_BYTES / 8) * 8;
    const readback = ledger.create('witness report read-back', size, usage);
    commands.copy(this.report, 0, readback, 0, REPORT_BYTES);
    commands.clear(this.report, 0, REPORT_BYTES);
    this.wordsSinceDrain = 0;
    // Mapped once the submit is through, which the caller sees to before it next awaits.
    const drain = Promise.resolve()
      .then(() => watch.guard(readback.mapAsync(MapMode.READ)))
      .then(() => {
        const bytes = mappedBytes(readback, size);
        this.add(new Uint32Array(bytes.buffer, bytes.byteOffset, REPORT_BYTES / WORD_BYTES));
      })
      .catch(async (error: unknown) => {
        throw await watch.explain(error);
      })
      .finally(() => {
        this.drains.delete(drain);
        ledger.destroy(readback);
      });
    drain.catch(() => undefined);
    this.drains.add(drain);
  }

  private add(report: Uint32Array): void {
    this.mismatches += report[REPORT_LAYOUT.mismatches];
    const recorded = Math.min(report[REPORT_LAYOUT.recorded], FINDINGS_MAX);
    for (let i = 0; i < recorded && this.pages.size < PAGES_REPORTED_MAX; i += 1) {
      const at = REPORT_LAYOUT.findings + i * REPORT_LAYOUT.findingWords;
      const page = report[at];
      const step = report[at + 1];
      this.pages.set(`${page} ${step}`, { page: pageId(page), step });
    }
  }
}

interface ShapePipelines {
  readonly fill: Pipeline;
  readonly check: Pipeline;
}

async function compileShape(device: GPUDevice, shape: PageShape): Promise<ShapePipelines> {
  const compile = (kernel: Kernel) => {
    if (kernel.workgroupSize * shape.rows >= 2 ** 32) {
      throw new ConfigError(`${shape.rows} rows a page leave the kernels' 32 bits; use smaller pages`);
    }
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
  };
  const [fill, check] = await Promise.all([
    compile(WITNESS_KERNELS.witnessFill),
    compile(WITNESS_KERNELS.witnessCheck),
  ]);
  return { fill, check };
}

/** The operations of each segment, in their order. */
function opsBySegment(ops: PageOps, buffers: PageBuffers): { segment: PageSegment; data: Uint32Array }[] {
  const { segments, pagesPerSegment } = buffers;
  const all = ops.data.subarray(0, ops.count * PAGE_OP_WORDS);
  if (segments.length === 1) return [{ segment: segments[0], data: all }];
  const parts = segments.map((segment) => ({ segment, words: [] as number[] }));
  for (let at = 0; at < all.length; at += PAGE_OP_WORDS) {
    const { words } = parts[Math.floor(all[at] / pagesPerSegment)];
    for (let i = 0; i < PAGE_OP_WORDS; i += 1) words.push(all[at + i]);
  }
  return parts.map(({ segment, words }) => ({ segment, data: Uint32Array.from(words) }));
}
