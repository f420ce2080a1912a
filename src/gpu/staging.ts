/**
 * The ring of buffers through which pages leave the device. A buffer is filled by copies, mapped, read, unmapped and
 * filled again; who gets which buffer when is `transfer/store-queue.ts`'s business.
 */
import { alignUp, MAP_ALIGNMENT, mappedBytes, type BufferLedger } from './buffers.ts';
import { BufferUsage, MapMode } from './constants.ts';
import type { DeviceWatch, ScopeResult } from './device.ts';

/** A filled buffer on its way to the host. Its fate is known once `settled`; null: mapped and right. */
export interface Arrival {
  readonly failure: Promise<string | null>;
  settled: boolean;
}

interface StagingBuffer {
  buffer: GPUBuffer;
  bytesUsed: number;
  mapped: boolean;
  /** Null: mapped. */
  mapping: Promise<string | null>;
}

export class StagingRing {
  private readonly ledger: BufferLedger;
  private readonly watch: DeviceWatch;
  private readonly bytes: number;
  private readonly ring: StagingBuffer[];
  private readonly mappings = new Set<Promise<unknown>>();

  constructor(ledger: BufferLedger, watch: DeviceWatch, options: { buffers: number; bytes: number }) {
    this.ledger = ledger;
    this.watch = watch;
    this.bytes = alignUp(options.bytes, MAP_ALIGNMENT);
    this.ring = Array.from({ length: options.buffers }, (_, index) => ({
      buffer: this.make(index),
      bytesUsed: 0,
      mapped: false,
      mapping: Promise.resolve('not filled'),
    }));
  }

  /** The buffer to copy into. */
  buffer(index: number): GPUBuffer {
    return this.ring[index].buffer;
  }

  /** Starts mapping what the submits so far have put into a buffer. */
  map(index: number, bytesUsed: number): void {
    const staging = this.ring[index];
    staging.bytesUsed = alignUp(bytesUsed, MAP_ALIGNMENT);
    const mapping = this.watch.guard(staging.buffer.mapAsync(MapMode.READ, 0, staging.bytesUsed)).then(
      () => {
        staging.mapped = true;
        return null;
      },
      (reason: unknown) => (reason instanceof Error ? reason.message : String(reason)),
    );
    staging.mapping = mapping;
    this.mappings.add(mapping);
    void mapping.then(() => this.mappings.delete(mapping));
  }

  /** What comes of a buffer that is being mapped. `refused`: whether the device took the submits that filled it. */
  arrival(index: number, refused: ScopeResult): Arrival {
    const { mapping } = this.ring[index];
    const failure = Promise.all([mapping, refused]).then(([unmapped, error]) => error ?? unmapped);
    const arrival: Arrival = { failure, settled: false };
    void failure.then(() => {
      arrival.settled = true;
    });
    return arrival;
  }

  /** The bytes of a mapped buffer; they are gone after `release`. Throws as `mappedBytes` does. */
  read(index: number): Uint8Array<ArrayBuffer> {
    const { buffer, bytesUsed } = this.ring[index];
    return mappedBytes(buffer, bytesUsed);
  }

  /** Back to the device, to be filled again. */
  release(index: number): void {
    const staging = this.ring[index];
    if (!staging.mapped) return;
    staging.mapped = false;
    try {
      staging.buffer.unmap();
    } catch {
      // Deno refuses it once the device has been destroyed, which unmaps buffers by itself.
    }
  }

  /** A buffer that failed to map is in no known state: a fresh one takes its place. */
  replace(index: number): void {
    const staging = this.ring[index];
    this.ledger.destroy(staging.buffer);
    staging.mapped = false;
    staging.buffer = this.make(index);
  }

  /** Waits until no mapping is under way, and unmaps. */
  async settle(): Promise<void> {
    await Promise.all(this.mappings);
    if (this.watch.lost !== null) return;
    for (let index = 0; index < this.ring.length; index += 1) this.release(index);
  }

  private make(index: number): GPUBuffer {
    return this.ledger.create(
      `staging buffer ${index}`,
      this.bytes,
      BufferUsage.MAP_READ | BufferUsage.COPY_DST,
    );
  }
}
