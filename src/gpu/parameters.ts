/**
 * Lists for kernels: one GPU buffer, written by one `writeBuffer` a submit. Each dispatch of a submit has a region of
 * its own, because `writeBuffer` takes effect before anything that is recorded but not yet submitted: two dispatches
 * that shared a region would both see the list written last.
 *
 * The next submit starts again at offset 0. That is safe without waiting: its `writeBuffer` is behind the previous
 * submit on the queue, and the queue runs in order.
 */
import { DeviceError } from '../errors.ts';
import { WORD_BYTES } from '../units.ts';
import type { BufferLedger } from './buffers.ts';
import { BufferUsage } from './constants.ts';

/** A part of the buffer, as long as the submit it was reserved for. */
export interface ParameterRegion {
  readonly byteOffset: number;
  readonly byteLength: number;
}

const WORDS_INITIAL = 4096;

export class ParameterArena {
  /** Words that one region can hold. */
  readonly regionWordsMax: number;
  private readonly ledger: BufferLedger;
  private readonly alignmentWords: number;
  private words = new Uint32Array(WORDS_INITIAL);
  private wordsUsed = 0;
  private buffer: GPUBuffer | null = null;

  constructor(ledger: BufferLedger) {
    const { minStorageBufferOffsetAlignment, maxStorageBufferBindingSize, maxBufferSize } =
      ledger.device.limits;
    this.ledger = ledger;
    this.alignmentWords = minStorageBufferOffsetAlignment / WORD_BYTES;
    this.regionWordsMax = Math.floor(Math.min(maxStorageBufferBindingSize, maxBufferSize) / WORD_BYTES);
  }

  /** Reserves a region. Write it through `view` before the next one is reserved: reserving may move the words. */
  reserve(wordCount: number): { readonly region: ParameterRegion; readonly view: Uint32Array } {
    if (wordCount > this.regionWordsMax) {
      throw new DeviceError(
        `a list of ${wordCount * WORD_BYTES} bytes exceeds the device's maxStorageBufferBindingSize or maxBufferSize ` +
          `(${this.regionWordsMax * WORD_BYTES} bytes); plan smaller steps`,
      );
    }
    const start = Math.ceil(this.wordsUsed / this.alignmentWords) * this.alignmentWords;
    const end = start + wordCount;
    if (end > this.words.length) {
      const grown = new Uint32Array(Math.max(end, this.words.length * 2));
      grown.set(this.words.subarray(0, this.wordsUsed));
      this.words = grown;
    }
    this.wordsUsed = end;
    return {
      region: { byteOffset: start * WORD_BYTES, byteLength: wordCount * WORD_BYTES },
      view: this.words.subarray(start, end),
    };
  }

  /** Writes all regions to the device. Record the dispatches that read them after this, and submit them before the next. */
  upload(): void {
    if (this.wordsUsed === 0) return;
    const buffer = this.grownBuffer(this.wordsUsed * WORD_BYTES);
    this.ledger.device.queue.writeBuffer(buffer, 0, this.words, 0, this.wordsUsed);
    this.wordsUsed = 0;
  }

  /** The region as a binding. Only after `upload`. */
  binding({ byteOffset, byteLength }: ParameterRegion): GPUBufferBinding {
    return { buffer: this.buffer!, offset: byteOffset, size: byteLength };
  }

  /** Forgets all regions. */
  discard(): void {
    this.wordsUsed = 0;
  }

  private grownBuffer(bytes: number): GPUBuffer {
    if (this.buffer !== null && this.buffer.size >= bytes) return this.buffer;
    const { maxBufferSize } = this.ledger.device.limits;
    const size = Math.min(Math.max(bytes, this.words.length * WORD_BYTES), Math.max(bytes, maxBufferSize));
    // Whatever reads the old buffer has been submitted: recording happens after `upload`.
    if (this.buffer !== null) this.ledger.destroy(this.buffer);
    const usage = BufferUsage.STORAGE | BufferUsage.COPY_DST;
    this.buffer = this.ledger.create('kernel lists', size, usage, { boundInParts: true });
    return this.buffer;
  }
}
