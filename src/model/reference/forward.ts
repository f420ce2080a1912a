/**
 * The forward pass on the CPU: what the device's must agree with. Computes the tokens that a step plan names and takes
 * everything before them from pages.
 */
import type { ForwardRequest } from '../../schedule/step-plan.ts';
import { layerPlaces } from '../cache-layout.ts';
import type { Model } from '../model.ts';
import { toFloat32 } from '../number-formats.ts';
import { ropeFrequencies, rotations } from '../rope.ts';
import { stepRows, type StepRows } from '../step-rows.ts';
import { attentionShapes, type AttentionShape, type PageSizes } from '../attention-shape.ts';
import { embed } from './embed.ts';
import { matmul } from './matmul.ts';
import { pagedAttention } from './paged-attention.ts';
import { rmsNorm } from './rms-norm.ts';
import { ropeWrite } from './rope-write.ts';
import { swiglu } from './swiglu.ts';

interface Layer {
  readonly attentionNorm: Float32Array;
  /** Queries, keys and values: one matrix. */
  readonly projection: Float32Array;
  readonly attentionOutput: Float32Array;
  readonly feedForwardNorm: Float32Array;
  /** Gate and up: one matrix. */
  readonly gateUp: Float32Array;
  readonly down: Float32Array;
}

export class ReferenceModel {
  readonly model: Model;
  private readonly tokensPerPage: number;
  private readonly shapes: readonly AttentionShape[];
  private readonly embedding: Float32Array;
  private readonly layers: readonly Layer[];
  private readonly outputNorm: Float32Array;
  private readonly output: Float32Array;
  private readonly frequencies: Float64Array;

  constructor(model: Model, { tokensPerPage, strideBytes }: PageSizes) {
    const { config, weights } = model;
    this.model = model;
    this.tokensPerPage = tokensPerPage;
    this.shapes = attentionShapes(config, { tokensPerPage, strideBytes });
    this.embedding = toFloat32(weights.embedding);
    this.layers = weights.layers.map((layer) => ({
      attentionNorm: toFloat32(layer.attentionNorm),
      projection: joined([layer.query, layer.key, layer.value].map(toFloat32)),
      attentionOutput: toFloat32(layer.attentionOutput),
      feedForwardNorm: toFloat32(layer.feedForwardNorm),
      gateUp: joined([layer.gate, layer.up].map(toFloat32)),
      down: toFloat32(layer.down),
    }));
    this.outputNorm = toFloat32(weights.outputNorm);
    this.output = config.tiedEmbeddings ? this.embedding : toFloat32(weights.output);
    this.frequencies = ropeFrequencies(config);
  }

  /**
   * Runs one step over a pool and writes its keys and values into it. Gives logits, [vocabulary] a row: of each
   * request's last token, in the order of `forward`, or of every computed token.
   */
  forward(
    pool: Float32Array,
    forward: readonly ForwardRequest[],
    { allRows = false } = {},
  ): Float32Array<ArrayBuffer>[] {
    const { config } = this.model;
    const rows = stepRows(forward, { groups: this.shapes.length, tokensPerPage: this.tokensPerPage });
    const turns = rotations(this.frequencies, rows.positions);
    const state = embed(this.embedding, config.hiddenSize, rows.tokens);
    for (const [index, place] of layerPlaces(config).entries()) {
      this.layer(this.layers[index], { ...place, pool, rows, turns, state });
    }
    const which = allRows ? undefined : rows.lastRows;
    const last = rmsNorm(state, this.outputNorm, config.rmsEpsilon, which);
    const logits = matmul(last, this.output, config.hiddenSize);
    return Array.from({ length: logits.length / config.vocabSize }, (_, row) =>
      logits.slice(row * config.vocabSize, (row + 1) * config.vocabSize),
    );
  }

  private layer(
    layer: Layer,
    at: {
      readonly group: number;
      readonly index: number;
      readonly pool: Float32Array;
      readonly rows: StepRows;
      readonly turns: Float32Array;
      readonly state: Float32Array<ArrayBuffer>;
    },
  ): void {
    const { hiddenSize, intermediateSize, rmsEpsilon, heads, headDim } = this.model.config;
    const { group, index, pool, rows, turns, state } = at;
    const shape = this.shapes[group];
    const places = { places: rows.places[group], tables: rows.tables[group] };
    const projected = matmul(rmsNorm(state, layer.attentionNorm, rmsEpsilon), layer.projection, hiddenSize);
    const queries = ropeWrite(pool, shape, index, places, { projected, turns });
    const read = pagedAttention(pool, shape, index, places, queries);
    matmul(read, layer.attentionOutput, heads * headDim, state);
    const gates = matmul(rmsNorm(state, layer.feedForwardNorm, rmsEpsilon), layer.gateUp, hiddenSize);
    matmul(swiglu(gates, intermediateSize), layer.down, intermediateSize, state);
  }
}

function joined(parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
