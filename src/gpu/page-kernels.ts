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
  /** Words from one page to the next. */
  readonly pageWords: number;
  /** Words at the front of the page that belong to a group, for each size there is. Default: whole pages. */
  readonly groupWords?: readonly number[];
  /** Kernels to compile. Using another one throws. */
  readonly names: readonly PageKernelName[];
  /** Upper bound on list entries of one dispatch, below the device's own. For tests that want many dispatches. */
  readonly entriesPerDispatchMax?: number;
}

/** Overwriting and copying keep to a group's own words; transfers move whole pages. */
const BY_GROUP: readonly PageKernelName[] = ['zeroPages', 'copyPages', 'copyPagesAcross'];

/** A kernel for pages of which so many words count. */
interface SizedPipeline {
  readonly pipeline: Pipeline;
  /** Units of one page that it moves. */
  readonly units: number;
}

export class PageKernels {
  private readonly pipelines: ReadonlyMap<string, SizedPipeline>;
  private readonly pageWords: number;
  private readonly entriesMax: number;

  static async create(options: PageKernelsOptions): Promise<PageKernels> {
    const { pageWords, groupWords = [pageWords], names } = options;
    const wanted = new Map<string, { name: PageKernelName; words: number }>();
    for (const name of names) {
      for (const words of BY_GROUP.includes(name) ? groupWords : [pageWords]) {
        wanted.set(keyOf(name, words), { name, words });
      }
    }
    const compiled = await Promise.all(
      [...wanted].map(async ([key, { name, words }]): Promise<[string, SizedPipeline]> => {
        return [key, await compileSized(options.device, name, pageWords, words)];
      }),
    );
    return new PageKernels(new Map(compiled), pageWords, options.entriesPerDispatchMax ?? Infinity);
  }

  private constructor(pipelines: ReadonlyMap<string, SizedPipeline>, pageWords: number, entriesMax: number) {
    this.pipelines = pipelines;
    this.pageWords = pageWords;
    this.entriesMax = Math.min(entriesMax, Math.floor(UNITS_PER_DISPATCH_MAX / pageWords));
  }

  /**
   * Overwrites the first `words` words of pages of one segment with `fill`. `pages` are ids, of which `which` picks
   * some. `words` is one of `groupWords`.
   */
  zero(
    commands: CommandList,
    what: {
      readonly segment: PageSegment;
      readonly pages: ArrayLike<number>;
      readonly which: readonly number[];
      readonly fill: number;
      readonly words?: number;
    },
  ): void {
    const { segment, pages, which, fill, words = this.pageWords } = what;
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
      this.dispatch(commands, keyOf('zeroPages', words), [segment.buffer, region], count);
    }
  }

  /**
   * Moves the first `words` words of pages, whole ones by default. `source` and `destination` give the place of move i,
   * counted from the start of its buffer.
   */
  move(
    commands: CommandList,
    name: Exclude<PageKernelName, 'zeroPages'>,
    buffers: readonly GPUBuffer[],
    moves: {
      readonly count: number;
      readonly source: (move: number) => number;
      readonly destination: (move: number) => number;
      readonly words?: number;
    },
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
      this.dispatch(commands, keyOf(name, moves.words ?? this.pageWords), [...buffers, region], count);
    }
  }

  private dispatch(commands: CommandList, key: string, bindings: readonly Binding[], entries: number): void {
    const sized = this.pipelines.get(key);
    if (!sized) throw new RangeError(`kernel ${key} was not compiled for this worker`);
    const { pipeline, units } = sized;
    const { workgroupSize, perInvocation } = pipeline.kernel;
    commands.dispatch(pipeline, bindings, ceilDiv(entries * units, workgroupSize * perInvocation));
  }
}

function keyOf(name: PageKernelName, words: number): string {
  return `${name} of ${words} words`;
}

async function compileSized(
  device: GPUDevice,
  name: PageKernelName,
  strideWords: number,
  words: number,
): Promise<SizedPipeline> {
  const form = strideWords % WORDS_PER_VEC4 === 0 && words % WORDS_PER_VEC4 === 0 ? 'vec4' : 'word';
  const unitWords = form === 'vec4' ? WORDS_PER_VEC4 : 1;
  const kernel = PAGE_KERNELS[name][form];
  const pipeline = await compileKernel(device, kernel, {
    page_units: words / unitWords,
    stride_units: strideWords / unitWords,
    workgroup_size: kernel.workgroupSize,
    units_per_invocation: kernel.perInvocation,
  });
  return { pipeline, units: words / unitWords };
}
