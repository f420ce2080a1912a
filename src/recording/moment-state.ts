/** The state between two steps in a form that is cheap to copy and to change: what deltas are applied to. */
import { InvariantError } from '../errors.ts';
import type { JobView, RequestView } from '../inspect.ts';
import type { StagingView } from '../transfer-log.ts';
import { pageId, slotId, type JobId, type PageId, type RequestId, type SlotId } from '../units.ts';
import type { Delta, RequestChange } from './delta.ts';
import type { RecordedStep } from './recorded-step.ts';

export const NO_KEY = -1;

/** A request without what follows from its tables. */
export type RequestState = Omit<RequestView, 'pages'>;

export interface MomentState {
  steps: number;
  /** By page. Keys by their position in the log's list. */
  readonly references: Int32Array<ArrayBuffer>;
  readonly keys: Int32Array<ArrayBuffer>;
  /** By slot: `NO_KEY` where it is free; readers are -1 while it is written. */
  readonly slotKeys: Int32Array<ArrayBuffer>;
  readonly slotReaders: Int32Array<ArrayBuffer>;
  readonly suspectPages: Set<PageId>;
  readonly suspectSlots: Set<SlotId>;
  requests: readonly RequestState[];
  jobs: readonly JobView[];
  readonly unread: Map<PageId, readonly JobId[]>;
  staging: StagingView | null;
  readonly counters: Float64Array<ArrayBuffer>;
  step: RecordedStep | null;
}

export interface Sizes {
  readonly pages: number;
  readonly slots: number;
  readonly counters: number;
  readonly groups: number;
}

/** A new engine: nothing is held, nothing has a key. */
export function emptyState({ pages, slots, counters }: Sizes): MomentState {
  return {
    steps: 0,
    references: new Int32Array(pages),
    keys: new Int32Array(pages).fill(NO_KEY),
    slotKeys: new Int32Array(slots).fill(NO_KEY),
    slotReaders: new Int32Array(slots),
    suspectPages: new Set(),
    suspectSlots: new Set(),
    requests: [],
    jobs: [],
    unread: new Map(),
    staging: null,
    counters: new Float64Array(counters),
    step: null,
  };
}

export function copyState(state: MomentState): MomentState {
  return {
    ...state,
    references: state.references.slice(),
    keys: state.keys.slice(),
    slotKeys: state.slotKeys.slice(),
    slotReaders: state.slotReaders.slice(),
    suspectPages: new Set(state.suspectPages),
    suspectSlots: new Set(state.suspectSlots),
    unread: new Map(state.unread),
    counters: state.counters.slice(),
  };
}

/** `keyCount`: keys that the log knows. Throws `InvariantError` for a delta that does not follow on this state. */
export function applyDelta(state: MomentState, delta: Delta, options: Sizes & { keyCount: number }): void {
  const { pages, slots, counters, groups, keyCount } = options;
  const key = (index: number) => within(index, keyCount, 'key', NO_KEY);
  state.steps = delta.steps;
  state.step = delta.step;
  const references = flat(delta.references, 2);
  for (let at = 0; at < references.length; at += 2) {
    const count = within(references[at + 1], Infinity, 'count of references');
    state.references[within(references[at], pages, 'page')] = count;
  }
  const keys = flat(delta.keys, 2);
  for (let at = 0; at < keys.length; at += 2) {
    state.keys[within(keys[at], pages, 'page')] = key(keys[at + 1]);
  }
  const changed = flat(delta.slots, 3);
  for (let at = 0; at < changed.length; at += 3) {
    const slot = within(changed[at], slots, 'slot');
    state.slotKeys[slot] = key(changed[at + 1]);
    state.slotReaders[slot] = within(changed[at + 2], Infinity, 'count of readers', -1);
  }
  for (const page of delta.suspectPages ?? []) {
    toggle(state.suspectPages, pageId(within(page, pages, 'page')));
  }
  for (const slot of delta.suspectSlots ?? []) {
    toggle(state.suspectSlots, slotId(within(slot, slots, 'slot')));
  }
  for (const [page, ...jobs] of delta.unread ?? []) {
    const id = pageId(within(page, pages, 'page'));
    if (jobs.length > 0) state.unread.set(id, jobs as JobId[]);
    else if (!state.unread.delete(id)) fault(`page ${page} is read by no store`);
  }
  const counted = flat(delta.counters, 2);
  for (let at = 0; at < counted.length; at += 2) {
    state.counters[within(counted[at], counters, 'counter')] = counted[at + 1];
  }
  if (delta.staging) state.staging = delta.staging;
  applyJobs(state, delta);
  applyRequests(state, delta, { pages, groups });
}

function applyJobs(state: MomentState, { ended = [], begun = [] }: Delta): void {
  if (ended.length + begun.length === 0) return;
  const gone = new Set(ended);
  const left = state.jobs.filter(({ id }) => !gone.has(id));
  if (left.length + gone.size !== state.jobs.length) fault(`jobs ${ended.join(', ')} are not all under way`);
  state.jobs = [...left, ...begun].sort((a, b) => a.id - b.id);
}

function applyRequests(
  state: MomentState,
  { order, requests = [] }: Delta,
  sizes: Pick<Sizes, 'pages' | 'groups'>,
): void {
  if (order === undefined && requests.length === 0) return;
  const byId = new Map(state.requests.map((request) => [request.id, request]));
  for (const change of requests) byId.set(change.id, changed(byId.get(change.id), change, sizes));
  const ids: readonly RequestId[] = order ?? state.requests.map(({ id }) => id);
  state.requests = ids.map((id) => byId.get(id) ?? fault(`request ${id} is not there`));
}

function changed(
  before: RequestState | undefined,
  change: RequestChange,
  { pages, groups }: Pick<Sizes, 'pages' | 'groups'>,
): RequestState {
  const missing = (field: string) => fault(`request ${change.id} is new and has no ${field}`);
  const tablesBefore = before?.tables ?? Array.from({ length: groups }, () => []);
  const tables =
    change.tables?.map((list, group) => {
      const [length] = list;
      const table = (tablesBefore[group] ?? fault(`there is no group ${group}`)).slice(0, length);
      if (list.length % 2 === 0) fault(`a page table of ${list.length} numbers has no whole changes`);
      for (let at = 1; at < list.length; at += 2) {
        table[within(list[at], length, 'position')] = pageId(within(list[at + 1], pages, 'page'));
      }
      if (table.length !== length || table.includes(undefined as never)) fault('a page table has holes');
      return table;
    }) ?? tablesBefore;
  if (tables.length !== groups) fault(`request ${change.id} has ${tables.length} page tables`);
  return {
    id: change.id,
    status: change.status ?? before?.status ?? missing('status'),
    promptTokens: change.promptTokens ?? before?.promptTokens ?? missing('promptTokens'),
    tokens: change.tokens ?? before?.tokens ?? missing('tokens'),
    computedTokens: change.computedTokens ?? before?.computedTokens ?? missing('computedTokens'),
    tables,
  };
}

const EMPTY: readonly number[] = [];

/** A list of `size` numbers each, one after the other. */
function flat(list: readonly number[] | undefined, size: number): readonly number[] {
  if (list === undefined) return EMPTY;
  if (list.length % size !== 0) fault(`a list of ${list.length} numbers is no list of ${size} each`);
  return list;
}

function within(value: number, end: number, what: string, first = 0): number {
  return value >= first && value < end ? value : fault(`${what} ${value} does not exist`);
}

function fault(message: string): never {
  throw new InvariantError(message);
}

function toggle<Id>(set: Set<Id>, id: Id): void {
  if (!set.delete(id)) set.add(id);
}
