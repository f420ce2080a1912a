/**
 * The pool's bytes: one contiguous extent a page, in as many buffers (segments) as the device's limits demand. No page
 * crosses a border.
 */
import { ConfigError, DeviceError } from '../errors.ts';
import { WORD_BYTES, type PageId } from '../units.ts';
import { BufferLedger } from './buffers.ts';
import { BufferUsage } from './constants.ts';

export interface PageBuffersOptions {
  readonly device: GPUDevice;
  /** Pages of the pool, the null page included. */
  readonly pages: number;
  /** Bytes of one page. A multiple of 4. */
  readonly pageBytes: number;
  /** Upper bound on the bytes of one segment, below the device's own. For tests that want many segments. */
  readonly segmentBytesMax?: number;
  /** Keeps account of the buffers. One of its own where left out. */
  readonly ledger?: BufferLedger;
}

export interface PageSegment {
  readonly index: number;
  readonly buffer: GPUBuffer;
  readonly firstPage: number;
  readonly pages: number;
}

/** Where the bytes of a page are. */
export interface PageLocation {
  readonly buffer: GPUBuffer;
  /** Bytes from the start of the buffer. A multiple of 4, not of 256: bind the buffer, not the offset. */
  readonly offset: number;
}

export interface SegmentPlan {
  readonly pagesPerSegment: number;
  readonly segmentCount: number;
}

type SegmentLimits = Pick<GPUSupportedLimits, 'maxBufferSize' | 'maxStorageBufferBindingSize'>;

/** Kernels address words of a segment with 32 bits. */
const ADDRESSABLE_BYTES = 2 ** 32 * WORD_BYTES;

/**
 * Splits a pool. A segment is bound whole, so it has to fit a buffer and a binding. Throws `DeviceError` that names
 * the limit when not even one page fits, `ConfigError` for sizes that fit no device.
 */
export function planSegments(
  pool: { readonly pages: number; readonly pageBytes: number; readonly segmentBytesMax?: number },
  limits: SegmentLimits,
): SegmentPlan {
  const { pages, pageBytes, segmentBytesMax } = pool;
  if (!Number.isSafeInteger(pageBytes) || pageBytes <= 0 || pageBytes % WORD_BYTES !== 0) {
    throw new ConfigError(
      `pageBytes ${pageBytes} is not a positive multiple of ${WORD_BYTES}, the unit of WebGPU copies; pad the page`,
    );
  }
  if (!Number.isSafeInteger(pages) || pages <= 0 || !Number.isSafeInteger(pages * pageBytes)) {
    throw new ConfigError(
      `${pages} pages of ${pageBytes} bytes cannot be addressed; use a whole, smaller number of pages`,
    );
  }
  const bounds: [string, number][] = [
    ["the device's maxStorageBufferBindingSize", limits.maxStorageBufferBindingSize],
    ["the device's maxBufferSize", limits.maxBufferSize],
    ['the reach of 32-bit word offsets', ADDRESSABLE_BYTES],
  ];
  if (segmentBytesMax !== undefined) bounds.push(['segmentBytesMax', segmentBytesMax]);
  const [name, bytes] = bounds.reduce((lowest, bound) => (bound[1] < lowest[1] ? bound : lowest));
  if (pageBytes > bytes) {
    throw new DeviceError(
      `a page of ${pageBytes} bytes exceeds ${name} of ${bytes} bytes; use smaller pages, or raise that limit`,
    );
  }
  const pagesPerSegment = Math.min(pages, Math.floor(bytes / pageBytes));
  return { pagesPerSegment, segmentCount: Math.ceil(pages / pagesPerSegment) };
}

/** Plain numbers: exact up to 2^53, where `|0` and shifts would wrap at 2^31. */
export function locatePage(
  page: number,
  pageBytes: number,
  pagesPerSegment: number,
): { segment: number; offset: number } {
  return { segment: Math.floor(page / pagesPerSegment), offset: (page % pagesPerSegment) * pageBytes };
}

/** Memory that is refused in segments of twice this size is not asked for in smaller ones. */
const SEGMENT_BYTES_MIN = 2 ** 26;

async function makeSegments(
  { pages, pageBytes }: PageBuffersOptions,
  { pagesPerSegment, segmentCount }: SegmentPlan,
  ledger: BufferLedger,
  segments: PageSegment[],
): Promise<void> {
  const usage = BufferUsage.STORAGE | BufferUsage.COPY_SRC | BufferUsage.COPY_DST;
  for (let index = 0; index < segmentCount; index += 1) {
    const firstPage = index * pagesPerSegment;
    const count = Math.min(pagesPerSegment, pages - firstPage);
    const label = `pages ${firstPage} to ${firstPage + count - 1} (segment ${index} of ${segmentCount})`;
    const buffer = ledger.create(label, count * pageBytes, usage);
    segments.push({ index, buffer, firstPage, pages: count });
    // One after the other: memory that is not there is not asked for again and again.
    await ledger.settle();
  }
}

export class PageBuffers {
  readonly pages: number;
  readonly pageBytes: number;
  readonly pageWords: number;
  readonly pagesPerSegment: number;
  readonly segments: readonly PageSegment[];
  private readonly ledger: BufferLedger;

  /**
   * Makes the buffers, all bytes zero. Throws `DeviceError` that names the segment, its bytes and the reason when the
   * device refuses one; those made until then are given back.
   */
  static async create(options: PageBuffersOptions): Promise<PageBuffers> {
    const { pages, pageBytes } = options;
    const ledger = options.ledger ?? new BufferLedger(options.device);
    let { segmentBytesMax } = options;
    for (;;) {
      const plan = planSegments({ pages, pageBytes, segmentBytesMax }, options.device.limits);
      const segments: PageSegment[] = [];
      try {
        await makeSegments(options, plan, ledger, segments);
        return new PageBuffers({ pages, pageBytes, pagesPerSegment: plan.pagesPerSegment, segments, ledger });
      } catch (error) {
        for (const { buffer } of segments) ledger.destroy(buffer);
        // Some implementations refuse a buffer that their own limits allow, and grant two of half its size.
        segmentBytesMax = Math.floor((plan.pagesPerSegment * pageBytes) / 2);
        if (segmentBytesMax < Math.max(SEGMENT_BYTES_MIN, pageBytes)) throw error;
      }
    }
  }

  private constructor(
    made: Pick<PageBuffers, 'pages' | 'pageBytes' | 'pagesPerSegment' | 'segments'> & {
      ledger: BufferLedger;
    },
  ) {
    this.pages = made.pages;
    this.pageBytes = made.pageBytes;
    this.pageWords = made.pageBytes / WORD_BYTES;
    this.pagesPerSegment = made.pagesPerSegment;
    this.segments = made.segments;
    this.ledger = made.ledger;
  }

  /** The buffer that holds a page, and the page's byte offset in it. */
  locate(page: PageId): PageLocation {
    if (!Number.isInteger(page) || page < 0 || page >= this.pages) {
      throw new ConfigError(`page ${page} is not one of the pool's ${this.pages} pages`);
    }
    const { segment, offset } = locatePage(page, this.pageBytes, this.pagesPerSegment);
    return { buffer: this.segments[segment].buffer, offset };
  }

  /** The segment of a page. */
  segmentOf(page: number): PageSegment {
    return this.segments[Math.floor(page / this.pagesPerSegment)];
  }

  /** Gives the buffers back. Twice is harmless. */
  destroy(): void {
    for (const { buffer } of this.segments) this.ledger.destroy(buffer);
  }
}
