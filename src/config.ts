/**
 * Configuration: one zod schema a part, and the types inferred from them. What the schemas let through can work
 * on some device; what a particular device refuses is found when its buffers are made (`gpu/page-buffers`).
 */
import { z } from 'zod';
import { ConfigError } from './errors.ts';
import { WORD_BYTES } from './units.ts';

const count = z.int().min(1);

export const cacheConfigSchema = z.strictObject({
  /** Pages of the pool, the null page included: a pool of N pages has N - 1 usable ones. */
  pages: z
    .int()
    .min(2)
    .max(2 ** 31),
  /** Bytes of one page: all layers, keys and values together. A multiple of 4. */
  pageBytes: count.multipleOf(WORD_BYTES),
  /** Tokens whose rows one page holds. */
  tokensPerPage: count,
  /** Whether full pages are published under their prefix keys and found again. */
  prefixCaching: z.boolean().default(true),
  /**
   * Which newly allocated pages are overwritten before use. `always`: every one; `auto`: only where groups differ
   * in kind, so that stale bytes could be read in another format (never with one group); `poison`: as `always`,
   * but with a NaN pattern instead of zeros, so that a read of an unwritten row shows.
   */
  zeroing: z.enum(['auto', 'always', 'poison']).default('always'),
  /** Separates the prefix keys of tenants that must not share pages. */
  salt: z.string().default(''),
});

export const scheduleConfigSchema = z.strictObject({
  /** Tokens computed in one step, over all requests. Longer prompts are prefilled in chunks. */
  maxTokensPerStep: count.default(8192),
  /** Requests that run at once. */
  maxRunning: count.default(256),
});

export const offloadConfigSchema = z.strictObject({
  /** Page-sized places in the host tier. 0 switches offloading off. */
  slots: z
    .int()
    .min(0)
    .max(2 ** 31)
    .default(0),
  /** Which ready, unpinned slot is evicted. `arc-tier` is the host tier's ARC: ghosts re-enter T1. */
  policy: z.enum(['lru', 'arc-tier']).default('lru'),
  /**
   * Which pages count as written by this step, and so flush the pending stores that read them. `complete` is the
   * rule; the other two are for tests and the demo: `scheduled-and-loads` leaves the zero list out (the incident),
   * `off` never flushes.
   */
  fence: z.enum(['complete', 'scheduled-and-loads', 'off']).default('complete'),
});

export const transferConfigSchema = z.strictObject({
  /** Bytes of stores submitted in one step, flushes not counted. */
  storeBytesPerStep: count.default(64 * 2 ** 20),
  /** Buffers in the staging ring. A step uses a buffer for itself until its acknowledgement is admitted. */
  stagingBuffers: count.default(4),
  /** Bytes of one staging buffer. At least one page. */
  stagingBytes: count.multipleOf(WORD_BYTES).default(4 * 2 ** 20),
  /** Bytes of the device buffer that takes flushed pages while the ring is full. 0: such a store fails. */
  overflowBytes: z
    .int()
    .min(0)
    .multipleOf(WORD_BYTES)
    .default(8 * 2 ** 20),
  /**
   * When acknowledgements are admitted: `n`: those of step s in step s + n, waiting for them there if need be
   * (replays and tests: the run is then the same on every machine); `as-they-come`: those that have arrived.
   */
  acknowledgementLag: z.union([z.int().min(1), z.literal('as-they-come')]).default(2),
});

export const engineConfigSchema = z
  .strictObject({
    cache: cacheConfigSchema,
    schedule: scheduleConfigSchema.prefault({}),
    offload: offloadConfigSchema.prefault({}),
    transfer: transferConfigSchema.prefault({}),
    /** Fill computed rows with the witness pattern, and check every row that a request reads. */
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

export type CacheConfig = z.infer<typeof cacheConfigSchema>;
export type ScheduleConfig = z.infer<typeof scheduleConfigSchema>;
export type OffloadConfig = z.infer<typeof offloadConfigSchema>;
export type TransferConfig = z.infer<typeof transferConfigSchema>;
export type EngineConfig = z.infer<typeof engineConfigSchema>;
/** What a caller writes: everything with a default may be left out. */
export type EngineConfigInput = z.input<typeof engineConfigSchema>;

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
