/** Numbers and tensors for tests of the model's parts, the same on every run. */
import type { Tensor, TensorFormat } from '../../src/model/safetensors.ts';

/** `count` numbers between -1 and 1. */
export function someNumbers(count: number, seed = 1): Float32Array<ArrayBuffer> {
  let state = Math.imul(seed, 0x9e3779b1) >>> 0;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 31 - 1;
  });
}

/** A tensor of such numbers that each fit its format exactly. */
export function someTensor(
  name: string,
  shape: readonly number[],
  { format = 'f32', seed = 1, scale = 1 }: { format?: TensorFormat; seed?: number; scale?: number } = {},
): Tensor {
  const count = shape.reduce((a, b) => a * b, 1);
  const numbers = someNumbers(count, seed).map((value) => value * scale);
  if (format === 'f32') return { name, shape, format, bytes: new Uint8Array(numbers.buffer) };
  const halves = Uint16Array.from(numbers, format === 'f16' ? toHalf : toBrain);
  return { name, shape, format, bytes: new Uint8Array(halves.buffer) };
}

const word = new Uint32Array(1);
const float = new Float32Array(word.buffer);

/** The bits of the nearest bf16 towards zero. */
function toBrain(value: number): number {
  float[0] = value;
  return word[0] >>> 16;
}

/** The bits of the nearest f16 towards zero. */
function toHalf(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const magnitude = Math.abs(value);
  if (magnitude < 2 ** -14) return sign | Math.trunc(magnitude * 2 ** 24);
  const exponent = Math.floor(Math.log2(magnitude));
  return sign | ((exponent + 15) << 10) | Math.trunc((magnitude / 2 ** exponent - 1) * 1024);
}
