/**
 * The page kernels of one page size: packs their lists, and records as many dispatches as lists and limits demand.
 */
import { ceilDiv } from '../units.ts';
import type { Binding, CommandList } from './commands.ts';
import { PAGE_KERNELS } from './kernels.ts';
import type { PageBuffers, PageSegment } from './page-buffers.ts';
import { compileKernel, type Pipeline } from './pipelines.ts';

export type PageKernelName = keyof typeof PAGE_KERNELS;

/** Words in front of the entries of a `PageList` (count, fill) and of `PageMoves` (count). */
export const PAGE_LIST_HEADER_WORDS = 2;
export const PAGE_MOVES_HEADER_WORDS = 1;
/** Words of a `PageMove`: source and destination place. */
export const PAGE_MOVE_WORDS = 2;

/** Units of one dispatch: they are numbered with 32 bits, and the grid may overshoot. */
const UNITS_PER_DISPATCH_MAX = 2 ** 31;
const WORDS_PER_VEC4 = 4;

/** Pages by the segment they lie in, as indices into the list. Segments in the order of their first page. */
export function bySegment(pages: ArrayLike<number>, buffers: PageBuffers): Map<PageSegment, number[]> {
  const groups = new Map<PageSegment, number[]>();
  for (let i = 0; i < pages.length; i += 1) {
    const segment = buffers.segmentOf(pages[i]);
    const group = groups.get(segment);
    if (group) group.push(i);
    else groups.set(segment, [i]);
  }
  return groups;
}

export interface PageKernelsOptions {
  readonly device: GPUDevice;
  readonly pageWords: number;
  /** Kernels to compile. Using another one throws. */
  readonly names: readonly PageKernelName[];
  /** Upper bound on list entries of one dispatch, below the device's own. For tests that want many dispatches. */
  readonly entriesPerDispatchMax?: number;
}

export class PageKernels {
  private readonly pipelines: ReadonlyMap<PageKernelName, Pipeline>;
  private readonly pageUnits: number;
  private readonly entriesMax: number;

  static async create({
    device,
    pageWords,
    names,
    entriesPerDispatchMax,
  }: PageKernelsOptions): Promise<PageKernels> {
    const form = pageWords % WORDS_PER_VEC4 === 0 ? 'vec4' : 'word';
    const pageUnits = form === 'vec4' ? pageWords / WORDS_PER_VEC4 : pageWords;
    const compiled = await Promise.all(
      [...new Set(names)].map(async (name): Promise<[PageKernelName, Pipeline]> => {
        const kernel = PAGE_KERNELS[name][form];
        const constants = {
          page_units: pageUnits,
          workgroup_size: kernel.workgroupSize,
          units_per_invocation: kernel.perInvocation,
        };
        return [name, await compileKernel(device, kernel, constants)];
      }),
    );
    return new PageKernels(new Map(compiled), pageUnits, entriesPerDispatchMax ?? Infinity);
  }

  private constructor(
    pipelines: ReadonlyMap<PageKernelName, Pipeline>,
    pageUnits: number,
    entriesMax: number,
  ) {
    this.pipelines = pipelines;
    this.pageUnits = pageUnits;
    this.entriesMax = Math.min(entriesMax, Math.floor(UNITS_PER_DISPATCH_MAX / pageUnits));
  }

  /** Overwrites pages of one segment with `fill`. `pages` are ids, of which `which` picks some. */
  zero(
    commands: CommandList,
    segment: PageSegment,
    pages: ArrayLike<number>,
    which: readonly number[],
    fill: number,
  ): void {
    const { parameters } = commands;
    const entriesMax = Math.min(this.entriesMax, parameters.regionWordsMax - PAGE_LIST_HEADER_WORDS);
    for (let start = 0; start < which.length; start += entriesMax) {
      const count = Math.min(entriesMax, which.length - start);
      const { region, view } = parameters.reserve(PAGE_LIST_HEADER_WORDS + count);
      view[0] = count;
      view[1] = fill;
      for (let i = 0; i < count; i += 1) {
        view[PAGE_LIST_HEADER_WORDS + i] = pages[which[start + i]] - segment.firstPage;
      }
      this.dispatch(commands, 'zeroPages', [segment.buffer, region], count);
    }
  }

  /** Moves whole pages. `source` and `destination` give the place of move i, counted from the start of its buffer. */
  move(
    commands: CommandList,
    name: Exclude<PageKernelName, 'zeroPages'>,
    buffers: readonly GPUBuffer[],
    moves: { count: number; source: (move: number) => number; destination: (move: number) => number },
  ): void {
    const { parameters } = commands;
    const room = Math.floor((parameters.regionWordsMax - PAGE_MOVES_HEADER_WORDS) / PAGE_MOVE_WORDS);
    const entriesMax = Math.min(this.entriesMax, room);
    for (let start = 0; start < moves.count; start += entriesMax) {
      const count = Math.min(entriesMax, moves.count - start);
      const { region, view } = parameters.reserve(PAGE_MOVES_HEADER_WORDS + count * PAGE_MOVE_WORDS);
      view[0] = count;
      for (let i = 0; i < count; i += 1) {
        const at = PAGE_MOVES_HEADER_WORDS + i * PAGE_MOVE_WORDS;
        view[at] = moves.source(start + i);
        view[at + 1] = moves.destination(start + i);
      }
      this.dispatch(commands, name, [...buffers, region], count);
    }
  }

  private dispatch(
    commands: CommandList,
    name: PageKernelName,
    bindings: readonly Binding[],
    entries: number,
  ): void {
    const pipeline = this.pipelines.get(name);
    if (!pipeline) throw new RangeError(`kernel ${name} was not compiled for this worker`);
    const { workgroupSize, perInvocation } = pipeline.kernel;
    commands.dispatch(pipeline, bindings, ceilDiv(entries * this.pageUnits, workgroupSize * perInvocation));
  }
}
