/**
 * Reads safetensors: eight bytes with the length of a JSON header, the header, then the tensors' bytes. Nothing is
 * copied; tensors are views into the file's buffer.
 */
import { z } from 'zod';
import { InputError } from '../errors.ts';

/** How a tensor's numbers are stored. */
export type TensorFormat = 'f32' | 'f16' | 'bf16';

export interface Tensor {
  readonly name: string;
  /** Outermost dimension first; rows of a matrix lie one after the other. */
  readonly shape: readonly number[];
  readonly format: TensorFormat;
  /** Little-endian. Not aligned to anything. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** Bytes of one number. */
export const FORMAT_BYTES: Readonly<Record<TensorFormat, number>> = { f32: 4, f16: 2, bf16: 2 };

const FORMATS: Readonly<Record<string, TensorFormat>> = { F32: 'f32', F16: 'f16', BF16: 'bf16' };
const LENGTH_BYTES = 8;

const entrySchema = z.object({
  dtype: z.string(),
  shape: z.array(z.int().min(0)),
  data_offsets: z.tuple([z.int().min(0), z.int().min(0)]),
});

/** The tensors of one file, by name. */
export class Safetensors {
  /** For messages: a path or an address. */
  readonly file: string;
  private readonly tensors: ReadonlyMap<string, Tensor | string>;

  /** Throws `InputError` that names the file and what is wrong with it: truncated, misshapen, not such a file. */
  constructor(buffer: ArrayBuffer, file = 'model.safetensors') {
    this.file = file;
    this.tensors = parse(buffer, file);
  }

  get names(): string[] {
    return [...this.tensors.keys()];
  }

  has(name: string): boolean {
    return this.tensors.has(name);
  }

  /** A tensor of that shape. Throws `InputError` where it is missing, of another shape or of an unsupported format. */
  tensor(name: string, shape: readonly number[]): Tensor {
    const tensor = this.tensors.get(name);
    if (tensor === undefined) throw new InputError(`${this.file}: tensor ${name} is missing`);
    if (typeof tensor === 'string') {
      throw new InputError(`${this.file}: tensor ${name} is ${tensor}; supported are F32, F16 and BF16`);
    }
    if (tensor.shape.length !== shape.length || tensor.shape.some((size, i) => size !== shape[i])) {
      throw new InputError(
        `${this.file}: tensor ${name} has shape [${tensor.shape.join(', ')}]; config.json wants [${shape.join(', ')}]`,
      );
    }
    return tensor;
  }
}

function parse(buffer: ArrayBuffer, file: string): Map<string, Tensor | string> {
  const fail = (problem: string): never => {
    throw new InputError(`${file}: ${problem}`);
  };
  if (buffer.byteLength < LENGTH_BYTES) fail(`${buffer.byteLength} bytes are no safetensors file`);
  const headerBytes = Number(new DataView(buffer).getBigUint64(0, true));
  const dataStart = LENGTH_BYTES + headerBytes;
  if (dataStart > buffer.byteLength) {
    fail(
      `a header of ${headerBytes} bytes in a file of ${buffer.byteLength}: truncated, or no safetensors file`,
    );
  }
  const dataBytes = buffer.byteLength - dataStart;
  const tensors = new Map<string, Tensor | string>();
  for (const [name, json] of Object.entries(headerOf(buffer, headerBytes, file))) {
    if (name === '__metadata__') continue;
    const entry = entrySchema.safeParse(json);
    if (!entry.success) return fail(`tensor ${name}: its entry in the header is malformed`);
    const { dtype, shape, data_offsets: offsets } = entry.data;
    const [start, end] = offsets;
    if (end > dataBytes) {
      fail(`tensor ${name} ends at byte ${end} of ${dataBytes} bytes of data; the file is truncated`);
    }
    const format = FORMATS[dtype];
    if (format === undefined) {
      tensors.set(name, dtype);
      continue;
    }
    const bytes = shape.reduce((product, size) => product * size, FORMAT_BYTES[format]);
    if (end - start !== bytes) {
      fail(
        `tensor ${name}: ${dtype} [${shape.join(', ')}] takes ${bytes} bytes, the header gives it ${end - start}`,
      );
    }
    tensors.set(name, { name, shape, format, bytes: new Uint8Array(buffer, dataStart + start, bytes) });
  }
  return tensors;
}

function headerOf(buffer: ArrayBuffer, bytes: number, file: string): Record<string, unknown> {
  try {
    const header: unknown = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, LENGTH_BYTES, bytes)));
    if (typeof header === 'object' && header !== null) return header as Record<string, unknown>;
  } catch {
    // Told below, like a header that is no object.
  }
  throw new InputError(`${file}: its header is not JSON; this is no safetensors file`);
}
