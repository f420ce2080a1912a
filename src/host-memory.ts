/**
 * The bytes of the host tier: page-sized slots in a few large `ArrayBuffer`s. Knows nothing of keys or policies.
 */
import { ConfigError, DeviceError } from './errors.ts';
import { machineMemoryBytes } from './runtime/machine-memory.ts';
import { formatBytes, type SlotId } from './units.ts';

/** Larger `ArrayBuffer`s are refused by some engines. */
const SEGMENT_BYTES_MAX = 2 ** 30;

/** How the caller of a check calls the two sizes. */
const FIELDS = { slots: 'offload.slots', slotBytes: 'cache.pageBytes' };

/**
 * Throws `ConfigError` for a host tier that this machine's memory cannot hold, where the runtime tells how much there
 * is. Memory is often handed out before it is there, and then the process is killed when it fills the slots.
 */
export function requireHostMemory(
  size: { readonly slots: number; readonly slotBytes: number },
  options: { names?: typeof FIELDS; machineBytes?: number } = {},
): void {
  const { slots, slotBytes } = size;
  const { names = FIELDS, machineBytes = machineMemoryBytes() } = options;
  if (slots * slotBytes <= machineBytes) return;
  throw new ConfigError(
    `${names.slots} is ${slots}: so many slots of ${slotBytes} bytes (${names.slotBytes}) need ` +
      `${formatBytes(slots * slotBytes)}, this machine has ${formatBytes(machineBytes)} of memory; use fewer or smaller ones`,
  );
}

export class HostMemory {
  readonly slots: number;
  readonly slotBytes: number;
  readonly slotsPerSegment: number;
  private readonly segments: Uint8Array<ArrayBuffer>[] = [];

  /**
   * Throws `ConfigError` for more than the machine has, and `DeviceError` when the memory is refused all the same;
   * what was obtained until then is given back. A browser tells of no size, so there only the second one is possible.
   */
  constructor(options: {
    slots: number;
    slotBytes: number;
    segmentBytesMax?: number;
    machineBytes?: number;
  }) {
    const { slots, slotBytes, segmentBytesMax = SEGMENT_BYTES_MAX, machineBytes } = options;
    if (slotBytes > segmentBytesMax) {
      throw new ConfigError(
        `a slot of ${slotBytes} bytes exceeds ${segmentBytesMax} bytes; use smaller pages`,
      );
    }
    requireHostMemory({ slots, slotBytes }, { machineBytes });
    this.slots = slots;
    this.slotBytes = slotBytes;
    this.slotsPerSegment = Math.floor(segmentBytesMax / slotBytes);
    for (let first = 0; first < slots; first += this.slotsPerSegment) {
      const bytes = Math.min(this.slotsPerSegment, slots - first) * slotBytes;
      try {
        this.segments.push(new Uint8Array(bytes));
      } catch (cause) {
        throw new DeviceError(
          `host memory refused: ${slots} slots of ${slotBytes} bytes need ${formatBytes(slots * slotBytes)}, ` +
            `and no more than ${formatBytes(first * slotBytes)} could be had; use fewer slots or smaller pages`,
          { cause },
        );
      }
    }
  }

  /** Bytes over all slots. */
  get byteLength(): number {
    return this.slots * this.slotBytes;
  }

  /** The bytes of `count` slots from `slot` on. They must lie in one segment: see `runLength`. Take it after awaits. */
  view(slot: SlotId, count = 1): Uint8Array<ArrayBuffer> {
    const segment = this.segments[Math.floor(slot / this.slotsPerSegment)];
    const start = (slot % this.slotsPerSegment) * this.slotBytes;
    if (!segment || start + count * this.slotBytes > segment.byteLength) {
      throw new ConfigError(
        `slots ${slot} to ${slot + count - 1} are not in one segment of ${this.slots} slots`,
      );
    }
    return segment.subarray(start, start + count * this.slotBytes);
  }

  /** The buffer that holds a slot, and the slot's byte offset in it. Take it after awaits. */
  locate(slot: number): { readonly bytes: Uint8Array<ArrayBuffer>; readonly offset: number } {
    if (!(slot >= 0 && slot < this.slots)) {
      throw new ConfigError(`slot ${slot} is not one of ${this.slots} slots`);
    }
    const bytes = this.segments[Math.floor(slot / this.slotsPerSegment)];
    return { bytes, offset: (slot % this.slotsPerSegment) * this.slotBytes };
  }

  /** How many of `slots` from index `from` on are neighbours in one segment, so that one view covers them. */
  runLength(slots: ArrayLike<number>, from: number): number {
    let length = 1;
    while (
      from + length < slots.length &&
      slots[from + length] === slots[from] + length &&
      slots[from + length] % this.slotsPerSegment !== 0
    ) {
      length += 1;
    }
    return length;
  }
}
