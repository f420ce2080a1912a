/**
 * What happens to an engine from outside, drawn from one seed: sizes, layout, and who arrives, is aborted or asks for a
 * reset in which step. A script is plain data, so that a failure can be cut down to what it takes.
 */
import type { EngineConfigInput, OffloadConfig } from '../config.ts';
import { cacheConfigSchema } from '../config.ts';
import type { CacheConfigInput } from '../config/cache.ts';
import type { GroupConfigInput } from '../config/groups.ts';
import { cachePreset } from '../config/presets.ts';
import { Random } from './random.ts';

/** Something that happens before a step. */
export type Command = { readonly step: number } & (
  | {
      readonly type: 'add';
      readonly id: string;
      readonly tokens: readonly number[];
      readonly outputTokens: number;
      readonly stopTokens: readonly number[];
      readonly priority: number;
    }
  | {
      readonly type: 'fork';
      readonly id: string;
      readonly parent: string;
      /** Tokens at the parent's end that it leaves out, and those that it has instead. */
      readonly without: number;
      readonly tokens: readonly number[];
      readonly outputTokens: number;
    }
  | { readonly type: 'abort'; readonly id: string }
  /** `isForced`: whatever is under way. */
  | { readonly type: 'reset'; readonly isForced: boolean }
);

export interface Script {
  readonly seed: number;
  readonly config: EngineConfigInput;
  /** Steps with commands; more follow until nothing is left to do. */
  readonly steps: number;
  readonly commands: readonly Command[];
  /** Share of transfers that fail. */
  readonly failures: number;
  /** In how many of the steps that it waits a transfer arrives, 0 to 1; `null`: after the configured lag. */
  readonly arrivals: number | null;
}

/** What `Command.stopTokens` has, and the number of tokens that are ever sampled. */
export const STOP = 3;
export const SAMPLED_TOKENS = 8;

export interface ScriptOptions {
  readonly seed: number;
  readonly steps: number;
  readonly fence?: OffloadConfig['fence'];
}

export function drawScript({ seed, steps, fence = 'complete' }: ScriptOptions): Script {
  const random = new Random(seed);
  const cache = drawCache(random);
  // Whoever comes later is more urgent, and all want more than there is: the ones that run give way in mid-step.
  const isCrowded = random.chance(0.2);
  // Drawn beside the rest, so that both forms of a seed are alike in everything else.
  const beside = new Random(seed * 31 + 7);
  const stepsInFlight = beside.chance(0.35) ? 2 : 1;
  const pageBytes = Math.max(...cache.groups.map((group) => group.pageBytes));
  const config: EngineConfigInput = {
    cache: { ...cache, zeroing: random.pick(['always', 'poison', 'auto']) },
    schedule: {
      maxTokensPerStep: random.pick([2, 4, 8, 64]),
      maxRunning: isCrowded ? 30 : random.pick([1, 2, 5, 30]),
      policy: isCrowded ? 'priority' : random.pick(['fcfs', 'priority']),
      longPrefillTokens: isCrowded ? 2 : random.pick([null, null, 5]),
      stepsInFlight,
    },
    offload: {
      slots: random.pick([0, 3, 8, 40, 40]),
      policy: random.pick(['lru', 'arc-tier']),
      pagesPerSlot: random.pick([1, 1, 1, 2]),
      fence,
    },
    transfer: {
      storeBytesPerStep: pageBytes * random.pick([1, 2, 100]),
      stagingBuffers: random.between(1, 3),
      stagingBytes: pageBytes * random.pick([1, 1, 2, 4]),
      overflowBytes: pageBytes * random.pick([0, 8, 64, 64]),
      acknowledgementLag: random.pick([1, 2, 3, 6]),
    },
  };
  const commands = drawCommands(random, steps, cache, isCrowded);
  return {
    seed,
    config,
    steps,
    commands: withForks(new Random(seed * 37 + 5), steps, commands).map((command) => {
      if (command.type === 'add' && beside.chance(0.3)) return { ...command, stopTokens: [STOP] };
      if (command.type === 'reset') return { ...command, isForced: beside.chance(0.5) };
      return command;
    }),
    failures: random.pick([0, 0, 0, 0.15]),
    arrivals: beside.pick([null, null, null, 0.1, 0.3, 0.8]),
  };
}

type GroupedCache = CacheConfigInput & { pages: number; groups: GroupConfigInput[] };

function drawCache(random: Random): GroupedCache {
  if (random.chance(0.15)) return { ...cachePreset('incident-small'), pages: random.pick([12, 16, 24, 32]) };
  if (random.chance(0.15)) return drawFineLayout(random);
  for (;;) {
    const cache = drawLayout(random);
    // Layouts that cannot work are refused with a reason; the next draw may be one that can.
    if (cacheConfigSchema.safeParse(cache).success) return cache;
  }
}

/** States inside pages: hits end there, and pages are copied before they are written. */
function drawFineLayout(random: Random): GroupedCache {
  const tokensPerPage = random.pick([1, 2]);
  return {
    pages: random.pick([8, 12, 24]),
    groups: [
      { kind: 'full-attention', tokensPerPage: tokensPerPage * random.pick([1, 2]), pageBytes: 16 },
      { kind: 'full-attention', tokensPerPage, pageBytes: 8 },
      { kind: 'recurrent', tokensPerPage: tokensPerPage * random.pick([2, 4]), pageBytes: 12 },
    ],
  };
}

function drawLayout(random: Random): GroupedCache {
  const contextParallel = random.pick([1, 1, 1, 2]);
  const tokens = random.pick([1, 2, 4]);
  const size = () => tokens * random.pick([1, 1, 2]);
  const groups: GroupConfigInput[] = [];
  const count = random.pick([1, 1, 2, 2, 3, 4, 5]);
  for (let i = 0; i < count; i += 1) {
    const tokensPerPage = size();
    const pageBytes = 4 * random.pick([1, 2, 3, 5, 8]);
    const draft = random.chance(0.1);
    const common = { tokensPerPage, pageBytes };
    groups.push(
      random.pick<() => GroupConfigInput>([
        () => ({ kind: 'full-attention', ...common, draft }),
        () => ({ kind: 'full-attention', ...common }),
        () => ({ kind: 'compressed', ...common, ratio: random.pick([1, 2]) }),
        () => ({ kind: 'sliding-window', ...common, windowTokens: random.between(1, 12), draft }),
        () => ({ kind: 'chunked-local', ...common, chunkTokens: tokensPerPage * random.between(1, 3) }),
        () => ({ kind: 'recurrent', ...common, tokensPerPage: tokensPerPage * contextParallel }),
        () => ({
          kind: 'ring',
          pageBytes,
          capacityTokens: random.pick([2, 4, 6]),
          ratio: random.pick([1, 2]),
          after: random.pick(['tail', 'history']),
        }),
      ])(),
    );
  }
  return {
    pages: random.pick([6, 8, 12, 24]),
    contextParallel,
    groups,
    prefixCaching: random.chance(0.9),
    retentionTokens: random.pick([null, null, null, 0]),
  };
}

function drawCommands(random: Random, steps: number, cache: GroupedCache, isCrowded: boolean): Command[] {
  const commands: Command[] = [];
  const tokensPerPage = Math.max(
    ...cache.groups.map((group) => ('tokensPerPage' in group ? group.tokensPerPage : 1)),
  );
  const tokensMax = Math.max(
    4,
    (cache.pages * tokensPerPage * (cache.contextParallel ?? 1)) / (cache.groups.length + 1),
  );
  let arrivals = 0;
  for (let step = 0; step < steps; step += 1) {
    while (random.chance(0.4)) {
      commands.push({
        type: 'add',
        step,
        id: `r${arrivals}`,
        tokens: drawPrompt(random, Math.floor(isCrowded ? Math.max(3, tokensMax / 2) : tokensMax)),
        outputTokens: isCrowded ? random.between(6, 24) : random.pick([1, 1, 2, 6, 12]),
        stopTokens: [],
        priority: isCrowded ? -arrivals : random.between(0, 2),
      });
      arrivals += 1;
    }
    if (arrivals > 0 && random.chance(0.08))
      commands.push({ type: 'abort', step, id: `r${random.between(0, arrivals - 1)}` });
    if (random.chance(0.02)) commands.push({ type: 'reset', step, isForced: false });
  }
  return commands;
}

/** In some lives, requests that begin with what another one has: mostly one that came shortly before. */
function withForks(random: Random, steps: number, commands: readonly Command[]): Command[] {
  if (!random.chance(0.3)) return [...commands];
  const all: Command[] = [];
  let added = 0;
  let forks = 0;
  for (let step = 0; step < steps; step += 1) {
    const own = commands.filter((command) => command.step === step);
    added += own.filter(({ type }) => type === 'add').length;
    all.push(...own);
    for (; added > 0 && random.chance(0.4); forks += 1) {
      const parent = random.chance(0.3)
        ? `f${Math.max(0, forks - random.between(1, 3))}`
        : `r${Math.max(0, added - random.between(1, 5))}`;
      const without = random.pick([0, 0, 1, 3]);
      const tokens = without > 0 || random.chance(0.3) ? [random.between(0, 99)] : [];
      all.push({
        ...{ type: 'fork', step, id: `f${forks}`, parent, without, tokens },
        outputTokens: random.pick([1, 2, 6, 12]),
      });
    }
  }
  return all;
}

/** Beginnings that several prompts share, so that there is something to find. */
function drawPrompt(random: Random, tokensMax: number): number[] {
  const shared = count(1000 * random.between(1, 3), random.between(0, tokensMax));
  const own = count(random.between(1, 2 ** 20) * 100, random.between(shared.length === 0 ? 1 : 0, 6));
  return [...shared, ...own].slice(0, tokensMax);
}

function count(first: number, tokens: number): number[] {
  return Array.from({ length: tokens }, (_, i) => first + i);
}
