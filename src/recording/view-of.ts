/** A state of a recording as `inspect` would have shown it. */
import {
  stateOf,
  type EngineView,
  type JobView,
  type PageState,
  type PageView,
  type RequestView,
  type SlotState,
  type SlotView,
} from '../inspect.ts';
import {
  NULL_PAGE,
  pageId,
  slotId,
  type JobId,
  type PageId,
  type PrefixKey,
  type RequestId,
} from '../units.ts';
import { NO_KEY, type MomentState, type RequestState } from './moment-state.ts';

const NONE: readonly never[] = Object.freeze([]);

/** `before`: a view of another moment of the same recording, whose pages and slots are used again where they are equal. */
export function viewOf(
  state: MomentState,
  { keys, before }: { readonly keys: readonly PrefixKey[]; readonly before: EngineView | null },
): EngineView {
  const nameOf = (index: number) => (index === NO_KEY ? null : keys[index]);
  const requests = state.requests.map(requestView);
  const pages = pageViews(state, requests, nameOf, before?.pages ?? []);
  const slots = slotViews(state, nameOf, before?.slots ?? []);
  const counts = {
    pages: { null: 0, free: 0, cached: 0, owned: 0, shared: 0 } satisfies Record<PageState, number>,
    slots: { free: 0, writing: 0, ready: 0, pinned: 0 } satisfies Record<SlotState, number>,
  };
  for (const page of pages) counts.pages[page.state] += 1;
  for (const slot of slots) counts.slots[slot.state] += 1;
  const { steps, jobs, staging } = state;
  return { steps, pages, slots, requests, jobs, staging, counts };
}

type NameOf = (index: number) => PrefixKey | null;

/** Requests that were shown before are the same objects. */
const shown = new WeakMap<RequestState, RequestView>();

function requestView(request: RequestState): RequestView {
  const known = shown.get(request);
  if (known) return known;
  const view = { ...request, pages: request.tables.flat().filter((page) => page !== NULL_PAGE) };
  shown.set(request, view);
  return view;
}

function pageViews(
  state: MomentState,
  requests: readonly RequestView[],
  nameOf: NameOf,
  before: readonly PageView[],
): PageView[] {
  const { owners, stores, loads } = readersAndOwners(requests, state.jobs);
  const zeroed = new Set(state.step?.plan.newPageIdsToZero.flatMap(({ pages }) => pages));
  const loaded = new Set(state.step?.plan.loads.flatMap(({ pages }) => pages));
  const computed = new Set(state.step?.computed);
  const views = new Array<PageView>(state.references.length);
  for (let index = 0; index < views.length; index += 1) {
    const id = pageId(index);
    const references = state.references[index];
    const key = nameOf(state.keys[index]);
    const pageOwners = owners.get(id) ?? NONE;
    const pageStores = stores.get(id) ?? NONE;
    const unreadBy = state.unread.get(id) ?? NONE;
    const load = loads.get(id) ?? null;
    const isZeroed = zeroed.has(id);
    const isComputed = computed.has(id);
    const isLoaded = loaded.has(id);
    const suspect = state.suspectPages.has(id);
    const old = before[index];
    const isSame =
      old !== undefined &&
      old.references === references &&
      old.key === key &&
      old.load === load &&
      old.zeroed === isZeroed &&
      old.computed === isComputed &&
      old.loaded === isLoaded &&
      old.suspect === suspect &&
      isSameList(old.owners, pageOwners) &&
      isSameList(old.stores, pageStores) &&
      isSameList(old.unreadBy, unreadBy);
    views[index] = isSame
      ? old
      : {
          id,
          state: stateOf(id, references, key),
          references,
          owners: pageOwners,
          key,
          stores: pageStores,
          unreadBy,
          load,
          zeroed: isZeroed,
          computed: isComputed,
          loaded: isLoaded,
          suspect,
        };
  }
  return views;
}

function readersAndOwners(requests: readonly RequestView[], jobs: readonly JobView[]) {
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

function isSameList(a: readonly unknown[], b: readonly unknown[]): boolean {
  return a === b || (a.length === b.length && a.every((item, i) => item === b[i]));
}

function slotViews(state: MomentState, nameOf: NameOf, before: readonly SlotView[]): SlotView[] {
  const views = new Array<SlotView>(state.slotKeys.length);
  for (let index = 0; index < views.length; index += 1) {
    const id = slotId(index);
    const key = nameOf(state.slotKeys[index]);
    const readers = key === null ? 0 : Math.max(state.slotReaders[index], 0);
    const slotState = key === null ? 'free' : slotStateOf(state.slotReaders[index]);
    // A slot that is free holds nobody's bytes.
    const suspect = key !== null && state.suspectSlots.has(id);
    const old = before[index];
    const isSame =
      old?.state === slotState && old.key === key && old.readers === readers && old.suspect === suspect;
    views[index] = isSame ? old : { id, state: slotState, key, readers, suspect };
  }
  return views;
}

function slotStateOf(readers: number): SlotState {
  if (readers < 0) return 'writing';
  return readers === 0 ? 'ready' : 'pinned';
}

function append<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}
