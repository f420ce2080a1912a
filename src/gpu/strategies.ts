/**
 * The ways to move bytes. No single one is best everywhere: on a GPU one dispatch over a list of pages beats thousands
 * of commands, on software adapters the commands win several times over, and Deno pays dearly for each `writeBuffer`.
 */
import type { TransferConfig } from '../config.ts';
import type { AdapterFacts } from './device.ts';

const MEBIBYTE = 2 ** 20;

export interface Strategies {
  /** Zero pages by a kernel, or by `clearBuffer` for each run of neighbours. Poison always takes the kernel. */
  readonly zero: 'kernel' | 'clear';
  /** Copy pages by a kernel, or by copy commands through a bounce buffer. */
  readonly copy: 'kernel' | 'bounce';
  /** Fill staging buffers by a copy command for each run of neighbours, or gather by a kernel and copy once. */
  readonly store: 'copy' | 'gather';
  /**
   * Load by `writeBuffer` for each run of neighbours (`write`); or pack the pages, write them at once, and spread
   * them by copy commands (`pack`) or by a kernel (`scatter`); or pack them into buffers that are mapped ahead of use
   * (`ring`), as far as there are any.
   */
  readonly load: 'write' | 'pack' | 'scatter' | 'ring';
  /**
   * A step's loads are written directly, whatever `load` says, where their neighbours form at most this many runs, and
   * have at most `directBytesMax` bytes or a device without other work.
   */
  readonly directWritesMax: number;
  /** Larger loads take the way that `load` says while the device has work ahead of them. */
  readonly directBytesMax: number;
  /**
   * Bytes of one write, and between two submits, where a load writes directly. Implementations keep what is written in
   * memory of their own until the next submit, and take that memory again behind it.
   */
  readonly writeBytesMax: number;
}

/** What suits an adapter, by the measurements that `test/bench` repeats. */
export function defaultStrategies({ software, runtime }: AdapterFacts): Strategies {
  const load = !software ? 'scatter' : runtime === 'browser' ? 'ring' : 'write';
  const loads = {
    load,
    directWritesMax: runtime === 'deno' ? 1 : 16,
    // Large writes behind other work wait for memory that both processes of a browser share.
    directBytesMax: load === 'ring' ? 2 * MEBIBYTE : Number.MAX_SAFE_INTEGER,
    // Node and Deno want to be done with a write before the next, wherever other work is ahead of it.
    writeBytesMax: (runtime === 'browser' ? 64 : 4) * MEBIBYTE,
  } as const;
  return software
    ? { zero: 'clear', copy: 'bounce', store: 'copy', ...loads }
    : { zero: 'kernel', copy: 'kernel', store: 'gather', ...loads };
}

/**
 * Staging that suits an adapter, to spread into a transfer configuration. Each buffer costs a round trip, whatever it
 * brings: about 11 ms in Deno, and a message to another process and back in a browser.
 */
export function suggestedTransfer({
  runtime,
}: Pick<AdapterFacts, 'runtime'>): Pick<TransferConfig, 'stagingBuffers' | 'stagingBytes'> {
  return { stagingBuffers: 4, stagingBytes: (runtime === 'node' ? 4 : 16) * MEBIBYTE };
}
