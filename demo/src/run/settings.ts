/** What can be set for a run, and the configuration that follows from it. */
import type { EngineConfigInput } from '../../../src/index.ts';
import type { LoadedTrace } from './load-trace.ts';

export interface RunSettings {
  /** Pages of the pool, the null page included. */
  readonly poolPages: number;
  /** Places of the host tier. 0: no offloading. */
  readonly hostSlots: number;
  readonly policy: 'lru' | 'arc-tier';
  /** Requests under way at once. */
  readonly concurrency: number;
  /** Pages that stores may read in one step. */
  readonly storePagesPerStep: number;
  /** Tokens that each request produces; `trace`: as many as were recorded. */
  readonly outputTokens: 1 | 'trace';
  readonly fence: 'complete' | 'off';
  /** `auto`: WebGPU where there is one. */
  readonly worker: 'auto' | 'simulated';
}

export type SettingName = 'poolPages' | 'hostSlots' | 'concurrency' | 'storePagesPerStep';

/** Bounds of the number fields. Pages are 4 KiB, so the largest pool is 80 MB and the largest host tier 200 MB. */
export const BOUNDS: Readonly<Record<SettingName, { readonly min: number; readonly max: number }>> = {
  poolPages: { min: 2, max: 20_000 },
  hostSlots: { min: 0, max: 50_000 },
  concurrency: { min: 1, max: 64 },
  storePagesPerStep: { min: 1, max: 1024 },
};

export const PAGE_BYTES = 4096;

/** Buffers of the staging ring: few, so that stores wait where they can be seen waiting. */
const STAGING_BUFFERS = 2;

/** Places of the overflow buffer. Too few, and flushed stores fail for want of room. */
const OVERFLOW_PAGES_MIN = 64;

/**
 * For a trace of one's own: its longest prompt, with what was produced for it, fits the pool with room to spare, and the
 * host tier holds more.
 */
export function settingsFor(trace: LoadedTrace): RunSettings {
  const pagesMax = trace.requests.reduce(
    (max, { promptTokens, outputTokens, blockTokens }) =>
      Math.max(max, Math.ceil((promptTokens + Math.max(outputTokens, 1)) / blockTokens)),
    1,
  );
  const poolPages = Math.min(BOUNDS.poolPages.max, Math.max(96, Math.ceil(pagesMax * 1.5)));
  return {
    poolPages,
    hostSlots: Math.min(BOUNDS.hostSlots.max, poolPages * 3),
    policy: 'lru',
    concurrency: 4,
    storePagesPerStep: Math.max(1, Math.ceil(poolPages / 64)),
    // As `pagefence replay` does: recorded answers of thousands of tokens are as many steps, and prompts are the matter.
    outputTokens: 1,
    fence: 'complete',
    worker: 'auto',
  };
}

export function engineConfig(settings: RunSettings, tokensPerPage: number): EngineConfigInput {
  const { poolPages, hostSlots, policy, fence, storePagesPerStep } = settings;
  const budgetBytes = storePagesPerStep * PAGE_BYTES;
  return {
    cache: { pages: poolPages, pageBytes: PAGE_BYTES, tokensPerPage, zeroing: 'always' },
    offload: { slots: hostSlots, policy, fence },
    transfer: {
      storeBytesPerStep: budgetBytes,
      stagingBuffers: STAGING_BUFFERS,
      stagingBytes: budgetBytes,
      overflowBytes: Math.max(OVERFLOW_PAGES_MIN, storePagesPerStep * 4) * PAGE_BYTES,
      // Counts instead of timing: the same run gives the same pictures on every machine.
      acknowledgementLag: 2,
    },
    witness: true,
  };
}
