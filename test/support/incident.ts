/**
 * The incident, by a real cache manager and scheduler. U = tokens of a unit (8 in `incident-small`: pages of 4 tokens on
 * each of 2 ranks). 18 usable pages; two staging buffers of one page, one page of store budget a step.
 *
 *           P  runs alone: U tokens on pages 1, 2, 3 (attention, compressed, state) and 4 (ring). All are stored.
 *           B  U tokens, then decodes. Its stores (pages 6, 4, 5, one a step) occupy the ring ahead of A's.
 *   t0      A  tokens 0 to U. Its state after U tokens is on page 13; the store of that page is queued behind B's.
 *   t1      A  tokens U to 2U: page 13 is the source that the next state starts from.
 *   t2      A  tokens 2U to 3U: it has moved past page 13, which is free now. A is over.
 *   t3      C  comes with P's prompt and one token more. The device has lost P, the host tier has it: C is parked with a
 *              load into three pages, and its ring page is 13. It is zeroed in this step.
 *   t4      The ring has room for the store of page 13.
 *
 * C is not scheduled, and its ring is not offloaded. Only the zero list says that page 13 is written at t3.
 */
import { cachePreset, type PresetName } from '../../src/config/presets.ts';
import { createEngine, type Engine, type StepReport } from '../../src/index.ts';
import { slotId, type JobId, type PageId, type SlotId } from '../../src/units.ts';
import { prompt } from './worlds.ts';

export interface IncidentOptions {
  readonly preset: PresetName;
  readonly fence: 'complete' | 'scheduled-and-loads' | 'off';
  readonly device?: GPUDevice;
  /** Called with the engine before its first step: to take a guard away. */
  readonly prepare?: (engine: Engine) => void;
}

export interface Incident {
  readonly engine: Engine;
  /** A's state after U tokens: where it was, and the store that reads it. */
  readonly statePage: PageId;
  readonly stateJob: JobId;
  readonly stateSlot: SlotId;
  /** The state's bytes right after A computed them, and those of its slot once everything has come home, by rank. */
  readonly computed: readonly Uint8Array[];
  readonly stored: readonly Uint8Array[];
  /** What the plan predicts without the rule: the computed bytes, behind as many zeros as a ring page has bytes. */
  readonly zeroedFronts: readonly Uint8Array[];
  readonly zeroedBytes: number;
  /** Step t3. */
  readonly claim: StepReport;
  /** C's ring page. */
  readonly ringPage: PageId;
  /** Acknowledgements that t3 waited for are those of earlier steps only. */
  readonly mismatchesBefore: number;
  /** A's prompt comes back: tokens found in the host tier, and wrong words read. */
  readonly hostHitTokens: number;
  readonly mismatches: number;
}

const RING = 3;

export async function provokeIncident(options: IncidentOptions): Promise<Incident> {
  const { preset, fence, device, prepare } = options;
  // A drafter that looks further ahead publishes the end of a prompt later, on other pages than those above.
  const cache = { ...cachePreset(preset), pages: 19, lookaheadTokens: 1 };
  const pageBytes = Math.max(...cache.groups.map((group) => group.pageBytes));
  const unit = cache.groups[0].kind === 'full-attention' ? 2 * cache.groups[0].tokensPerPage : 0;
  const engine: Engine = await createEngine(
    {
      cache,
      schedule: { maxTokensPerStep: 2 * unit },
      offload: { slots: 40, fence },
      transfer: {
        storeBytesPerStep: pageBytes,
        stagingBuffers: 2,
        stagingBytes: pageBytes,
        overflowBytes: 16 * pageBytes,
        acknowledgementLag: 2,
      },
    },
    { device },
  );
  prepare?.(engine);
  const promptOf = (start: number, units: number) => prompt(start, units * unit);

  engine.add({ id: 'P', tokens: promptOf(0, 1) });
  await engine.drain();
  engine.add({ id: 'B', tokens: promptOf(100_000, 1), maxOutputTokens: 7 });
  await engine.step();
  engine.add({ id: 'A', tokens: promptOf(200_000, 3) });
  const t0 = await engine.step();
  const stateJob = t0.plan.stores[0];
  const [statePage] = stateJob.pages;
  const computed = await Promise.all(engine.ranks.map(({ worker }) => worker.readPage(statePage)));
  await engine.step();
  await engine.step();
  engine.add({ id: 'C', tokens: [...promptOf(0, 1), 7] });
  const claim = await engine.step();
  const [ringPage] = engine.cache.pageTable(
    engine.scheduler.queues.parked.values().next().value!.id,
    RING as never,
  );
  await engine.drain();

  const stateBytes = engine.cache.layout.groups[2].pageBytes;
  const zeroedBytes = Math.min(stateBytes, engine.cache.layout.groups[RING].pageBytes);
  const [stateSlot] = stateJob.slots;
  const stored = engine.ranks.map(({ host }) => host!.view(slotId(stateSlot)).slice(0, stateBytes));
  const mismatchesBefore = (await engine.readWitness()).mismatches;
  engine.add({ id: 'A again', tokens: [...promptOf(200_000, 1), 7] });
  const [again] = await engine.drain();
  engine.checkIntegrity();
  return {
    engine,
    statePage,
    stateJob: stateJob.id,
    stateSlot,
    computed: computed.map((bytes) => bytes.slice(0, stateBytes)),
    stored,
    zeroedFronts: computed.map((bytes) => bytes.slice(0, stateBytes).fill(0, 0, zeroedBytes)),
    zeroedBytes,
    claim,
    ringPage,
    mismatchesBefore,
    hostHitTokens: again.hitTokens.host,
    mismatches: (await engine.readWitness()).mismatches,
  };
}

/** Long arrays compared without a listing of their differences. */
export function sameBytes(some: readonly Uint8Array[], others: readonly Uint8Array[]): boolean {
  return (
    some.length === others.length &&
    some.every(
      (bytes, i) => bytes.length === others[i].length && bytes.every((byte, at) => byte === others[i][at]),
    )
  );
}
