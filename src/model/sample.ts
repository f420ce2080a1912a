/** Chooses the next token from logits. */
import { ConfigError } from '../errors.ts';

export interface Sampling {
  /** 0 (default): the most likely token. Above: logits are divided by it before they become probabilities. */
  readonly temperature?: number;
  /** Only so many of the most likely tokens. Default: all. */
  readonly topK?: number;
  /** Only the most likely tokens that together reach this probability. Default: 1. */
  readonly topP?: number;
  /** Of the dice. Equal seeds, prompts and options give equal texts, whatever else runs. Default: 0. */
  readonly seed?: number;
}

/** Throws `ConfigError` for options that mean nothing. */
export function requireSampling({ temperature = 0, topK = 1, topP = 1, seed = 0 }: Sampling): void {
  const rules: readonly (readonly [string, number, boolean, string])[] = [
    ['temperature', temperature, temperature >= 0 && Number.isFinite(temperature), 'a number of at least 0'],
    ['topK', topK, Number.isInteger(topK) && topK >= 1, 'an integer of at least 1'],
    ['topP', topP, topP > 0 && topP <= 1, 'a number above 0 and at most 1'],
    ['seed', seed, Number.isInteger(seed) && seed >= 0 && seed < 2 ** 32, 'an integer from 0 to 2^32 - 1'],
  ];
  for (const [name, value, holds, wanted] of rules) {
    if (!holds) throw new ConfigError(`${name} is ${value}; use ${wanted}`);
  }
}

/** The token at `position` of a sequence. Depends on nothing else, so a token that is sampled again comes out the same. */
export function sampleToken(logits: Float32Array, sampling: Sampling, position: number): number {
  const { temperature = 0, topK = logits.length, topP = 1, seed = 0 } = sampling;
  if (temperature === 0) return greedyToken(logits);
  const order = Uint32Array.from(logits.keys()).sort((a, b) => logits[b] - logits[a] || a - b);
  const kept = Math.min(topK, order.length);
  const highest = logits[order[0]];
  const weights = Float64Array.from({ length: kept }, (_, i) =>
    Math.exp((logits[order[i]] - highest) / temperature),
  );
  const all = weights.reduce((sum, weight) => sum + weight, 0);
  let count = 0;
  let inside = 0;
  while (count < kept && (count === 0 || inside < topP * all)) {
    inside += weights[count];
    count += 1;
  }
  let left = dice(seed, position) * inside;
  for (let i = 0; i < count; i += 1) {
    left -= weights[i];
    if (left < 0) return order[i];
  }
  return order[count - 1];
}

/** The most likely token; of equals the one with the smaller id. */
export function greedyToken(logits: Float32Array): number {
  let best = 0;
  for (let token = 1; token < logits.length; token += 1) if (logits[token] > logits[best]) best = token;
  return best;
}

/** A number from 0 to below 1 for each seed and position: two rounds of the murmur3 finaliser. */
function dice(seed: number, position: number): number {
  return mixed(mixed(seed ^ 0x9e3779b9) ^ position) / 2 ** 32;
}

function mixed(word: number): number {
  let x = Math.imul(word ^ (word >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return (x ^ (x >>> 16)) >>> 0;
}
