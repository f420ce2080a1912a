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

/** A large tensor whose numbers repeat, at no multiple of its width. */
export function repeatedTensor(
  name: string,
  shape: readonly number[],
  options: Parameters<typeof someTensor>[2],
): Tensor {
  const count = shape.reduce((a, b) => a * b, 1);
  const block = someTensor(name, [Math.min(count, 9973)], options);
  const bytes = new Uint8Array((block.bytes.length / block.shape[0]) * count);
  bytes.set(block.bytes);
  for (let filled = block.bytes.length; filled < bytes.length; filled *= 2)
    bytes.copyWithin(filled, 0, filled);
  return { ...block, shape, bytes };
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
