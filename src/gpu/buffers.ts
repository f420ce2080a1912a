/** Makes GPU buffers under error scopes and keeps account of them, so that none is left behind. */
import { DeviceError } from '../errors.ts';
import { inErrorScopes } from './device.ts';

export class BufferLedger {
  readonly device: GPUDevice;
  private readonly live = new Set<GPUBuffer>();
  private readonly pending: Promise<string | null>[] = [];

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
   * A buffer of at least `size` bytes, rounded up to 8 because `mapAsync` takes multiples of that. Whether the device
   * granted it is known after `settle`.
   */
  create(label: string, size: number, usage: GPUBufferUsageFlags): GPUBuffer {
    const bytes = Math.max(8, Math.ceil(size / 8) * 8);
    const { maxBufferSize } = this.device.limits;
    if (bytes > maxBufferSize) {
      throw new DeviceError(
        `${label}: ${bytes} bytes exceed the device's maxBufferSize of ${maxBufferSize}; ` +
          'request the device with a higher limit, or configure a smaller size',
      );
    }
    const { value: buffer, result } = inErrorScopes(this.device, () => this.device.createBuffer({ label, size: bytes, usage }));
    this.live.add(buffer);
    this.pending.push(result.then((error) => (error === null ? null : `${label}: ${bytes} bytes refused: ${error}`)));
    return buffer;
  }

  /** Waits until it is known whether the device granted every buffer so far. Throws `DeviceError` if not. */
  async settle(): Promise<void> {
    const errors = await Promise.all(this.pending.splice(0));
    const error = errors.find((message) => message !== null);
    if (error !== undefined) throw new DeviceError(`${error!}; configure a smaller size`);
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
