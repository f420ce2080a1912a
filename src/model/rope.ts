/** Rotary position embedding: by how much each pair of numbers is turned. */
import type { ModelConfig } from './config.ts';

/** Angle a position, by pair. Pair i of a head is its numbers i and i + headDim / 2. */
export function ropeFrequencies({ headDim, rope }: ModelConfig): Float64Array<ArrayBuffer> {
  const frequencies = new Float64Array(headDim / 2);
  for (let pair = 0; pair < frequencies.length; pair += 1) {
    frequencies[pair] = scaled(rope.theta ** ((-2 * pair) / headDim), rope.scaling);
  }
  return frequencies;
}

/** Fast turns stay, slow ones are stretched by the whole factor, those in between by part of it. */
function scaled(frequency: number, scaling: ModelConfig['rope']['scaling']): number {
  if (scaling === null) return frequency;
  const { factor, lowFrequencyFactor, highFrequencyFactor, originalPositions } = scaling;
  const turns = (originalPositions * frequency) / (2 * Math.PI);
  if (turns > highFrequencyFactor) return frequency;
  if (turns < lowFrequencyFactor) return frequency / factor;
  const share = (turns - lowFrequencyFactor) / (highFrequencyFactor - lowFrequencyFactor);
  return frequency * (share + (1 - share) / factor);
}

/**
 * Cosine and sine of each pair, row after row: [positions, headDim / 2, 2]. Computed here and not in a shader, because
 * WGSL allows sines an error of 2^-11 and angles grow with the position.
 */
export function rotations(
  frequencies: Float64Array,
  positions: ArrayLike<number>,
): Float32Array<ArrayBuffer> {
  const pairs = frequencies.length;
  const values = new Float32Array(positions.length * pairs * 2);
  for (let row = 0, at = 0; row < positions.length; row += 1) {
    for (let pair = 0; pair < pairs; pair += 1, at += 2) {
      const angle = positions[row] * frequencies[pair];
      values[at] = Math.cos(angle);
      values[at + 1] = Math.sin(angle);
    }
  }
  return values;
}
