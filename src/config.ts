/**
 * Configuration: what each field means, and one zod schema a part that checks it. What the schemas let through can
 * work on some device; what a particular device refuses is found when its buffers are made (`gpu/page-buffers`).
 */
import { z } from 'zod';
import { cacheConfigSchema, PAGES_MAX, type CacheConfig, type CacheConfigInput } from './config/cache.ts';
import { ConfigError } from './errors.ts';
import { WORD_BYTES } from './units.ts';

export { cacheConfigSchema, type CacheConfig, type CacheConfigInput } from './config/cache.ts';

/** How much runs at once. */
export interface ScheduleConfig {
  /** Tokens computed in one step, over all requests. Longer prompts are prefilled in chunks. Default: 8,192. */
  maxTokensPerStep: number;
  /** Requests that run at once. Default: 256. */
  maxRunning: number;
  /**
   * `fcfs` (default): the first to come is the first to start, and the last to start gives way. `priority`: the most
   * urgent starts first (the smallest `priority`, then the first to come), and the least urgent gives way.
   */
  policy: 'fcfs' | 'priority';
  /** Tokens of one request computed in one step at most, so that long prompts leave room for others. Default: no bound. */
  longPrefillTokens: number | null;
  /**
   * Steps that are dispatched before the first of them is processed. 1 (default): each step is planned with what the
   * one before it brought. 2: it is planned while the one before it runs, so that the device need not wait; what a
   * request gives up then comes back a step later.
   */
  stepsInFlight: 1 | 2;
}

/** The host tier and the fence. */
export interface OffloadConfig {
  /** Places in host memory, of `pagesPerSlot` pages each. 0 (default) switches offloading off. */
  slots: number;
  /** Which ready, unpinned slot is evicted: `lru` (default), or `arc-tier`, an ARC whose ghosts re-enter T1. */
  policy: 'lru' | 'arc-tier';
  /** Consecutive pages of a request that share a slot, a key and a job. Default: 1. */
  pagesPerSlot: number;
  /** Whether output is left out: only prompts are stored. Default: false. */
  storePromptsOnly: boolean;
  /**
   * Whether what a request loaded is offered to the tier again, so that it is stored anew where it was evicted meanwhile.
   * Default: false.
   */
  offerLoaded: boolean;
  /** Tokens of a request beyond which nothing is stored. `null` (default): no such bound. */
  storeTokensMax: number | null;
  /**
   * Which pages count as written by a step, and so flush the pending stores that read them. `complete` (default) is
   * the rule. The other two are for tests and the demo: `scheduled-and-loads` leaves the zero list out (the
   * incident), `off` never flushes.
   */
  fence: 'complete' | 'scheduled-and-loads' | 'off';
}

/** The pace of transfers between pages and host memory. */
export interface TransferConfig {
  /** Bytes of stores submitted in one step, flushes not counted. Default: 64 MiB. */
  storeBytesPerStep: number;
  /** Buffers in the staging ring. One is in use from its step until its acknowledgement is admitted. Default: 4. */
  stagingBuffers: number;
  /**
   * Bytes of one staging buffer: at least one page, a multiple of 4. Default: 4 MiB; with a device, what suits it, but
   * in all buffers together no more than the pool.
   */
  stagingBytes: number;
  /** Bytes of the device buffer for flushed pages while the ring is full. 0: such a store fails. Default: 8 MiB. */
  overflowBytes: number;
  /**
   * When acknowledgements are admitted. n (default: 2): those of step s in step s + n, waiting for them there if need
   * be; a run is then the same on every machine. `as-they-come`: those that have arrived.
   */
  acknowledgementLag: number | 'as-they-come';
}

export interface EngineConfig {
  cache: CacheConfig;
  schedule: ScheduleConfig;
  offload: OffloadConfig;
  transfer: TransferConfig;
  /** Fill computed rows with the witness pattern, and check every row that a request reads. Default: true. */
  witness: boolean;
}

/** What a caller writes: everything with a default may be left out. */
export interface EngineConfigInput {
  cache: CacheConfigInput;
  schedule?: Partial<ScheduleConfig>;
  offload?: Partial<OffloadConfig>;
  transfer?: Partial<TransferConfig>;
  /** Fill computed rows with the witness pattern, and check every row that a request reads. Default: true. */
  witness?: boolean;
}

const count = z.int().min(1);

export const scheduleConfigSchema = z.strictObject({
  maxTokensPerStep: count.default(8192),
  maxRunning: count.default(256),
  policy: z.enum(['fcfs', 'priority']).default('fcfs'),
  longPrefillTokens: count.nullable().default(null),
  stepsInFlight: z.literal([1, 2]).default(1),
});

export const offloadConfigSchema = z.strictObject({
  slots: z.int().min(0).max(PAGES_MAX).default(0),
  policy: z.enum(['lru', 'arc-tier']).default('lru'),
  pagesPerSlot: count.max(1024).default(1),
  storePromptsOnly: z.boolean().default(false),
  offerLoaded: z.boolean().default(false),
  storeTokensMax: z.int().min(0).nullable().default(null),
  fence: z.enum(['complete', 'scheduled-and-loads', 'off']).default('complete'),
});

const MEBIBYTE = 2 ** 20;

export const transferConfigSchema = z.strictObject({
  storeBytesPerStep: count.default(64 * MEBIBYTE),
  stagingBuffers: count.default(4),
  stagingBytes: count.multipleOf(WORD_BYTES).default(4 * MEBIBYTE),
  overflowBytes: z
    .int()
    .min(0)
    .multipleOf(WORD_BYTES)
    .default(8 * MEBIBYTE),
  acknowledgementLag: z.union([count, z.literal('as-they-come')]).default(2),
});

export const engineConfigSchema = z
  .strictObject({
    cache: cacheConfigSchema,
    schedule: scheduleConfigSchema.prefault({}),
    offload: offloadConfigSchema.prefault({}),
    transfer: transferConfigSchema.prefault({}),
    witness: z.boolean().default(true),
  })
  .superRefine(({ cache, transfer }, context) => {
    if (transfer.stagingBytes < cache.pageBytes) {
      context.addIssue({
        code: 'custom',
        path: ['transfer', 'stagingBytes'],
        message: `${transfer.stagingBytes} cannot hold one page of ${cache.pageBytes} bytes; raise stagingBytes to at least that`,
      });
    }
    if ((cache.pageBytes / WORD_BYTES) * cache.tokensPerPage >= 2 ** 32) {
      context.addIssue({
        code: 'custom',
        path: ['cache', 'tokensPerPage'],
        message: `${cache.tokensPerPage} tokens times ${cache.pageBytes / WORD_BYTES} words a page leave 32 bits; use smaller pages`,
      });
    }
  });

/** Checks input against a schema. Throws `ConfigError` that names each field, its value and what was expected. */
export function parseConfig<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  what: string,
): z.output<Schema> {
  const result = schema.safeParse(input, { reportInput: true });
  if (result.success) return result.data;
  const problems = result.error.issues.map((issue) => {
    const field = issue.path.join('.') || what;
    // What a refinement reports is the whole object; its message names the value itself.
    const value =
      issue.input === undefined || issue.code === 'custom' ? '' : ` (got ${JSON.stringify(issue.input)})`;
    return `${field}: ${issue.message}${value}`;
  });
  throw new ConfigError(`${what} is not usable. ${problems.join('; ')}`);
}
