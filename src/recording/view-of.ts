/** A state of a recording as `inspect` would have shown it. */
import {
  countViews,
  NONE,
  ownersAndJobs,
  slotStateOf,
  stateOf,
  type EngineView,
  type PageView,
  type RequestView,
  type SlotView,
} from '../inspect.ts';
import { NULL_PAGE, pageId, slotId, type PrefixKey } from '../units.ts';
import { NO_KEY, type MomentState, type RequestState } from './moment-state.ts';

/** `before`: a view of another moment of the same recording, whose pages and slots are used again where they are equal. */
export function viewOf(
  state: MomentState,
  { keys, before }: { readonly keys: readonly PrefixKey[]; readonly before: EngineView | null },
): EngineView {
  const nameOf = (index: number) => (index === NO_KEY ? null : keys[index]);
  const requests = state.requests.map(requestView);
  const pages = pageViews(state, requests, nameOf, before?.pages ?? []);
  const slots = slotViews(state, nameOf, before?.slots ?? []);
  const { steps, jobs, staging } = state;
  return { steps, pages, slots, requests, jobs, staging, counts: countViews(pages, slots) };
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
  const { owners, stores, loads } = ownersAndJobs(requests, state.jobs);
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
