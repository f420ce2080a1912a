/** Compiles the kernels that a model needs, and records their dispatches. */
import type { CommandList } from '../../gpu/commands.ts';
import { adapterFacts } from '../../gpu/device.ts';
import type { Kernel } from '../../gpu/kernels.ts';
import type { ParameterRegion } from '../../gpu/parameters.ts';
import { compileKernel, type Pipeline } from '../../gpu/pipelines.ts';
import type { PageSegment } from '../../gpu/page-buffers.ts';
import { ceilDiv } from '../../units.ts';
import type { AttentionShape } from '../attention-shape.ts';
import type { TensorFormat } from '../safetensors.ts';
import type { DeviceMatrix } from './device-matrix.ts';
import { LANES, MATMUL_TILE, MODEL_KERNELS } from './kernels.ts';

/** Numbers of a vec4. */
const VEC4 = 4;
/** From this many rows on a matrix is read once for several rows, not once a row. */
const TILED_ROWS_MIN = 4;
/** `lanes_per_output` of `matvec.wgsl`; `OUTPUTS_EACH` and the larger `rows_each` of `matmul_serial.wgsl`. */
const LANES_PER_OUTPUT = 16;
const OUTPUTS_EACH = 4;
const ROWS_EACH = 4;
/** Numbers of a result that an invocation of `paged_attention_serial.wgsl` makes: `COLUMNS` vec4s. */
const SERIAL_NUMBERS = 4 * VEC4;

/**
 * How work is shared out. `cooperative`: the lanes of a workgroup do it together, as GPUs like it. `serial`: each does
 * its own, without barriers, which adapters that compute on the CPU pay for with microseconds a lane.
 */
export type KernelForm = 'cooperative' | 'serial';

/** For few rows, one after the other, or for many, several at once. */
export type ProductKernel = 'few' | 'many';

const PRODUCTS: readonly ProductKernel[] = ['few', 'many'];

/** The computed tokens of one cache group, as lists of this submit. */
export interface GroupRows {
  readonly count: number;
  /** Position and beginning of the page table, by row. */
  readonly places: ParameterRegion;
  readonly tables: ParameterRegion;
}

export interface ModelKernelsOptions {
  readonly formats: Iterable<TensorFormat>;
  /** By cache group. */
  readonly shapes: readonly AttentionShape[];
  /** Default: what suits the device. */
  readonly form?: KernelForm;
  /** Which products are compiled; using another one throws. Default: both. */
  readonly products?: readonly ProductKernel[];
}

type ByFormat = Partial<Record<TensorFormat, Pipeline>>;

interface Pipelines {
  readonly embed: ByFormat;
  readonly few: ByFormat;
  readonly many: ByFormat;
  readonly rmsNorm: Pipeline;
  readonly swiglu: Pipeline;
  /** By cache group. */
  readonly ropeWrite: readonly Pipeline[];
  readonly pagedAttention: readonly Pipeline[];
}

export class ModelKernels {
  readonly form: KernelForm;
  readonly shapes: readonly AttentionShape[];
  private readonly pipelines: Pipelines;

  static async create(device: GPUDevice, options: ModelKernelsOptions): Promise<ModelKernels> {
    const { shapes, products = PRODUCTS } = options;
    const form = options.form ?? (adapterFacts(device).software ? 'serial' : 'cooperative');
    const isSerial = form === 'serial';
    const kernels = MODEL_KERNELS;
    const formats = [...new Set(options.formats)];
    const compile = (kernel: Kernel, constants: Record<string, number> = {}) =>
      compileKernel(device, kernel, constants);
    const byFormat = async (
      forms: typeof kernels.embed,
      constants?: Record<string, number>,
    ): Promise<ByFormat> => {
      const made = await Promise.all(formats.map((format) => compile(forms[format], constants)));
      return Object.fromEntries(formats.map((format, i) => [format, made[i]]));
    };
    const product = (
      name: ProductKernel,
      cooperative: typeof kernels.matvec,
      rowsEach: number,
    ): Promise<ByFormat> | ByFormat => {
      if (!products.includes(name)) return {};
      return isSerial ? byFormat(kernels.matmulSerial, { rows_each: rowsEach }) : byFormat(cooperative);
    };
    const byShape = (kernel: Kernel, constants: (shape: AttentionShape) => Record<string, number>) =>
      Promise.all(shapes.map((shape) => compile(kernel, constants(shape))));
    const [embed, few, many, rmsNorm, swiglu, ropeWrite, pagedAttention] = await Promise.all([
      byFormat(kernels.embed),
      product('few', kernels.matvec, 1),
      product('many', kernels.matmul, ROWS_EACH),
      compile(isSerial ? kernels.rmsNormSerial : kernels.rmsNorm),
      compile(kernels.swiglu),
      byShape(kernels.ropeWrite, pageConstants),
      byShape(isSerial ? kernels.pagedAttentionSerial : kernels.pagedAttention, (shape) => ({
        ...pageConstants(shape),
        window_tokens: shape.windowTokens,
      })),
    ]);
    const pipelines = { embed, few, many, rmsNorm, swiglu, ropeWrite, pagedAttention };
    return new ModelKernels(form, shapes, pipelines);
  }

  private constructor(form: KernelForm, shapes: readonly AttentionShape[], pipelines: Pipelines) {
    this.form = form;
    this.shapes = shapes;
    this.pipelines = pipelines;
  }

  /** Rows of a table, [rows, table.vec4s * 4], by token. */
  embed(
    commands: CommandList,
    what: {
      readonly table: DeviceMatrix;
      readonly tokens: ParameterRegion;
      readonly rows: number;
      readonly result: GPUBuffer;
    },
  ): void {
    const { table, tokens, rows, result } = what;
    for (const part of table.parts) {
      const lookup = words(commands, [rows, table.vec4s, part.firstRow, part.rows]);
      const groups = ceilDiv(rows * table.vec4s, LANES);
      commands.dispatch(this.pipelines.embed[table.format]!, [part.buffer, tokens, lookup, result], groups);
    }
  }

  /** Rows of `width` numbers, `stride` apart; with `chosen`, those that it lists. */
  rmsNorm(
    commands: CommandList,
    what: {
      readonly operand: GPUBuffer;
      readonly weight: GPUBuffer;
      readonly rows: number;
      readonly width: number;
      readonly stride: number;
      readonly epsilon: number;
      readonly chosen?: ParameterRegion;
      readonly result: GPUBuffer;
    },
  ): void {
    const { operand, weight, rows, width, stride, epsilon, chosen, result } = what;
    const { region, view } = commands.parameters.reserve(5);
    view.set([rows, width, stride, chosen === undefined ? 0 : 1]);
    new Float32Array(view.buffer, view.byteOffset, view.length)[4] = epsilon;
    commands.dispatch(
      this.pipelines.rmsNorm,
      [operand, weight, chosen ?? words(commands, [0]), region, result],
      this.form === 'serial' ? ceilDiv(rows, LANES) : rows,
    );
  }

  /** Rows times a matrix. Rows of the result are `stride` numbers apart; `accumulate` adds to what is there. */
  product(
    commands: CommandList,
    what: {
      readonly operand: GPUBuffer;
      readonly matrix: DeviceMatrix;
      readonly rows: number;
      readonly stride: number;
      readonly result: GPUBuffer;
      readonly accumulate?: boolean;
      /** Which of the two kernels. By the number of rows where left out. */
      readonly kernel?: ProductKernel;
    },
  ): void {
    const { operand, matrix, rows, stride, result, accumulate = false } = what;
    const kernel = what.kernel ?? (rows < TILED_ROWS_MIN ? 'few' : 'many');
    for (const part of matrix.parts) {
      const list = [rows, matrix.vec4s, part.rows, part.firstRow, stride, accumulate ? 1 : 0];
      const groups = this.productGroups(kernel, rows, part.rows);
      const bindings = [operand, part.buffer, words(commands, list), result];
      commands.dispatch(this.pipelines[kernel][matrix.format]!, bindings, groups);
    }
  }

  private productGroups(kernel: ProductKernel, rows: number, outputs: number): number {
    if (this.form === 'serial') {
      return ceilDiv(ceilDiv(outputs, OUTPUTS_EACH) * ceilDiv(rows, kernel === 'few' ? 1 : ROWS_EACH), LANES);
    }
    if (kernel === 'few') return rows * ceilDiv(outputs, LANES / LANES_PER_OUTPUT);
    return ceilDiv(rows, MATMUL_TILE.rows) * ceilDiv(outputs, MATMUL_TILE.outputs);
  }

  /** Turns queries and keys, and writes keys and values into pages. `turns`: see `rotations`. */
  ropeWrite(
    commands: CommandList,
    what: {
      readonly group: number;
      /** Number of the layer in its group. */
      readonly layer: number;
      readonly rows: GroupRows;
      readonly segments: readonly PageSegment[];
      readonly projected: GPUBuffer;
      readonly turns: ParameterRegion;
      readonly queries: GPUBuffer;
    },
  ): void {
    const { group, layer, rows, segments, projected, turns, queries } = what;
    const { heads, kvHeads, headDim } = this.shapes[group];
    const groups = ceilDiv((rows.count * (heads + 2 * kvHeads) * headDim) / 2, LANES);
    for (const segment of segments) {
      const reach = words(commands, [rows.count, layer, segment.firstPage, segment.pages, 0, 0]);
      const lists = [rows.places, rows.tables, reach];
      const bindings = [projected, turns, ...lists, segment.buffer, queries];
      commands.dispatch(this.pipelines.ropeWrite[group], bindings, groups);
    }
  }

  /** Attention over pages. `carried` holds `carriedNumbers` a row; `result`: [rows, heads, headDim]. */
  pagedAttention(
    commands: CommandList,
    what: {
      readonly group: number;
      readonly layer: number;
      readonly rows: GroupRows;
      readonly segments: readonly PageSegment[];
      readonly queries: GPUBuffer;
      readonly carried: GPUBuffer;
      readonly result: GPUBuffer;
    },
  ): void {
    const { group, layer, rows, segments, queries, carried, result } = what;
    const { heads, headDim } = this.shapes[group];
    const queryCount = rows.count * heads;
    const groups =
      this.form === 'serial' ? ceilDiv(queryCount * ceilDiv(headDim, SERIAL_NUMBERS), LANES) : queryCount;
    for (const [index, segment] of segments.entries()) {
      const isLast = index === segments.length - 1;
      const place = [rows.count, layer, segment.firstPage, segment.pages];
      const reach = words(commands, [...place, index === 0 ? 1 : 0, isLast ? 1 : 0]);
      const bindings = [queries, segment.buffer, rows.places, rows.tables, reach, carried, result];
      commands.dispatch(this.pipelines.pagedAttention[group], bindings, groups);
    }
  }

  /** [rows, 2 * width], `stride` apart, to [rows, width], `resultStride` apart. */
  swiglu(
    commands: CommandList,
    what: {
      readonly operand: GPUBuffer;
      readonly rows: number;
      readonly width: number;
      readonly stride: number;
      readonly resultStride: number;
      readonly result: GPUBuffer;
    },
  ): void {
    const { operand, rows, width, stride, resultStride, result } = what;
    const gates = words(commands, [rows, width, stride, resultStride]);
    commands.dispatch(this.pipelines.swiglu, [operand, gates, result], ceilDiv(rows * width, LANES));
  }
}

/** Numbers that a row carries from segment to segment, in either form: its values, and a vec4 for each who makes some. */
export function carriedNumbers({ heads, headDim }: AttentionShape): number {
  const makers = ceilDiv(headDim, SERIAL_NUMBERS);
  return heads * makers * (SERIAL_NUMBERS + VEC4);
}

function pageConstants(shape: AttentionShape): Record<string, number> {
  return {
    heads: shape.heads,
    kv_heads: shape.kvHeads,
    head_dim: shape.headDim,
    page_tokens: shape.tokensPerPage,
    page_stride: shape.strideNumbers,
  };
}

/** A list of words for the next dispatch. */
export function words(commands: CommandList, list: ArrayLike<number>): ParameterRegion {
  const { region, view } = commands.parameters.reserve(list.length);
  view.set(list);
  return region;
}
