/** The state of an engine between two steps as plain data, for pictures and logs. */
import type { Engine, StepReport } from './engine.ts';
import type { RequestStatus } from './schedule/request.ts';
import {
  NULL_PAGE,
  pageId,
  slotId,
  type JobId,
  type PageId,
  type PrefixKey,
  type RequestId,
  type SlotId,
} from './units.ts';
import type { StagingView, TransferLog } from './transfer-log.ts';
import { computedPages } from './written-pages.ts';

/**
 * `null`: page 0. `free`: nobody holds it and it has no key. `cached`: nobody holds it, and a prompt that begins alike
 * can still find it. `owned`: in one page table. `shared`: in several.
 */
export type PageState = 'null' | 'free' | 'cached' | 'owned' | 'shared';

export interface PageView {
  readonly id: PageId;
  readonly state: PageState;
  /** Page tables that it stands in. */
  readonly references: number;
  /** Requests whose tables these are, running ones first. */
  readonly owners: readonly RequestId[];
  readonly key: PrefixKey | null;
  /** Stores of this page that are not complete. */
  readonly stores: readonly JobId[];
  /** Those of them that still have to read it. Empty without a transfer log. */
  readonly unreadBy: readonly JobId[];
  /** The load that brings its bytes; its request is parked until then. */
  readonly load: JobId | null;
  /** What the last step did with it. False without a report. */
  readonly zeroed: boolean;
  readonly computed: boolean;
  readonly loaded: boolean;
  /** Its bytes may not be those of its key: see `TransferLog`. False without a transfer log. */
  readonly suspect: boolean;
}

/** `writing`: reserved, its bytes are on their way. `pinned`: ready, and a load reads it. */
export type SlotState = 'free' | 'writing' | 'ready' | 'pinned';

export interface SlotView {
  readonly id: SlotId;
  readonly state: SlotState;
  readonly key: PrefixKey | null;
  /** Loads that read it. */
  readonly readers: number;
  /** Its bytes may not be those of its key: see `TransferLog`. False without a transfer log. */
  readonly suspect: boolean;
}

export interface RequestView {
  readonly id: RequestId;
  readonly status: RequestStatus;
  readonly promptTokens: number;
  /** Tokens so far, prompt included, and those of them whose rows are in pages. */
  readonly tokens: number;
  readonly computedTokens: number;
  /** Its pages, all groups together, without the null page. */
  readonly pages: readonly PageId[];
  /** Its page tables by group, with null pages where nothing is kept. */
  readonly tables: readonly (readonly PageId[])[];
}

export interface JobView {
  readonly id: JobId;
  readonly kind: 'store' | 'load';
  readonly request: RequestId;
  readonly pages: readonly PageId[];
  readonly slots: readonly SlotId[];
}

export interface EngineView {
  /** Steps done. */
  readonly steps: number;
  /** By page id. */
  readonly pages: readonly PageView[];
  /** By slot id. */
  readonly slots: readonly SlotView[];
  /** Not finished: running, loaded, parked, then waiting. */
  readonly requests: readonly RequestView[];
  /** Transfers that are not complete, oldest first. */
  readonly jobs: readonly JobView[];
  /** `null` without a transfer log. */
  readonly staging: StagingView | null;
  readonly counts: {
    readonly pages: Readonly<Record<PageState, number>>;
    readonly slots: Readonly<Record<SlotState, number>>;
  };
}

export interface InspectOptions {
  /** The report of the last step. */
  readonly last?: StepReport | null;
  /** A log that has recorded every step of this engine. */
  readonly transfers?: TransferLog | null;
}

/** Looks at an engine between two steps. Changes nothing; the result does not change with later steps. */
export function inspect(engine: Engine, options: InspectOptions = {}): EngineView {
  const transfers = options.transfers ?? null;
  const requests = requestViews(engine);
  const jobs = jobViews(engine);
  const pages = pageViews({ engine, requests, jobs, last: options.last ?? null, transfers });
  const slots = slotViews(engine, transfers);
  return {
    steps: engine.steps,
    pages,
    slots,
    requests,
    jobs,
    staging: transfers?.staging ?? null,
    counts: countViews(pages, slots),
  };
}

export function countViews(pages: readonly PageView[], slots: readonly SlotView[]): EngineView['counts'] {
  return {
    pages: countStates(pages, { null: 0, free: 0, cached: 0, owned: 0, shared: 0 }),
    slots: countStates(slots, { free: 0, writing: 0, ready: 0, pinned: 0 }),
  };
}

function requestViews({ scheduler, cache }: Engine): RequestView[] {
  return [...scheduler.queues.all()].map(({ id, status, promptTokens, sequence, computedTokens }) => {
    const tables = cache.layout.groups.map((group) => [...cache.pageTable(id, group.id)]);
    return {
      id,
      status,
      promptTokens,
      tokens: sequence.length,
      computedTokens,
      pages: tables.flat().filter((page) => page !== NULL_PAGE),
      tables,
    };
  });
}

function jobViews({ connector }: Engine): JobView[] {
  return connector
    .snapshot()
    .jobs.map(jobViewOf)
    .sort((a, b) => a.id - b.id);
}

type Job = ReturnType<Engine['connector']['snapshot']>['jobs'][number];

export function jobViewOf({ id, kind, requestId, pages, slots }: Job): JobView {
  return { id, kind, request: requestId, pages: [...pages], slots: [...slots] };
}

interface PageSources {
  readonly engine: Engine;
  readonly requests: readonly RequestView[];
  readonly jobs: readonly JobView[];
  readonly last: StepReport | null;
  readonly transfers: TransferLog | null;
}

/** Of a page without owners, stores or readers. */
export const NONE: readonly never[] = Object.freeze([]);

function pageViews({ engine, requests, jobs, last, transfers }: PageSources): PageView[] {
  const { cache, config } = engine;
  const { owners, stores, loads } = ownersAndJobs(requests, jobs);
  const zeroed = new Set(last?.plan.newPageIdsToZero.flatMap(({ pages }) => pages));
  const loaded = new Set(last?.plan.loads.flatMap((load) => load.pages));
  const computed = last === null ? new Set<PageId>() : computedPages(last.plan, cache.layout);
  return Array.from({ length: config.cache.pages }, (_, index) => {
    const id = pageId(index);
    const references = cache.refCount(id);
    const key = cache.keyOf(id);
    return {
      id,
      state: stateOf(id, references, key),
      references,
      owners: owners.get(id) ?? NONE,
      key,
      stores: stores.get(id) ?? NONE,
      unreadBy: transfers?.unread.get(id) ?? NONE,
      load: loads.get(id) ?? null,
      zeroed: zeroed.has(id),
      computed: computed.has(id),
      loaded: loaded.has(id),
      suspect: transfers?.suspectPages.has(id) ?? false,
    };
  });
}

/** By page: the requests that hold it, the stores that read it, and the load that writes it. */
export function ownersAndJobs(requests: readonly RequestView[], jobs: readonly JobView[]) {
  const owners = new Map<PageId, RequestId[]>();
  for (const { id, pages } of requests) for (const page of pages) append(owners, page, id);
  const stores = new Map<PageId, JobId[]>();
  const loads = new Map<PageId, JobId>();
  for (const { id, kind, pages } of jobs) {
    for (const page of pages) {
      if (kind === 'store') append(stores, page, id);
      else loads.set(page, id);
    }
  }
  return { owners, stores, loads };
}

export function stateOf(id: PageId, references: number, key: PrefixKey | null): PageState {
  if (id === NULL_PAGE) return 'null';
  if (references === 0) return key === null ? 'free' : 'cached';
  return references === 1 ? 'owned' : 'shared';
}

function slotViews({ config, connector }: Engine, transfers: TransferLog | null): SlotView[] {
  const views: SlotView[] = Array.from({ length: config.offload.slots }, (_, index) => ({
    id: slotId(index),
    state: 'free',
    key: null,
    readers: 0,
    suspect: false,
  }));
  for (const { key, slot, references } of connector.manager.entries()) {
    const state = slotStateOf(references);
    const suspect = transfers?.suspectSlots.has(slot) ?? false;
    views[slot] = { id: slot, state, key, readers: Math.max(references, 0), suspect };
  }
  return views;
}

/** Of a slot with a key. `references`: loads that read it, or a negative number while a store writes it. */
export function slotStateOf(references: number): SlotState {
  if (references < 0) return 'writing';
  return references === 0 ? 'ready' : 'pinned';
}

function append<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

function countStates<State extends string>(
  views: readonly { readonly state: State }[],
  counts: Record<State, number>,
): Record<State, number> {
  for (const { state } of views) counts[state] += 1;
  return counts;
}
