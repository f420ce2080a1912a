/**
 * Weights on the device. A matrix keeps the format of its file. Its rows are padded to whole vec4s, and it lies in as
 * many buffers as the limit on bindings demands.
 */
import { ConfigError } from '../../errors.ts';
import type { BufferLedger } from '../../gpu/buffers.ts';
import { BufferUsage } from '../../gpu/constants.ts';
import { ceilDiv } from '../../units.ts';
import { toFloat32 } from '../number-formats.ts';
import { FORMAT_BYTES, type Tensor, type TensorFormat } from '../safetensors.ts';

const VEC4 = 4;
/** Rows are written in pieces of about this size, so that no copy of a whole matrix is made on the way. */
const PIECE_BYTES = 2 ** 25;

export interface MatrixPart {
  readonly buffer: GPUBuffer;
  readonly firstRow: number;
  readonly rows: number;
}

export interface DeviceMatrix {
  readonly format: TensorFormat;
  readonly rows: number;
  /** vec4s of a row. */
  readonly vec4s: number;
  readonly parts: readonly MatrixPart[];
}

/** Numbers of a row with its padding. */
export function padded(width: number): number {
  return ceilDiv(width, VEC4) * VEC4;
}

export interface UploadOptions {
  /** Below the device's own limit. For tests that want many parts. */
  readonly partBytesMax?: number;
}

/** Matrices of one width, one below the other, as one. Where their formats differ they become f32. */
export function uploadMatrix(
  ledger: BufferLedger,
  tensors: readonly Tensor[],
  options: UploadOptions = {},
): DeviceMatrix {
  const [{ name, shape }] = tensors;
  const format = tensors.every((tensor) => tensor.format === tensors[0].format) ? tensors[0].format : 'f32';
  const vec4s = ceilDiv(shape[1], VEC4);
  const rowBytes = vec4s * VEC4 * FORMAT_BYTES[format];
  const { maxStorageBufferBindingSize, maxBufferSize } = ledger.device.limits;
  const partBytesMax = Math.min(maxStorageBufferBindingSize, maxBufferSize, options.partBytesMax ?? Infinity);
  const rowsMax = Math.floor(partBytesMax / rowBytes);
  if (rowsMax === 0) {
    throw new ConfigError(
      `${name}: a row of ${rowBytes} bytes exceeds the device's limit of ${partBytesMax} bytes a binding`,
    );
  }
  const rows = tensors.reduce((sum, tensor) => sum + tensor.shape[0], 0);
  const parts: MatrixPart[] = [];
  for (let firstRow = 0; firstRow < rows; firstRow += rowsMax) {
    const count = Math.min(rowsMax, rows - firstRow);
    const usage = BufferUsage.STORAGE | BufferUsage.COPY_DST;
    parts.push({ buffer: ledger.create(name, count * rowBytes, usage), firstRow, rows: count });
  }
  let firstRow = 0;
  for (const tensor of tensors) {
    writeRows(ledger.device, { parts, rowBytes, firstRow, rowsMax }, rowsOf(tensor, format, vec4s * VEC4));
    firstRow += tensor.shape[0];
  }
  return { format, rows, vec4s, parts };
}

/** A list of numbers, as f32. */
export function uploadVector(ledger: BufferLedger, tensor: Tensor): GPUBuffer {
  const numbers = toFloat32(tensor);
  const buffer = ledger.create(tensor.name, numbers.byteLength, BufferUsage.STORAGE | BufferUsage.COPY_DST);
  ledger.device.queue.writeBuffer(buffer, 0, numbers);
  return buffer;
}

/** The bytes of all rows, padded. Where nothing has to be done they are the file's own. */
function rowsOf(tensor: Tensor, format: TensorFormat, width: number): Uint8Array<ArrayBuffer> {
  const [rows, columns] = tensor.shape;
  const bytes = tensor.format === format ? tensor.bytes : new Uint8Array(toFloat32(tensor).buffer);
  if (columns === width) return bytes;
  const rowBytes = columns * FORMAT_BYTES[format];
  const paddedBytes = width * FORMAT_BYTES[format];
  const result = new Uint8Array(rows * paddedBytes);
  for (let row = 0; row < rows; row += 1) {
    result.set(bytes.subarray(row * rowBytes, (row + 1) * rowBytes), row * paddedBytes);
  }
  return result;
}

function writeRows(
  device: GPUDevice,
  to: {
    readonly parts: readonly MatrixPart[];
    readonly rowBytes: number;
    readonly firstRow: number;
    readonly rowsMax: number;
  },
  bytes: Uint8Array<ArrayBuffer>,
): void {
  const { parts, rowBytes, rowsMax } = to;
  const count = bytes.length / rowBytes;
  const pieceRows = Math.max(1, Math.floor(PIECE_BYTES / rowBytes));
  for (let done = 0; done < count;) {
    const row = to.firstRow + done;
    const part = parts[Math.floor(row / rowsMax)];
    const rows = Math.min(count - done, pieceRows, part.firstRow + part.rows - row);
    const offset = (row - part.firstRow) * rowBytes;
    device.queue.writeBuffer(part.buffer, offset, bytes, done * rowBytes, rows * rowBytes);
    done += rows;
  }
}
