/** Makes GPU buffers under error scopes and keeps account of them, so that none is left behind. */
import { DeviceError, DeviceMemoryError } from '../errors.ts';
import { BufferUsage } from './constants.ts';
import { inErrorScopes } from './device.ts';

export class BufferLedger {
  readonly device: GPUDevice;
  private readonly live = new Set<GPUBuffer>();
  /** Buffers that the device has not granted yet, and refusals that nobody has looked at. */
  private readonly pending = new Set<Promise<string | null>>();

  constructor(device: GPUDevice) {
    this.device = device;
  }

  /** Bytes of all live buffers made here. */
  get liveBytes(): number {
    let bytes = 0;
    for (const buffer of this.live) bytes += buffer.size;
    return bytes;
  }

  /** The same by label. */
  get liveBytesByLabel(): Readonly<Record<string, number>> {
    const bytes: Record<string, number> = {};
    for (const { label, size } of this.live) bytes[label] = (bytes[label] ?? 0) + size;
    return bytes;
  }

  /**
   * A buffer of `bytes` bytes, all zero. Whether the device granted it is known after `settle`. Throws `DeviceError`
   * when the device's limits rule it out.
   */
  create(label: string, bytes: number, usage: GPUBufferUsageFlags, { boundInParts = false } = {}): GPUBuffer {
    const limits: ('maxBufferSize' | 'maxStorageBufferBindingSize')[] = ['maxBufferSize'];
    if ((usage & BufferUsage.STORAGE) !== 0 && !boundInParts) limits.push('maxStorageBufferBindingSize');
    for (const name of limits) {
      const limit = this.device.limits[name];
      if (bytes <= limit) continue;
      throw new DeviceError(
        `${label}: ${bytes} bytes exceed the device's ${name} of ${limit}; ` +
          'request the device with a higher limit, or configure a smaller size',
      );
    }
    const { value: buffer, result } = inErrorScopes(this.device, () =>
      this.device.createBuffer({ label, size: bytes, usage }),
    );
    this.live.add(buffer);
    const verdict = result.then((error) => {
      if (error !== null) return `${label}: ${bytes} bytes refused: ${error}`;
      this.pending.delete(verdict);
      return null;
    });
    this.pending.add(verdict);
    return buffer;
  }

  /** Waits until it is known whether the device granted every buffer so far. Throws `DeviceMemoryError` if not. */
  async settle(): Promise<void> {
    const pending = [...this.pending];
    this.pending.clear();
    const errors = await Promise.all(pending);
    const error = errors.find((message) => message !== null) ?? null;
    if (error !== null) throw new DeviceMemoryError(`${error}; configure a smaller size`);
  }

  /** Gives one buffer back. Work that was submitted before may still use it. */
  destroy(buffer: GPUBuffer): void {
    if (this.live.delete(buffer)) buffer.destroy();
  }

  destroyAll(): void {
    for (const buffer of this.live) buffer.destroy();
    this.live.clear();
  }
}

/** A copy-free view of a mapped buffer's first bytes. Throws where a device that is being lost has unmapped it. */
export function mappedBytes(buffer: GPUBuffer, bytes: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(buffer.getMappedRange(0, bytes));
}

/** `mapAsync` takes offsets and sizes in multiples of 8, as far as the standard's rounding goes. */
export const MAP_ALIGNMENT = 8;

/** Rounds up to a multiple. */
export function alignUp(value: number, alignment: number): number {
  return Math.ceil(value / alignment) * alignment;
}
