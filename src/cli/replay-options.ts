/** The options of `pagefence replay`: how they are spelt, what they are without being given, and how they fit. */
import { Command, Option } from 'commander';
import { ConfigError } from '../errors.ts';
import { requireHostMemory } from '../host-memory.ts';
import { REPLAY_POLICIES, type ReplayPolicy } from '../trace/policy-replay.ts';
import { WORD_BYTES } from '../units.ts';
import type { SizedConfig } from './device.ts';
import { bytes, count, countOr, list, oneOf } from './numbers.ts';

/** As commander fills them in. What depends on other options has no default here. */
export interface ReplayCliOptions {
  readonly poolPages?: number;
  readonly pageBytes: number;
  readonly hostSlots?: number;
  readonly policy?: readonly ReplayPolicy[];
  readonly zeroing: 'always' | 'auto' | 'poison';
  readonly staging: number;
  readonly stagingBytes?: number;
  readonly overflowBytes?: number;
  readonly storeBytesPerStep: number;
  readonly acknowledgementLag: number | 'as-they-come';
  readonly fence: 'complete' | 'off';
  readonly witness: boolean;
  readonly worker: 'webgpu' | 'simulated';
  readonly concurrency: number;
  readonly stepsInFlight: 1 | 2;
  readonly tuning: 'auto' | 'off' | 'force';
  readonly outputTokens: number | 'trace';
  readonly limit: number;
  readonly skipBadLines?: boolean;
  readonly policyOnly?: boolean;
  readonly capacity?: readonly number[];
  readonly json?: boolean;
}

/** Sizes without options: for a trace of somebody's own, and for the sample that comes with the package. */
const POOL_PAGES = 2048;
const HOST_SLOTS = 20_000;
const SAMPLE_POOL_PAGES = 96;
const SAMPLE_HOST_SLOTS = 320;
/** A slot of the host tier lies in one `ArrayBuffer`, and larger ones are refused by some engines. */
const PAGE_BYTES_MAX = 2 ** 30;
const BUFFER_BYTES_MAX = 2 ** 31;
/** Both tiers keep lists of their pages, which would fill the memory before the pages do. */
const PAGES_MAX = 2 ** 26;
const STAGING_BYTES = 4 * 2 ** 20;
const OVERFLOW_BYTES_MIN = 8 * 2 ** 20;
const OVERFLOW_BYTES_MAX = 64 * 2 ** 20;

/** Whole prompts in one step, up to this many tokens over all requests; longer ones go in chunks. */
const TOKENS_PER_STEP = 262_144;

const POOL = 'Pool and host tier:';
const TRANSFERS = 'Transfers:';
const RUN = 'Run:';
const INPUT = 'Input and output:';
const ALONE = 'Policies alone:';

export function addReplayOptions(command: Command): Command {
  const options: [group: string, ...Option[]][] = [
    [
      POOL,
      valued(
        '--pool-pages <n>',
        `pages on the device (default: ${POOL_PAGES}; sample: ${SAMPLE_POOL_PAGES})`,
        count({ min: 2, max: PAGES_MAX }),
      ),
      valued(
        '--page-bytes <n>',
        'bytes of a page',
        bytes({ min: WORD_BYTES, max: PAGE_BYTES_MAX, multipleOf: WORD_BYTES }),
      ).default(4096, '4096'),
      valued(
        '--host-slots <n>',
        `pages in host memory, 0: none (default: ${HOST_SLOTS}; sample: ${SAMPLE_HOST_SLOTS})`,
        count({ min: 0, max: PAGES_MAX }),
      ),
      valued(
        '--policy <name>',
        "which host page goes first: lru, or arc, which is the host tier's ARC (default: lru)",
        list(oneOf(REPLAY_POLICIES)),
      ),
      valued(
        '--zeroing <mode>',
        'which new pages are overwritten: always, auto or poison',
        oneOf(['always', 'auto', 'poison']),
      ).default('always'),
    ],
    [
      TRANSFERS,
      valued('--staging <n>', 'staging buffers', count({ min: 1, max: 1024 })).default(4),
      valued(
        '--staging-bytes <n>',
        'bytes of a staging buffer (default: 4 MiB, or one page if that is more)',
        bytes({ min: WORD_BYTES, max: BUFFER_BYTES_MAX, multipleOf: WORD_BYTES }),
      ),
      valued(
        '--overflow-bytes <n>',
        'bytes of the buffer for flushes while all staging is full, 0: none (default: twice the pool, 8 to 64 MiB)',
        bytes({ min: 0, max: BUFFER_BYTES_MAX, multipleOf: WORD_BYTES }),
      ),
      valued(
        '--store-bytes-per-step <n>',
        'bytes of stores submitted in one step',
        bytes({ min: 1 }),
      ).default(64 * 2 ** 20, '64 MiB'),
      valued(
        '--acknowledgement-lag <n>',
        'steps until a transfer counts as done, or as-they-come',
        countOr({ min: 1 }, ['as-they-come']),
      ).default(2),
      valued('--fence <mode>', 'complete, or off to see what goes wrong', oneOf(['complete', 'off'])).default(
        'complete',
      ),
    ],
    [
      RUN,
      valued(
        '--worker <kind>',
        'webgpu: pages in GPU buffers; simulated: in plain arrays',
        oneOf(['webgpu', 'simulated']),
      ).default('webgpu'),
      valued(
        '--tuning <mode>',
        'whether ways to move bytes are measured on the device: auto, off, or force (again)',
        oneOf(['auto', 'off', 'force']),
      ).default('auto'),
      valued('--concurrency <n>', 'requests under way at once', count({ min: 1, max: 2 ** 16 })).default(1),
      valued(
        '--steps-in-flight <n>',
        '2: a step is planned while the one before it runs',
        count({ min: 1, max: 2 }),
      ).default(1),
      valued(
        '--output-tokens <n>',
        'tokens to produce a request, or trace for what it recorded',
        countOr({ min: 1 }, ['trace']),
      ).default(1),
      new Option('--no-witness', 'neither fill pages with a known pattern nor check what is read'),
    ],
    [
      INPUT,
      valued('--limit <n>', 'stop after that many requests', count({ min: 1 })).default(Infinity, 'all'),
      new Option(
        '--skip-bad-lines',
        'skip and count lines that cannot be read, instead of ending at the first',
      ),
      new Option('--json', 'print one JSON object instead of a report, and no progress'),
    ],
    [
      ALONE,
      new Option(
        '--policy-only',
        'replay cache policies without pages; --policy is then any of lru, arc (the textbook rule) and min (the offline optimum), default all',
      ),
      valued('--capacity <n>', 'blocks that the cache holds; several with commas', list(count({ min: 1 }))),
    ],
  ];
  for (const [group, ...members] of options) {
    for (const option of members) command.addOption(option.helpGroup(group));
  }
  return command;
}

/** Throws `ConfigError` for options that exclude each other or that the chosen replay does not have. */
export function requireFitting(command: Command, options: ReplayCliOptions): void {
  const { policyOnly = false, policy = [], capacity } = options;
  if (!policyOnly) {
    if (capacity)
      throw new ConfigError('--capacity belongs to --policy-only; add that, or leave --capacity out');
    if (policy.length > 1 || policy[0] === 'min') {
      throw new ConfigError(`--policy is ${policy.join(',')}; without --policy-only use one of lru and arc`);
    }
    return;
  }
  if (!capacity)
    throw new ConfigError('--policy-only needs --capacity; add for example --capacity 1000,10000');
  const allowed = new Set(['policy', 'capacity', 'policyOnly', 'json', 'skipBadLines']);
  for (const option of command.options) {
    const name = option.attributeName();
    if (!allowed.has(name) && command.getOptionValueSource(name) === 'cli') {
      throw new ConfigError(
        `${option.long ?? name} has no meaning with --policy-only; leave one of them out`,
      );
    }
  }
}

/** The engine that the options describe. Throws `ConfigError` where two of them do not fit each other. */
export function engineConfigOf(
  options: ReplayCliOptions,
  trace: { tokensPerPage: number; bundled: boolean },
): SizedConfig {
  const { pageBytes, stagingBytes = Math.max(STAGING_BYTES, pageBytes) } = options;
  if (stagingBytes < pageBytes) {
    throw new ConfigError(
      `--staging-bytes is ${stagingBytes}, less than one page of ${pageBytes} bytes (--page-bytes); raise it to that`,
    );
  }
  const slots = options.hostSlots ?? (trace.bundled ? SAMPLE_HOST_SLOTS : HOST_SLOTS);
  // Before a device is opened, and in the words of the options.
  requireHostMemory(
    { slots, slotBytes: pageBytes },
    { names: { slots: '--host-slots', slotBytes: '--page-bytes' } },
  );
  const pages = options.poolPages ?? (trace.bundled ? SAMPLE_POOL_PAGES : POOL_PAGES);
  return {
    cache: {
      pages,
      pageBytes,
      tokensPerPage: trace.tokensPerPage,
      zeroing: options.zeroing,
    },
    schedule: {
      maxTokensPerStep: TOKENS_PER_STEP,
      maxRunning: options.concurrency,
      stepsInFlight: options.stepsInFlight,
    },
    offload: {
      slots,
      policy: options.policy?.[0] === 'arc' ? 'arc-tier' : 'lru',
      fence: options.fence,
    },
    transfer: {
      storeBytesPerStep: options.storeBytesPerStep,
      stagingBuffers: options.staging,
      stagingBytes,
      overflowBytes: options.overflowBytes ?? overflowBytesFor(pages * pageBytes),
      acknowledgementLag: options.acknowledgementLag,
    },
    witness: options.witness,
  };
}

/**
 * A prompt of the whole pool is flushed when the next one comes, while the prompt before it may still sit in the
 * buffer. A multiple of 4, as the pool is.
 */
function overflowBytesFor(poolBytes: number): number {
  return Math.min(Math.max(2 * poolBytes, OVERFLOW_BYTES_MIN), OVERFLOW_BYTES_MAX);
}

function valued(
  flags: string,
  description: string,
  parse: (text: string, previous?: never) => unknown,
): Option {
  return new Option(flags, description).argParser(parse as (text: string, previous: unknown) => unknown);
}
