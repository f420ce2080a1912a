/**
 * Buffers through which pages enter the device, mapped ahead of their use. In a browser this saves the copies that
 * `writeBuffer` makes on its way into the GPU process. A buffer is mapped, filled, unmapped, copied from, and mapped
 * again for a later step; nobody ever waits for one.
 */
import type { BufferLedger } from './buffers.ts';
import { BufferUsage, MapMode } from './constants.ts';

/** Unmapping moves the whole buffer, however much of it is filled: many small ones beat few large ones. */
const BUFFER_BYTES = 4 * 2 ** 20;
const BUFFERS_MAX = 16;

/** A buffer to fill. Hand it back after the submit that copies from it. */
export interface UploadBuffer {
  readonly buffer: GPUBuffer;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export class UploadRing {
  /** Bytes of one buffer: whole pages. */
  readonly bufferBytes: number;
  private readonly ledger: BufferLedger;
  private readonly mapped: GPUBuffer[] = [];

  /** No more than a whole pool of `pages` pages needs. */
  constructor(ledger: BufferLedger, { pages, pageBytes }: { pages: number; pageBytes: number }) {
    this.ledger = ledger;
    const pagesPerBuffer = Math.min(pages, Math.max(1, Math.floor(BUFFER_BYTES / pageBytes)));
    // Mapped whole, and `mapAsync` takes multiples of 8.
    this.bufferBytes = pagesPerBuffer * pageBytes;
    const size = Math.ceil(this.bufferBytes / 8) * 8;
    const count = Math.min(BUFFERS_MAX, Math.ceil(pages / pagesPerBuffer));
    for (let index = 0; index < count; index += 1) {
      const usage = BufferUsage.MAP_WRITE | BufferUsage.COPY_SRC;
      this.giveBack(ledger.create(`upload buffer ${index}`, size, usage));
    }
  }

  /** A mapped buffer, or null where every one is still on its way. */
  take(): UploadBuffer | null {
    const buffer = this.mapped.pop();
    return buffer ? { buffer, bytes: new Uint8Array(buffer.getMappedRange()) } : null;
  }

  /** Maps a buffer for later, behind everything submitted so far. One that cannot be mapped is given up. */
  giveBack(buffer: GPUBuffer): void {
    buffer.mapAsync(MapMode.WRITE).then(
      () => this.mapped.push(buffer),
      () => {
        this.ledger.destroy(buffer);
      },
    );
  }
}
