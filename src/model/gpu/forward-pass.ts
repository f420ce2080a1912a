/**
 * The forward pass on the device. Computes the tokens that a step plan names; everything before them comes from pages.
 *
 * Each layer writes the keys and values of all rows before any row reads: a request whose prefix another one computes
 * in the same step finds it.
 */
import { DeviceError } from '../../errors.ts';
import { BufferLedger, mappedBytes } from '../../gpu/buffers.ts';
import { CommandList } from '../../gpu/commands.ts';
import { BufferUsage, MapMode } from '../../gpu/constants.ts';
import { DeviceWatch } from '../../gpu/device.ts';
import type { PageSegment } from '../../gpu/page-buffers.ts';
import type { ParameterRegion } from '../../gpu/parameters.ts';
import type { ForwardRequest } from '../../schedule/step-plan.ts';
import { WORD_BYTES } from '../../units.ts';
import { layerPlaces } from '../cache-layout.ts';
import type { Model } from '../model.ts';
import { attentionShapes } from '../attention-shape.ts';
import { ropeFrequencies, rotations } from '../rope.ts';
import type { TensorFormat } from '../safetensors.ts';
import { sampledRows, stepRows } from '../step-rows.ts';
import {
  padded,
  uploadMatrix,
  uploadVector,
  type DeviceMatrix,
  type UploadOptions,
} from './device-matrix.ts';
import { carriedNumbers, ModelKernels, words, type GroupRows, type KernelForm } from './model-kernels.ts';

export interface ForwardPassOptions extends UploadOptions {
  readonly device: GPUDevice;
  readonly model: Model;
  readonly tokensPerPage: number;
  /** Bytes from one page to the next. */
  readonly strideBytes: number;
  /** Where the pool's pages are. */
  readonly segments: readonly PageSegment[];
  /** Tokens that one step computes at most, over all requests. */
  readonly rowsMax: number;
  /** Requests of one step. */
  readonly requestsMax: number;
  /** Drafts of a request in one step at most. Default: 0. */
  readonly draftTokens?: number;
  /** Default: what suits the device. */
  readonly form?: KernelForm;
}

interface DeviceLayer {
  readonly attentionNorm: GPUBuffer;
  /** Queries, keys and values: one matrix. */
  readonly projection: DeviceMatrix;
  readonly attentionOutput: DeviceMatrix;
  readonly feedForwardNorm: GPUBuffer;
  /** Gate and up: one matrix. */
  readonly gateUp: DeviceMatrix;
  readonly down: DeviceMatrix;
}

interface DeviceWeights {
  readonly embedding: DeviceMatrix;
  readonly layers: readonly DeviceLayer[];
  readonly outputNorm: GPUBuffer;
  readonly output: DeviceMatrix;
}

/** What rows are kept in between kernels. Padding of their rows is zero, since nothing writes it. */
interface Scratch {
  /** The residual stream: [rows, hidden]. */
  readonly state: GPUBuffer;
  readonly normed: GPUBuffer;
  readonly projected: GPUBuffer;
  readonly queries: GPUBuffer;
  readonly carried: GPUBuffer;
  /** What attention read: [rows, heads, headDim]. */
  readonly read: GPUBuffer;
  readonly gates: GPUBuffer;
  readonly gated: GPUBuffer;
  /** [requests, vocabulary] */
  readonly logits: GPUBuffer;
}

/** The lists of one step, as the layers share them. */
interface Step {
  readonly count: number;
  readonly turns: ParameterRegion;
  readonly groups: readonly GroupRows[];
}

export class ForwardPass {
  private readonly options: ForwardPassOptions;
  private readonly ledger: BufferLedger;
  private readonly watch: DeviceWatch;
  private readonly commands: CommandList;
  private readonly kernels: ModelKernels;
  private readonly weights: DeviceWeights;
  private readonly scratch: Scratch;
  private readonly frequencies: Float64Array;
  private readonly places: ReturnType<typeof layerPlaces>;
  /** Read-back buffers that nobody waits for. */
  private readonly idle: GPUBuffer[] = [];
  private readonly reading = new Set<Promise<unknown>>();

  /** Uploads the weights and compiles the kernels. Throws `ConfigError` or `DeviceError` that names what does not fit. */
  static async create(options: ForwardPassOptions): Promise<ForwardPass> {
    const { device, model } = options;
    const ledger = new BufferLedger(device);
    const watch = new DeviceWatch(device);
    try {
      const weights = uploadWeights(ledger, model, options);
      const scratch = createScratch(ledger, options);
      const kernels = await watch.guard(
        ModelKernels.create(device, {
          formats: formatsOf(weights),
          shapes: attentionShapes(model.config, options),
          form: options.form,
        }),
      );
      await watch.guard(ledger.settle());
      return new ForwardPass(options, { ledger, watch, weights, scratch, kernels });
    } catch (error) {
      ledger.destroyAll();
      throw error;
    }
  }

  private constructor(
    options: ForwardPassOptions,
    parts: {
      readonly ledger: BufferLedger;
      readonly watch: DeviceWatch;
      readonly weights: DeviceWeights;
      readonly scratch: Scratch;
      readonly kernels: ModelKernels;
    },
  ) {
    this.options = options;
    this.ledger = parts.ledger;
    this.watch = parts.watch;
    this.weights = parts.weights;
    this.scratch = parts.scratch;
    this.kernels = parts.kernels;
    this.commands = new CommandList(parts.ledger);
    this.frequencies = ropeFrequencies(options.model.config);
    this.places = layerPlaces(options.model.config);
  }

  /** Bytes of all live buffers: weights, scratch, lists. 0 after `close`. */
  get liveBytes(): number {
    return this.ledger.liveBytes;
  }

  /**
   * Submits the pass of one step before it returns. Resolves to the logits of each request's last token, and of its
   * drafts, [vocabulary], in the order of `forward`. Rejects with `DeviceError` when the device is lost.
   */
  run(forward: readonly ForwardRequest[]): Promise<Float32Array<ArrayBuffer>[]> {
    const { config } = this.options.model;
    const groups = this.kernels.shapes.length;
    const rows = stepRows(forward, { groups, tokensPerPage: this.options.tokensPerPage });
    this.checkSize(rows.count, forward.length);
    const { commands, scratch, kernels, weights } = this;
    const chosen = words(commands, rows.lastRows);
    const tokens = words(commands, rows.tokens);
    const step: Step = {
      count: rows.count,
      turns: words(commands, new Uint32Array(rotations(this.frequencies, rows.positions).buffer)),
      groups: rows.places.map((places, group) => ({
        count: rows.count,
        places: words(commands, places),
        tables: words(commands, rows.tables[group]),
      })),
    };
    kernels.embed(commands, { table: weights.embedding, tokens, rows: rows.count, result: scratch.state });
    for (const [index, layer] of weights.layers.entries()) {
      this.attend(layer, { ...this.places[index], step });
      this.feedForward(layer, step);
    }
    this.norm(scratch.state, weights.outputNorm, rows.lastRows.length, chosen);
    kernels.product(commands, {
      operand: scratch.normed,
      matrix: weights.output,
      rows: rows.lastRows.length,
      stride: config.vocabSize,
      result: scratch.logits,
    });
    return this.submit(sampledRows(forward));
  }

  /** Waits for logits under way, then gives all buffers back. */
  async close(): Promise<void> {
    await Promise.allSettled(this.reading);
    this.ledger.destroyAll();
  }

  private checkSize(rows: number, requests: number): void {
    const { rowsMax, requestsMax } = this.options;
    if (rows <= rowsMax && requests <= requestsMax) return;
    throw new DeviceError(
      `a step of ${rows} tokens in ${requests} requests exceeds the ${rowsMax} and ${requestsMax} that the model has room for`,
    );
  }

  private attend(
    layer: DeviceLayer,
    { group, index, step }: { readonly group: number; readonly index: number; readonly step: Step },
  ): void {
    const { commands, scratch, kernels } = this;
    const { segments } = this.options;
    const { heads, kvHeads, headDim, hiddenSize } = this.options.model.config;
    this.norm(scratch.state, layer.attentionNorm, step.count);
    kernels.product(commands, {
      operand: scratch.normed,
      matrix: layer.projection,
      rows: step.count,
      stride: (heads + 2 * kvHeads) * headDim,
      result: scratch.projected,
    });
    const where = { group, layer: index, rows: step.groups[group], segments, queries: scratch.queries };
    kernels.ropeWrite(commands, { ...where, projected: scratch.projected, turns: step.turns });
    kernels.pagedAttention(commands, { ...where, carried: scratch.carried, result: scratch.read });
    kernels.product(commands, {
      operand: scratch.read,
      matrix: layer.attentionOutput,
      rows: step.count,
      stride: padded(hiddenSize),
      result: scratch.state,
      accumulate: true,
    });
  }

  private feedForward(layer: DeviceLayer, { count }: Step): void {
    const { commands, scratch, kernels } = this;
    const { hiddenSize, intermediateSize } = this.options.model.config;
    this.norm(scratch.state, layer.feedForwardNorm, count);
    kernels.product(commands, {
      operand: scratch.normed,
      matrix: layer.gateUp,
      rows: count,
      stride: 2 * intermediateSize,
      result: scratch.gates,
    });
    kernels.swiglu(commands, {
      operand: scratch.gates,
      rows: count,
      width: intermediateSize,
      stride: 2 * intermediateSize,
      resultStride: padded(intermediateSize),
      result: scratch.gated,
    });
    kernels.product(commands, {
      operand: scratch.gated,
      matrix: layer.down,
      rows: count,
      stride: padded(hiddenSize),
      result: scratch.state,
      accumulate: true,
    });
  }

  private norm(operand: GPUBuffer, weight: GPUBuffer, rows: number, chosen?: ParameterRegion): void {
    const { hiddenSize, rmsEpsilon } = this.options.model.config;
    this.kernels.rmsNorm(this.commands, {
      operand,
      weight,
      rows,
      width: hiddenSize,
      stride: padded(hiddenSize),
      epsilon: rmsEpsilon,
      chosen,
      result: this.scratch.normed,
    });
  }

  private submit(rows: number): Promise<Float32Array<ArrayBuffer>[]> {
    const { commands, ledger, scratch } = this;
    const { vocabSize } = this.options.model.config;
    const usage = BufferUsage.MAP_READ | BufferUsage.COPY_DST;
    const readback = this.idle.pop() ?? ledger.create('logits read-back', scratch.logits.size, usage);
    const bytes = rows * vocabSize * WORD_BYTES;
    commands.copy(scratch.logits, 0, readback, 0, bytes);
    commands.submit('forward pass');
    const result = this.read(readback, bytes);
    // A step that is aborted asks for no logits; nobody else hears of a lost device from here.
    result.catch(() => undefined).finally(() => this.reading.delete(result));
    this.reading.add(result);
    return result.then((logits) =>
      Array.from({ length: rows }, (_, i) => logits.subarray(i * vocabSize, (i + 1) * vocabSize)),
    );
  }

  private async read(readback: GPUBuffer, bytes: number): Promise<Float32Array<ArrayBuffer>> {
    try {
      await this.watch.guard(readback.mapAsync(MapMode.READ));
      const logits = new Float32Array(mappedBytes(readback, readback.size).slice(0, bytes).buffer);
      readback.unmap();
      this.idle.push(readback);
      return logits;
    } catch (error) {
      throw await this.watch.explain(error);
    }
  }
}

function uploadWeights(
  ledger: BufferLedger,
  { config, weights }: Model,
  options: UploadOptions,
): DeviceWeights {
  const matrix = (...tensors: Parameters<typeof uploadMatrix>[1]) => uploadMatrix(ledger, tensors, options);
  const vector = (tensor: Parameters<typeof uploadVector>[1]) => uploadVector(ledger, tensor);
  const embedding = matrix(weights.embedding);
  return {
    embedding,
    layers: weights.layers.map((layer) => ({
      attentionNorm: vector(layer.attentionNorm),
      projection: matrix(layer.query, layer.key, layer.value),
      attentionOutput: matrix(layer.attentionOutput),
      feedForwardNorm: vector(layer.feedForwardNorm),
      gateUp: matrix(layer.gate, layer.up),
      down: matrix(layer.down),
    })),
    outputNorm: vector(weights.outputNorm),
    output: config.tiedEmbeddings ? embedding : matrix(weights.output),
  };
}

function formatsOf({ embedding, layers, output }: DeviceWeights): TensorFormat[] {
  const matrices = layers.flatMap(({ projection, attentionOutput, gateUp, down }) => [
    projection,
    attentionOutput,
    gateUp,
    down,
  ]);
  return [embedding, output, ...matrices].map(({ format }) => format);
}

function createScratch(ledger: BufferLedger, options: ForwardPassOptions): Scratch {
  const { rowsMax, requestsMax, segments, draftTokens = 0 } = options;
  const sampledMax = requestsMax * (1 + draftTokens);
  const { config } = options.model;
  const { hiddenSize, intermediateSize, heads, kvHeads, headDim, vocabSize } = config;
  const make = (label: string, numbers: number) =>
    ledger.create(label, numbers * WORD_BYTES, BufferUsage.STORAGE | BufferUsage.COPY_SRC);
  const [shape] = attentionShapes(config, options);
  // Only a pool of several segments carries sums from one to the next.
  const carried = segments.length > 1 ? rowsMax * carriedNumbers(shape) : carriedNumbers(shape);
  const normedRows = Math.max(rowsMax, sampledMax);
  return {
    state: make('residual stream', rowsMax * padded(hiddenSize)),
    normed: make('normed rows', normedRows * padded(hiddenSize)),
    projected: make('queries, keys and values', rowsMax * (heads + 2 * kvHeads) * headDim),
    queries: make('turned queries', rowsMax * heads * headDim),
    carried: make('attention between segments', carried),
    read: make('attention', rowsMax * heads * headDim),
    gates: make('gates and values', rowsMax * 2 * intermediateSize),
    gated: make('gated values', rowsMax * padded(intermediateSize)),
    logits: make('logits', sampledMax * vocabSize),
  };
}
