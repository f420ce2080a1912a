/** CPU twin of `shaders/model/drafter.wgsl`. */
import { NULL_PAGE } from '../../units.ts';
import type { DraftJob } from '../drafter.ts';
import type { Model } from '../model.ts';
import { toFloat32 } from '../number-formats.ts';
import { greedyToken } from '../sample.ts';
import { matmul } from './matmul.ts';
import { rmsNorm } from './rms-norm.ts';

type Numbers = Float32Array<ArrayBuffer>;

export class ReferenceDrafter {
  private readonly width: number;
  private readonly embedScale: number;
  private readonly epsilon: number;
  private readonly strideNumbers: number;
  private readonly embedding: Numbers;
  private readonly weights: Readonly<Record<keyof NonNullable<Model['drafter']>, Numbers>>;

  constructor({ config, weights, drafter }: Model, { strideBytes }: { readonly strideBytes: number }) {
    this.width = config.hiddenSize;
    this.embedScale = config.drafter!.embedScale;
    this.epsilon = config.rmsEpsilon;
    this.strideNumbers = strideBytes / Float32Array.BYTES_PER_ELEMENT;
    this.embedding = toFloat32(weights.embedding);
    const { input, gate, output, skip, stateNorm, norm, decay } = drafter!;
    this.weights = {
      input: toFloat32(input),
      gate: toFloat32(gate),
      output: toFloat32(output),
      skip: toFloat32(skip),
      stateNorm: toFloat32(stateNorm),
      norm: toFloat32(norm),
      decay: toFloat32(decay).map((number) => 1 / (1 + Math.exp(-number))),
    };
  }

  /** Gives the proposed tokens. */
  run(pool: Float32Array, { source, handOff, tokens, targets, proposals }: DraftJob): number[] {
    const at = (page: number) => page * this.strideNumbers;
    const state = new Float32Array(this.width);
    if (source !== NULL_PAGE) state.set(pool.subarray(at(source), at(source) + this.width));
    if (handOff !== NULL_PAGE) pool.set(state, at(handOff));
    let last = 0;
    for (let i = 0; i < tokens.length; i += 1) {
      last = tokens[i];
      this.advance(state, last);
      const target = i - (tokens.length - targets.length);
      if (target >= 0) pool.set(state, at(targets[target]));
    }
    const proposed: number[] = [];
    while (proposed.length < proposals) {
      last = this.guess(state, last);
      proposed.push(last);
      if (proposed.length < proposals) this.advance(state, last);
    }
    return proposed;
  }

  private advance(state: Numbers, token: number): void {
    const { input, decay } = this.weights;
    const moved = matmul(this.embedded(token), input, this.width);
    for (let i = 0; i < this.width; i += 1) state[i] = decay[i] * state[i] + (1 - decay[i]) * moved[i];
  }

  private guess(state: Numbers, token: number): number {
    const { gate, output, skip, stateNorm, norm } = this.weights;
    const embedded = this.embedded(token);
    const gates = matmul(embedded, gate, this.width);
    const gated = rmsNorm(state, stateNorm, this.epsilon);
    for (let i = 0; i < this.width; i += 1) gated[i] *= gates[i] / (1 + Math.exp(-gates[i]));
    const hidden = matmul(embedded, skip, this.width, matmul(gated, output, this.width));
    return greedyToken(matmul(rmsNorm(hidden, norm, this.epsilon), this.embedding, this.width));
  }

  private embedded(token: number): Numbers {
    const row = this.embedding.slice(token * this.width, (token + 1) * this.width);
    return row.map((number) => number * this.embedScale);
  }
}
