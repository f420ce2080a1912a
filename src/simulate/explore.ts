/**
 * Every interleaving of a small world: each step may admit the stores and the loads that are under way, or not, and each
 * request may be aborted before it. Breadth first, so that the first failure is one of the shortest. States that were seen
 * are not gone on from; a state is everything that can matter later, bytes included.
 *
 * An engine cannot be copied, so a state is kept as the way to it and run again from the start.
 */
import { engineConfigSchema, type OffloadConfig } from '../config.ts';
import { Engine } from '../engine.ts';
import { InvariantError } from '../errors.ts';
import { HostMemory } from '../host-memory.ts';
import { SimulatedWorker } from '../reference/simulated-worker.ts';
import { pageId } from '../units.ts';
import { HostShadow } from './shadow.ts';

/** What happens before and in one step. */
export interface Move {
  readonly abort: string | null;
  readonly stores: boolean;
  readonly loads: boolean;
}

export interface ExploreOptions {
  /** 1 to 3. */
  readonly requests: number;
  /** Usable pages. */
  readonly pages: number;
  readonly fence: OffloadConfig['fence'];
  /** Whether requests may be aborted. */
  readonly aborts?: boolean;
  /** States after which the search ends, unfinished. */
  readonly statesMax?: number;
  readonly onProgress?: (states: number, depth: number) => void;
}

export interface Counterexample {
  readonly moves: readonly Move[];
  readonly symptom: string;
  /** What each step did. */
  readonly story: readonly string[];
}

export interface ExploreResult {
  readonly states: number;
  /** Steps tried, those that led to a known state included. */
  readonly transitions: number;
  /** Steps of the longest way to a new state. */
  readonly depth: number;
  /** Whether every state that can be reached was visited. */
  readonly complete: boolean;
  readonly counterexample: Counterexample | null;
}

const PAGE_BYTES = 8;
const STATES_MAX = 200_000;

/** What the host tier knows, and the device does not. */
const KNOWN = [1, 2];
/** A page has two tokens. The first moves past two states, the second begins with what is known, the third as the first. */
export const PROMPTS_MAX = 3;
const PROMPTS = [
  [9, 8, 7, 6, 5, 4],
  [...KNOWN, 6],
  [9, 8, 3],
];

export async function explore(options: ExploreOptions): Promise<ExploreResult> {
  const { statesMax = STATES_MAX, onProgress } = options;
  const seen = new Set<string>();
  let frontier: Move[][] = [[]];
  let transitions = 0;
  let depth = 0;
  seen.add((await replay([], options)).state);
  for (; frontier.length > 0; depth += 1) {
    const next: Move[][] = [];
    for (const way of frontier) {
      for (const move of movesOf(options)) {
        const moves = [...way, move];
        const { state, symptom, isOver } = await replay(moves, options);
        transitions += 1;
        if (symptom !== null) {
          const { story } = await replay(moves, options, true);
          const counterexample = { moves, symptom, story };
          return { states: seen.size, transitions, depth: depth + 1, complete: false, counterexample };
        }
        if (seen.has(state)) continue;
        seen.add(state);
        if (seen.size >= statesMax) {
          return { states: seen.size, transitions, depth: depth + 1, complete: false, counterexample: null };
        }
        if (!isOver) next.push(moves);
      }
    }
    onProgress?.(seen.size, depth + 1);
    frontier = next;
  }
  return { states: seen.size, transitions, depth, complete: true, counterexample: null };
}

function movesOf({ requests, aborts = true }: ExploreOptions): Move[] {
  const moves: Move[] = [];
  const named = aborts ? Array.from({ length: requests }, (_, i) => `r${i}`) : [];
  for (const abort of [null, ...named]) {
    for (const stores of [true, false])
      for (const loads of [true, false]) moves.push({ abort, stores, loads });
  }
  return moves;
}

interface Replayed {
  readonly state: string;
  readonly symptom: string | null;
  readonly isOver: boolean;
  readonly story: readonly string[];
}

/** States that are offloaded, and a ring that is not; one staging buffer of one page; a tier that knows a prompt. */
async function replay(moves: readonly Move[], options: ExploreOptions, tells = false): Promise<Replayed> {
  const config = engineConfigSchema.parse({
    cache: {
      pages: options.pages + 1,
      groups: [
        { kind: 'recurrent', tokensPerPage: 2, pageBytes: PAGE_BYTES },
        { kind: 'ring', capacityTokens: 2, after: 'tail', pageBytes: PAGE_BYTES },
      ],
    },
    schedule: { maxTokensPerStep: 2 * options.requests, longPrefillTokens: 2 },
    offload: { slots: 6, fence: options.fence },
    transfer: {
      storeBytesPerStep: PAGE_BYTES,
      stagingBuffers: 1,
      stagingBytes: PAGE_BYTES,
      overflowBytes: 8 * PAGE_BYTES,
    },
  });
  const { cache, transfer, offload, witness } = config;
  const host = new HostMemory({ slots: offload.slots, slotBytes: cache.pageBytes });
  let admitted: Move = { abort: null, stores: true, loads: true };
  const worker = new SimulatedWorker({ cache, transfer, host, witness, admits: (kind) => admitted[kind] });
  const engine = new Engine({ config, worker, host });
  const shadow = new HostShadow(engine);
  const story: string[] = [];
  engine.add({ id: 'known', tokens: KNOWN });
  while (engine.hasWork) {
    shadow.learn();
    await engine.step();
  }
  engine.cache.resetPrefixCache();
  for (let i = 0; i < options.requests; i += 1)
    engine.add({ id: `r${i}`, tokens: PROMPTS[i], maxOutputTokens: 1 });
  let symptom: string | null;
  try {
    for (const move of moves) {
      admitted = move;
      if (move.abort !== null) engine.abort(move.abort);
      shadow.learn();
      const { plan, outcome } = await engine.step();
      if (tells) story.push(tell(move, plan, outcome));
      engine.checkIntegrity();
    }
    symptom = shadow.findWrongSlot();
    const { mismatches } = await engine.readWitness();
    if (mismatches > 0) symptom ??= `${mismatches} words that were read are wrong`;
  } catch (error) {
    if (!(error instanceof InvariantError)) throw error;
    symptom = error.message;
  }
  return { state: await describe(engine, worker), symptom, isOver: !engine.hasWork, story };
}

/** Everything that later steps depend on. Numbers of jobs and steps are left out: only their order matters. */
async function describe(engine: Engine, worker: SimulatedWorker): Promise<string> {
  const { cache, connector, scheduler, config } = engine;
  const { jobs, cursors } = connector.snapshot();
  const numbers = new Map([...jobs].sort((a, b) => a.id - b.id).map(({ id }, i) => [id, i]));
  const pages = Array.from({ length: config.cache.pages }, (_, page) => pageId(page));
  const bytes = await Promise.all(pages.map((page) => worker.readPage(page)));
  return JSON.stringify([
    [...scheduler.queues.all()].map(({ id, status, computedTokens, sequence }) => [
      id,
      status,
      computedTokens,
      sequence.length,
      cache.layout.groups.map((group) => cache.pageTable(id, group.id)),
    ]),
    cache.freeOrder(),
    pages.map((page) => cache.keyOf(page)),
    jobs.map(({ id, kind, requestId, pages: own, slots }) => [numbers.get(id), kind, requestId, own, slots]),
    [...cursors],
    [...connector.manager.entries()].map(({ key, slot, references }) => [key, slot, references]),
    worker.pending.map(({ job, ...rest }) => [numbers.get(job) ?? -1, rest]),
    bytes.map((page) => page.join()),
  ]);
}

type Told = Awaited<ReturnType<Engine['step']>>;

function tell(move: Move, plan: Told['plan'], outcome: Told['outcome']): string {
  const parts = [
    move.abort === null ? '' : `abort ${move.abort}`,
    plan.jobsToFlush.length > 0 ? `flush ${plan.jobsToFlush.join(' ')}` : '',
    ...plan.newPageIdsToZero.map(({ group, pages }) => `zero ${pages.join(' ')} (group ${group})`),
    ...plan.loads.map(({ id, pages }) => `load ${id} to ${pages.join(' ')}`),
    ...plan.forward.map(({ requestId, start, end }) => `${requestId} computes ${start} to ${end}`),
    ...plan.stores.map(({ id, pages }) => `queue store ${id} of ${pages.join(' ')}`),
    ...outcome.released.map((id) => `store ${id} has read its pages`),
    ...outcome.acknowledgements.map(({ job, ok }) => `job ${job} ${ok ? 'done' : 'failed'}`),
  ];
  return parts.filter((part) => part !== '').join('; ') || 'nothing';
}
