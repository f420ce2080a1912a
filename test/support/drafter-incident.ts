/**
 * The incident with a real model: a drafter's state is zeroed before its store reads it. U = tokens of a page. The cache
 * has the model's two kinds of layers, the drafter's states and, as the layout of the incident did, a ring. 20 usable
 * pages; two staging buffers of one page, one page of store budget a step.
 *
 *           P  runs alone: U tokens. All of it is stored.
 *           B  U tokens, then a few more. Its stores are ahead of A's.
 *   t0      A  tokens 0 to U. Its state after U tokens is on page 14; the store of that page is queued behind B's.
 *   t1, t2  A  tokens U to 3U. It has moved past that state, so page 14 is free. A is over.
 *   t3      C  comes with P's prompt and one token more. The device has lost P, the host tier has it: C is parked with a
 *              load into the pages that are free before, and its ring is page 14. It is zeroed in this step.
 *   t4 ..      The queue comes to the store of page 14.
 *
 * Then texts come that begin with A's first U tokens, which the host tier has, with the state. In this layout only a ring
 * leaves zeros there: pages of states are not zeroed, nor are those that a load fills, and whoever is scheduled writes
 * rows to the pages that it claims in the same step, so that a store would read rows.
 */
import { macrotask } from '../../src/event-loop.ts';
import { Generator, type GenerateRequest, type GenerateResult } from '../../src/model/generator.ts';
import { layerGroups, planeNumbers } from '../../src/model/cache-layout.ts';
import { groupId, WORD_BYTES, type JobId, type PageId, type SlotId } from '../../src/units.ts';
import type { StepReport } from '../../src/index.ts';
import type { SharedModel } from './models.ts';

export interface DrafterIncidentOptions {
  readonly fence: 'complete' | 'scheduled-and-loads';
  /** At least 3U tokens, which A has. */
  readonly text: readonly number[];
  /** Requests that come afterwards, one after the other. */
  readonly followers: readonly GenerateRequest[];
  readonly device?: GPUDevice;
}

export interface DrafterIncident {
  /** A's state after U tokens: its page and its cache group, and the store that reads it. */
  readonly statePage: PageId;
  readonly stateGroup: number;
  readonly stateJob: JobId;
  readonly stateSlot: SlotId;
  /** The state's bytes right after A computed them, and those of its slot once everything has come home. */
  readonly computed: Uint8Array;
  readonly stored: Uint8Array;
  /** Step t3. */
  readonly claim: StepReport;
  /** C's ring. `undefined`: C was not parked. */
  readonly ringPage: PageId | undefined;
  /** All that the host tier holds before the followers come, by slot. */
  readonly slots: ReadonlyMap<SlotId, Uint8Array>;
  readonly followers: readonly GenerateResult[];
  /** Of the followers. */
  readonly drafts: { readonly proposed: number; readonly accepted: number };
}

/** U. */
export const PAGE_TOKENS = 16;
/** The ring's group: behind those of the layers and the drafter. */
export const ringGroupOf = ({ model }: SharedModel) => groupId(layerGroups(model.config).length + 1);

const POOL_PAGES = 21;
const DRAFTS = 1;
const RATIO = 4;

async function createGenerator(
  { model }: SharedModel,
  { fence, device }: Pick<DrafterIncidentOptions, 'fence' | 'device'>,
): Promise<Generator> {
  const { config } = model;
  const layers = Math.max(...layerGroups(config).map((group) => group.layers.length));
  const bytesOf = (tokensPerPage: number) => layers * planeNumbers({ ...config, tokensPerPage }) * WORD_BYTES;
  const pageBytes = 2 * bytesOf(PAGE_TOKENS);
  const capacityTokens = RATIO + DRAFTS;
  return Generator.create(
    {
      ...{ model, device, draftTokens: DRAFTS, tokensPerPage: PAGE_TOKENS, poolPages: POOL_PAGES },
      ...{ hostSlots: 64, stepTokensMax: 2 * PAGE_TOKENS },
      engine: {
        offload: { fence },
        transfer: {
          ...{ storeBytesPerStep: pageBytes, stagingBuffers: 2, stagingBytes: pageBytes },
          ...{ overflowBytes: 16 * pageBytes, acknowledgementLag: 2 },
        },
      },
    },
    {
      moreGroups: [
        {
          ...{ kind: 'ring', after: 'tail', format: 'f32', ratio: RATIO, capacityTokens },
          pageBytes: bytesOf(capacityTokens),
        },
      ],
    },
  );
}

export async function playDrafterIncident(
  shared: SharedModel,
  options: DrafterIncidentOptions,
): Promise<DrafterIncident> {
  const { model, goldens } = shared;
  const generator = await createGenerator(shared, options);
  const { engine } = generator;
  const [first, second] = goldens.map(({ prompt, greedy }) => [...prompt, ...greedy].slice(0, PAGE_TOKENS));
  const begun: Promise<readonly GenerateResult[]>[] = [];
  const begin = (id: string, prompt: readonly number[], maxTokens = 1) => {
    begun.push(generator.generate([{ id, prompt, maxTokens, stop: [] }]));
  };
  const toEnd = async () => {
    for (const results of begun) await results;
    while (engine.hasWork) await macrotask();
  };
  begin('P', first);
  await toEnd();

  const reports: StepReport[] = [];
  let computed: Uint8Array = new Uint8Array();
  let stateGroup = -1;
  let ringPage: PageId | undefined;
  const step = engine.step.bind(engine);
  engine.step = async () => {
    const report = await step();
    reports.push(report);
    if (reports.length === 1) begin('A', options.text.slice(0, 3 * PAGE_TOKENS));
    if (reports.length === 2) {
      const [page] = report.plan.stores[0].pages;
      computed = await engine.worker.readPage(page);
      // Tables go on with their requests.
      const { tables } = report.plan.forward.find(({ requestId }) => (requestId as string) === 'A')!;
      stateGroup = tables.findIndex((table) => table.includes(page));
    }
    if (reports.length === 4) begin('C', [...first, 7]);
    const parked = [...engine.scheduler.queues.parked.values()].find(({ id }) => (id as string) === 'C');
    if (parked) [ringPage] = engine.cache.pageTable(parked.id, ringGroupOf(shared));
    return report;
  };
  begin('B', second, 7);
  await toEnd();
  engine.step = step;

  const [, t0, , , claim] = reports;
  const [{ id: stateJob, pages, slots }] = t0.plan.stores;
  const stateBytes = model.config.hiddenSize * WORD_BYTES;
  const view = (slot: SlotId) => engine.host!.view(slot).slice();
  const used = reports.flatMap(({ plan }) => plan.stores.flatMap((store) => [...store.slots]));
  const tier = new Map(used.map((slot) => [slot, view(slot)]));
  const before = engine.statistics().drafts;
  const results: GenerateResult[] = [];
  for (const request of options.followers) results.push(...(await generator.generate([request])));
  while (engine.hasWork) await macrotask();
  const after = engine.statistics().drafts;
  engine.checkIntegrity();
  await generator.close();
  return {
    ...{ statePage: pages[0], stateJob, stateSlot: slots[0], claim, ringPage, stateGroup },
    computed: computed.slice(0, stateBytes),
    stored: tier.get(slots[0])!.slice(0, stateBytes),
    slots: tier,
    followers: results,
    drafts: {
      proposed: after.proposed - before.proposed,
      accepted: after.accepted - before.accepted,
    },
  };
}
