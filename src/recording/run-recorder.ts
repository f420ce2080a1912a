/**
 * Records a run: what each step changed, found by comparing the engine with the state after the step before. Costs little
 * where little changed; the whole pool is never copied.
 */
import type { CacheEvent } from '../cache/events.ts';
import type { Engine, StepReport } from '../engine.ts';
import { jobViewOf } from '../inspect.ts';
import type { OffloadEvent } from '../offload/events.ts';
import type { Request } from '../schedule/request.ts';
import type { WitnessReport } from '../schedule/step-plan.ts';
import type { EngineStatistics } from '../statistics.ts';
import type { TransferLog } from '../transfer-log.ts';
import { pageId, type JobId, type PageId, type PrefixKey, type RequestId } from '../units.ts';
import { computedPages } from '../written-pages.ts';
import { counterNames, counterValues } from './counters.ts';
import type { Delta, RequestChange } from './delta.ts';
import { NO_KEY, type MomentState, type RequestState } from './moment-state.ts';
import { recordedStep, type RecordedStep } from './recorded-step.ts';
import { RunLog } from './run-log.ts';

/** Hears what changes between two recorded steps. Made before the engine, which calls its two handlers. */
export class ChangeWatch {
  /** Pages whose key may be another; null: any. */
  keyed: Set<PageId> | null = null;
  slotsChanged = true;
  /** Who asked for a transfer, from when it was prepared to when its step is recorded. */
  readonly askedBy = new Map<JobId, RequestId>();

  readonly onCacheEvent = (event: CacheEvent): void => {
    if (event.type === 'cleared') this.keyed = null;
    if (this.keyed === null) return;
    if (event.type === 'stored') for (const page of event.pages) this.keyed.add(page);
    if (event.type === 'removed') this.keyed.add(event.page);
    if (event.type === 'moved') this.keyed.add(event.source).add(event.destination);
  };

  readonly onOffloadEvent = (event: OffloadEvent): void => {
    if (event.type === 'flushed') return;
    this.slotsChanged = true;
    if (event.type === 'store-prepared' || event.type === 'load-prepared') {
      this.askedBy.set(event.job, event.requestId);
    }
  };

  /** All has been seen. */
  rest(): void {
    this.keyed = new Set();
    this.slotsChanged = false;
    this.askedBy.clear();
  }
}

/** What is counted beside what the caller adds. */
export interface RunCounters {
  readonly statistics: EngineStatistics;
  readonly exposedPages: number;
  readonly lateReads: number;
}

export interface RunRecorderOptions<More extends object> {
  /** New, and made with the handlers of `watch`. */
  readonly engine: Engine;
  readonly watch: ChangeWatch;
  /** Records the same steps, each before this recorder does. */
  readonly transfers: TransferLog;
  /** More numbers to count, in nested records; the same fields at every step. */
  readonly counters?: () => More;
}

const NO_STEP: RecordedStep = {
  plan: { step: -1, stores: [], jobsToFlush: [], newPageIdsToZero: [], copies: [], loads: [], forward: [] },
  outcome: { step: -1, released: [], flushed: [], overflowedPages: 0, acknowledgements: [] },
  finished: [],
  computed: [],
  exposed: [],
};

export class RunRecorder<More extends object = object> {
  readonly log: RunLog<RunCounters & More>;
  private readonly engine: Engine;
  private readonly watch: ChangeWatch;
  private readonly transfers: TransferLog;
  private readonly more: () => More;
  private readonly keyIndex = new Map<PrefixKey, number>();
  private readonly keys: PrefixKey[];
  private readonly unreadBefore = new Map<PageId, readonly JobId[]>();

  constructor(options: RunRecorderOptions<More>) {
    const { engine, watch, transfers, counters = () => ({}) as More } = options;
    this.engine = engine;
    this.watch = watch;
    this.transfers = transfers;
    this.more = counters;
    const { cache, offload } = engine.config;
    this.log = new RunLog({
      pages: cache.pages,
      slots: offload.slots,
      groups: engine.cache.layout.groups.length,
      counters: counterNames(this.countersNow()),
      keys: [],
      first: { steps: 0, staging: transfers.staging, step: NO_STEP },
      deltas: [],
      witness: [],
    });
    this.keys = this.log.keys;
  }

  /** Call it once after each step, when the transfer log has recorded it, before anything else happens to the engine. */
  record(report: StepReport): void {
    const { engine, watch, log, transfers } = this;
    const { end } = log;
    const step = recordedStep(report, {
      askedBy: (job) => watch.askedBy.get(job) ?? null,
      computed: computedPages(report.plan, engine.cache.layout),
      exposed: transfers.exposedInLastStep,
    });
    const delta: Delta = {
      steps: engine.steps,
      ...list('references', this.references(end)),
      ...list('keys', this.keyChanges(end)),
      ...list('slots', watch.slotsChanged ? this.slotChanges(end) : []),
      ...list('suspectPages', toggled(end.suspectPages, transfers.suspectPages)),
      ...list('suspectSlots', toggled(end.suspectSlots, transfers.suspectSlots)),
      ...this.requestChanges(end),
      ...this.jobChanges(end),
      ...list('unread', this.unreadChanges()),
      ...this.stagingChange(end),
      ...list('counters', this.counterChanges(end)),
      step,
    };
    log.append(delta);
    watch.rest();
  }

  /** What the witness had found when the last recorded step was done. */
  recordWitness(report: WitnessReport): void {
    this.log.addWitness({ moment: this.log.length, report });
  }

  private countersNow(): RunCounters & More {
    const { exposedPages, lateReads } = this.transfers;
    return { statistics: this.engine.statistics(), exposedPages, lateReads, ...this.more() };
  }

  private references({ references }: Readonly<MomentState>): number[] {
    const { cache } = this.engine;
    const changes: number[] = [];
    for (let page = 0; page < references.length; page += 1) {
      const count = cache.refCount(pageId(page));
      if (count !== references[page]) changes.push(page, count);
    }
    return changes;
  }

  private keyChanges({ keys }: Readonly<MomentState>): number[] {
    const { watch, engine } = this;
    const changes: number[] = [];
    for (const page of watch.keyed ?? Array.from(keys, (_, index) => pageId(index))) {
      const key = this.indexOf(engine.cache.keyOf(page));
      if (key !== keys[page]) changes.push(page, key);
    }
    return changes;
  }

  private slotChanges({ slotKeys, slotReaders }: Readonly<MomentState>): number[] {
    const changes: number[] = [];
    const taken = new Uint8Array(slotKeys.length);
    for (const { key, slot, references } of this.engine.connector.manager.entries()) {
      const index = this.indexOf(key);
      taken[slot] = 1;
      if (index !== slotKeys[slot] || references !== slotReaders[slot]) changes.push(slot, index, references);
    }
    for (let slot = 0; slot < taken.length; slot += 1) {
      if (taken[slot] === 0 && slotKeys[slot] !== NO_KEY) changes.push(slot, NO_KEY, 0);
    }
    return changes;
  }

  private requestChanges({ requests }: Readonly<MomentState>): Pick<Delta, 'order' | 'requests'> {
    const before = new Map(requests.map((request) => [request.id, request]));
    const order: RequestId[] = [];
    const changes: RequestChange[] = [];
    for (const request of this.engine.scheduler.queues.all()) {
      order.push(request.id);
      const change = this.requestChange(before.get(request.id), request);
      if (change) changes.push(change);
    }
    const isSameOrder =
      order.length === requests.length && order.every((id, index) => id === requests[index].id);
    return { ...(isSameOrder ? {} : { order }), ...list('requests', changes) };
  }

  private requestChange(before: RequestState | undefined, request: Request): RequestChange | null {
    const { id, status, promptTokens, sequence, computedTokens } = request;
    const now = { status, promptTokens, tokens: sequence.length, computedTokens };
    const changes = Object.fromEntries(
      Object.entries(now).filter(([field, value]) => before?.[field as keyof typeof now] !== value),
    );
    const { groups } = this.engine.cache.layout;
    const tables = groups.map((group, index) =>
      tableChanges(before?.tables[index] ?? [], this.engine.cache.pageTable(id, group.id)),
    );
    const isMoved = tables.some(
      ([length, ...moves], index) => moves.length > 0 || length !== (before?.tables[index].length ?? -1),
    );
    if (!isMoved && Object.keys(changes).length === 0) return null;
    return { id, ...changes, ...(isMoved ? { tables } : {}) };
  }

  private jobChanges({ jobs }: Readonly<MomentState>): Pick<Delta, 'ended' | 'begun'> {
    const now = this.engine.connector.snapshot().jobs;
    const known = new Set(jobs.map(({ id }) => id));
    const live = new Set(now.map(({ id }) => id));
    const begun = now.filter(({ id }) => !known.has(id)).map(jobViewOf);
    const ended = jobs.map(({ id }) => id).filter((id) => !live.has(id));
    return { ...list('ended', ended), ...list('begun', begun) };
  }

  private unreadChanges(): number[][] {
    const { unreadBefore: before } = this;
    const { unread } = this.transfers;
    const changes: number[][] = [];
    for (const [page, jobs] of unread) if (before.get(page) !== jobs) changes.push([page, ...jobs]);
    for (const page of before.keys()) if (!unread.has(page)) changes.push([page]);
    for (const [page, ...jobs] of changes) {
      if (jobs.length > 0) before.set(pageId(page), unread.get(pageId(page))!);
      else before.delete(pageId(page));
    }
    return changes;
  }

  private stagingChange({ staging: before }: Readonly<MomentState>): Pick<Delta, 'staging'> {
    const { staging } = this.transfers;
    const isSame =
      before?.queuedPages === staging.queuedPages &&
      before.overflowPages === staging.overflowPages &&
      staging.buffers.every((pages, buffer) => pages === before.buffers[buffer]);
    return isSame ? {} : { staging };
  }

  private counterChanges({ counters }: Readonly<MomentState>): number[] {
    const now = counterValues(this.countersNow());
    return now.flatMap((value, index) => (value === counters[index] ? [] : [index, value]));
  }

  private indexOf(key: PrefixKey | null): number {
    if (key === null) return NO_KEY;
    const known = this.keyIndex.get(key);
    if (known !== undefined) return known;
    const index = this.keys.push(key) - 1;
    this.keyIndex.set(key, index);
    return index;
  }
}

/** The new length, then position and page wherever they differ. */
function tableChanges(before: readonly PageId[], now: readonly PageId[]): number[] {
  const changes = [now.length];
  for (let position = 0; position < now.length; position += 1) {
    if (before[position] !== now[position]) changes.push(position, now[position]);
  }
  return changes;
}

function toggled<Id extends number>(before: ReadonlySet<Id>, now: ReadonlySet<Id>): Id[] {
  const changes: Id[] = [];
  for (const id of now) if (!before.has(id)) changes.push(id);
  for (const id of before) if (!now.has(id)) changes.push(id);
  return changes;
}

/** A field of a delta, or none where the list is empty. */
function list<Name extends string, Item>(name: Name, items: Item[]): { [Field in Name]?: Item[] } {
  return items.length === 0 ? {} : ({ [name]: items } as { [Field in Name]: Item[] });
}
