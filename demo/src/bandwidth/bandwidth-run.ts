/** One measurement of this browser's bandwidth, and what there is to show of it. */
import { measureBandwidth, MOVED_BYTES } from '../../../src/bandwidth/bandwidth.ts';
import type { BandwidthResult } from '../../../src/bandwidth/result.ts';
import { acquireAdapter } from '../../../src/runtime/browser.ts';
import { whyNoAdapter } from '../run/open-device.ts';

export interface BandwidthState {
  readonly status: 'ready' | 'running' | 'finished' | 'failed';
  /** What there is so far. */
  readonly result: BandwidthResult | null;
  readonly done: number;
  /** 0 until it is known. */
  readonly total: number;
  /** It was ended before all was measured. */
  readonly stopped: boolean;
  /** Why nothing, or nothing more, could be measured. */
  readonly problem: string | null;
}

/** Bytes that each run moves, to choose from. The device holds nine times as much at most. */
export const SIZES: readonly number[] = [2 ** 22, 2 ** 24, MOVED_BYTES];

const READY: BandwidthState = {
  status: 'ready',
  result: null,
  done: 0,
  total: 0,
  stopped: false,
  problem: null,
};

export class BandwidthRun {
  state: BandwidthState = READY;
  private readonly listeners = new Set<() => void>();
  private ending = new AbortController();

  /** Calls `listener` after each change. Returns how to undo it. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Measures everything. Never rejects. Does nothing while it is measuring. */
  async start(bytes: number): Promise<void> {
    if (this.state.status === 'running') return;
    this.ending = new AbortController();
    const { signal } = this.ending;
    this.change({ ...READY, status: 'running' });
    try {
      const result = await measureBandwidth({
        acquire: acquireAdapter,
        bytes,
        signal,
        onProgress: async ({ result: soFar, done, total }) => {
          this.change({ result: soFar, done, total });
          // The page is drawn and answers before the next pages move.
          await new Promise((resolve) => setTimeout(resolve));
        },
      });
      this.change({ status: 'finished', result, stopped: signal.aborted });
    } catch (error) {
      this.change({ status: 'failed', problem: whyNoAdapter(error) });
    }
  }

  /** Ends it after what is being measured. */
  stop(): void {
    this.ending.abort();
  }

  private change(part: Partial<BandwidthState>): void {
    this.state = { ...this.state, ...part };
    for (const listener of this.listeners) listener();
  }
}
