/** 16-bit floating-point numbers as 32-bit ones. Exact: each is a number in f32 as well. */
import { FORMAT_BYTES, type Tensor } from './safetensors.ts';

/** The numbers of a tensor. Always a copy. */
export function toFloat32(tensor: Tensor): Float32Array<ArrayBuffer> {
  // Tensors lie at any byte; typed arrays do not.
  const bytes = tensor.bytes.slice();
  if (tensor.format === 'f32') return new Float32Array(bytes.buffer);
  const halves = new Uint16Array(bytes.buffer, 0, bytes.length / FORMAT_BYTES[tensor.format]);
  const numbers = new Float32Array(halves.length);
  const words = new Uint32Array(numbers.buffer);
  if (tensor.format === 'bf16') {
    for (let i = 0; i < halves.length; i += 1) words[i] = halves[i] << 16;
  } else {
    for (let i = 0; i < halves.length; i += 1) numbers[i] = halfToNumber(halves[i]);
  }
  return numbers;
}

const EXPONENT_BITS = 0x7c00;
const FRACTION_BITS = 0x03ff;
/** The smallest half above zero. */
const SUBNORMAL = 2 ** -24;

/** The number that 16 bits of IEEE binary16 stand for. */
export function halfToNumber(bits: number): number {
  const sign = (bits & 0x8000) === 0 ? 1 : -1;
  const exponent = (bits & EXPONENT_BITS) >> 10;
  const fraction = bits & FRACTION_BITS;
  if (exponent === 0) return sign * fraction * SUBNORMAL;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
