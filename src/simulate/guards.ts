/**
 * The guards of the engine, each with a way to take it away: by a form of the fence, or by replacing the method that
 * keeps it. A simulation without a guard shows what the guard is for, and that the simulation would notice.
 */
import type { OffloadConfig } from '../config.ts';
import type { Engine } from '../engine.ts';
import type { ConnectorMeta, SchedulerOutput } from '../schedule/connector-interface.ts';
import type { JobId } from '../units.ts';
import type { Looseness } from './loose-worker.ts';

export interface Guard {
  readonly name: string;
  /** What it keeps from happening. */
  readonly purpose: string;
  /** The form of the fence without it. */
  readonly fence?: OffloadConfig['fence'];
  /** Takes it away from an engine that has not run yet. */
  readonly remove?: (engine: Engine) => void;
  /** How a worker carries plans out without it. */
  readonly worker?: Looseness;
  /** Books that no longer balance without it, so that only bytes can tell. */
  readonly unbalanced?: boolean;
}

export const GUARDS: readonly Guard[] = [
  {
    name: 'fence',
    purpose: 'pending stores are flushed before anything that they still have to read is written',
    fence: 'off',
  },
  {
    name: 'zero-list',
    purpose: 'pages that are zeroed for a parked request count as written: the rule of the incident',
    fence: 'scheduled-and-loads',
  },
  {
    name: 'check-before-build',
    purpose: 'the fence is asked before the stores of this step exist, whose bytes are not computed yet',
    remove: (engine) =>
      changeMeta(engine, (meta, output) => ({ ...meta, jobsToFlush: flushedLate(meta, output) })),
  },
  {
    name: 'finished-owners',
    purpose: 'what a finished request gave back stays fenced until its stores have read it',
    remove: (engine) =>
      changeMeta(engine, (meta) => keepFlushes(meta, (job) => isLive(engine, job) || isNew(meta, job))),
  },
  {
    name: 'running-owners',
    purpose: 'windows and states that a running request gave back are fenced from the start',
    remove: (engine) =>
      changeMeta(engine, (meta, output) =>
        keepFlushes(meta, (job) => !isLive(engine, job) || isOfPreempted(engine, output, job)),
      ),
  },
  {
    name: 'last-stores',
    purpose: 'stores built for a request that is over are flushed at once where its pages have a new owner',
    remove: (engine) => changeMeta(engine, (meta) => keepFlushes(meta, (job) => !isNew(meta, job))),
  },
  {
    name: 'preempted-owners',
    purpose: 'all stores of a preempted request are flushed in the step that takes its pages',
    remove: (engine) =>
      changeMeta(engine, (meta, output) => keepFlushes(meta, (job) => !isOfPreempted(engine, output, job))),
  },
  {
    name: 'skip-set',
    purpose: 'pages that a load of this step writes are not zeroed',
    remove: ({ cache }) => {
      cache.exemptFromZeroing = () => undefined;
    },
  },
  {
    name: 'load-order',
    purpose: 'loads come behind zeroing; here also without the skip set, which hides the order',
    remove: ({ cache }) => {
      cache.exemptFromZeroing = () => undefined;
    },
    worker: 'zero after loads',
    unbalanced: true,
  },
  {
    name: 'copies',
    purpose: 'a page that others read is copied before it is written',
    worker: 'no copies',
  },
  {
    name: 'pins',
    purpose: 'slots that a load reads are not evicted',
    remove: ({ connector: { manager } }) => {
      manager.prepareLoad = (keys) => keys.map((key) => manager.slotOf(key)!);
      manager.completeLoad = () => undefined;
    },
  },
  {
    name: 'publish-after-complete',
    purpose: 'a key can be found once its bytes are there, and no sooner',
    remove: ({ connector: { manager } }) => {
      const prepare = manager.prepareStore.bind(manager);
      manager.prepareStore = (keys) => {
        const prepared = prepare(keys);
        if (prepared) manager.completeStore(prepared.keys);
        return prepared;
      };
    },
    unbalanced: true,
  },
  {
    name: 'failed-stores',
    purpose: 'the key of a store that failed is never published',
    remove: (engine) => pretend(engine, 'store'),
  },
  {
    name: 'failed-loads',
    purpose: 'a request whose load failed computes what it lacks',
    remove: (engine) => pretend(engine, 'load'),
  },
  {
    name: 'acknowledgements-by-id',
    purpose: 'an acknowledgement ends the transfer that it names, not the oldest one',
    remove: ({ connector }) => {
      const update = connector.updateFromAcknowledgements.bind(connector);
      connector.updateFromAcknowledgements = (acknowledgements) => {
        const open = connector
          .snapshot()
          .jobs.map(({ id }) => id)
          .sort((a, b) => a - b);
        return update(acknowledgements.map((ack, i) => ({ ...ack, job: open[i] ?? ack.job })));
      };
    },
    unbalanced: true,
  },
  {
    name: 'withheld-pages',
    purpose: 'an aborted request keeps the pages that its load still writes',
    remove: ({ scheduler }) => {
      const abort = scheduler.abort.bind(scheduler);
      scheduler.abort = (id) => {
        const parked = scheduler.queues.parked.get(id);
        if (!parked) return abort(id);
        scheduler.finish(parked, 'aborted');
        return parked;
      };
    },
  },
  {
    name: 'steps-in-flight',
    purpose: 'a request that ends or gives way keeps its pages until no step in flight writes them',
    remove: ({ scheduler }) => {
      scheduler.leave = (request) => {
        scheduler.release(request);
      };
    },
    worker: 'loads overtake',
  },
  {
    name: 'windows-in-flight',
    purpose: 'windows and states move on when the steps that read them have come back',
    remove: ({ cache }) => {
      const allocate = cache.allocate.bind(cache);
      cache.allocate = (request, options) => allocate(request, { ...options, inFlightTokens: 0 });
    },
    worker: 'loads overtake',
  },
  {
    name: 'drained-reset',
    purpose: 'the host tier is not forgotten while transfers still fill its slots',
    remove: (engine) => {
      engine.resetPrefixCache = () => {
        engine.connector.manager.reset();
        return true;
      };
    },
    unbalanced: true,
  },
];

/** Throws `RangeError` for a name that no guard has. */
export function guardNamed(name: string): Guard {
  const guard = GUARDS.find((candidate) => candidate.name === name);
  if (!guard)
    throw new RangeError(
      `there is no guard ${name}; the guards are ${GUARDS.map((one) => one.name).join(', ')}`,
    );
  return guard;
}

type ChangeMeta = (meta: ConnectorMeta, output: SchedulerOutput) => ConnectorMeta;

function changeMeta({ connector }: Engine, change: ChangeMeta): void {
  const build = connector.buildConnectorMeta.bind(connector);
  connector.buildConnectorMeta = (output) => change(build(output), output);
}

function keepFlushes(meta: ConnectorMeta, keep: (job: JobId) => boolean): ConnectorMeta {
  return { ...meta, jobsToFlush: meta.jobsToFlush.filter(keep) };
}

function isNew({ stores }: ConnectorMeta, job: JobId): boolean {
  return stores.some(({ id }) => id === job);
}

/** Whether the request of a transfer is not over. */
function isLive({ connector, scheduler }: Engine, job: JobId): boolean {
  const owner = connector.snapshot().jobs.find(({ id }) => id === job)?.requestId;
  return [...scheduler.queues.all()].some(({ id }) => id === owner);
}

function isOfPreempted({ connector }: Engine, { preempted }: SchedulerOutput, job: JobId): boolean {
  const owner = connector.snapshot().jobs.find(({ id }) => id === job)?.requestId;
  return preempted.some(({ id }) => id === owner);
}

/** As if the stores of this step had been fenced when the zero list was looked at. */
function flushedLate({ stores, jobsToFlush }: ConnectorMeta, { newPageIdsToZero }: SchedulerOutput): JobId[] {
  const zeroed = new Set(newPageIdsToZero.flatMap(({ pages }) => pages));
  const own = stores.filter(({ pages }) => pages.some((page) => zeroed.has(page))).map(({ id }) => id);
  return [...new Set([...jobsToFlush, ...own])];
}

/** As if transfers of one kind had never failed. */
function pretend({ connector }: Engine, kind: 'store' | 'load'): void {
  const update = connector.updateFromAcknowledgements.bind(connector);
  connector.updateFromAcknowledgements = (acknowledgements) => {
    const kinds = new Map(connector.snapshot().jobs.map((job) => [job.id, job.kind]));
    return update(
      acknowledgements.map((ack) => (kinds.get(ack.job) === kind ? { job: ack.job, ok: true } : ack)),
    );
  };
}
