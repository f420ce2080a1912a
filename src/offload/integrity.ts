/** The rules that hold between the connector's tables after every call. */
import { invariant } from '../errors.ts';
import type { JobId, PrefixKey, RequestId, SlotId } from '../units.ts';
import type { Fence } from './fence.ts';
import type { TransferJob } from './jobs.ts';
import type { OffloadManager } from './offload-manager.ts';
import type { RequestState } from './request-state.ts';

export interface ConnectorTables {
  readonly manager: OffloadManager;
  readonly fence: Fence;
  /** Transfers not yet acknowledged by every worker. */
  readonly jobs: Map<JobId, TransferJob>;
  /** Transfers that a reset cut off and that are not acknowledged yet. Their keys mean nothing any more. */
  readonly discarded: Map<JobId, TransferJob>;
  /** Requests that may still be scheduled. */
  readonly live: Map<RequestId, RequestState>;
  /** Finished requests whose last stores are not built or not acknowledged. */
  readonly draining: Set<RequestState>;
  /** Keys on their way to a page, and the load that brings them. */
  readonly loading: Map<PrefixKey, JobId>;
}

/** Throws `InvariantError` that names the job, page, slot or request at fault. */
export function checkTables(tables: ConnectorTables): void {
  const { manager, fence, jobs, live, draining, loading } = tables;
  manager.checkIntegrity();
  fence.checkIntegrity((job) => jobs.get(job)?.kind === 'store');
  for (const job of jobs.values()) checkJob(tables, job);
  checkSlots(tables);
  for (const state of [...live.values(), ...draining]) checkRequest(tables, state);
  for (const state of live.values())
    invariant(!state.finished, `request ${state.request.id} is live and finished`);
  for (const [key, job] of loading)
    invariant(jobs.get(job)?.kind === 'load', `${key} is loaded by job ${job}, which is no load`);
  if (jobs.size === 0) invariant(fence.size === 0, `idle, but the fence holds ${fence.size} pages`);
}

function checkJob({ fence, live, draining, loading }: ConnectorTables, job: TransferJob): void {
  const { id, kind, owner, pages } = job;
  invariant(job.workersLeft > 0, `job ${id}: ${job.workersLeft} workers left, yet it has not ended`);
  invariant(owner.jobs.has(id), `job ${id} is unknown to its request ${owner.request.id}`);
  const known = owner.finished ? draining.has(owner) : live.get(owner.request.id) === owner;
  invariant(known, `job ${id}: its request ${owner.request.id} is gone`);
  if (kind === 'load') {
    invariant(!owner.finished, `job ${id}: request ${owner.request.id} finished while it loads`);
    for (const key of job.keys)
      invariant(loading.get(key) === id, `job ${id} loads ${key}, which is listed for another`);
    return;
  }
  const immediate = new Set(job.immediatePages);
  for (const page of pages) {
    const isFenced = owner.finished || immediate.has(page);
    invariant(
      fence.has(page, id) === isFenced,
      `job ${id}: page ${page} is ${isFenced ? 'not ' : ''}fenced, its request ${owner.finished ? 'is over' : 'owns it'}`,
    );
  }
}

function checkSlots({ manager, jobs }: ConnectorTables): void {
  const written = new Set<SlotId>();
  const read = new Set<SlotId>();
  for (const job of jobs.values()) {
    for (const [i, slot] of job.chunkSlots.entries()) {
      invariant(job.kind === 'load' || !written.has(slot), `slot ${slot} is the target of two stores`);
      invariant(
        manager.slotOf(job.keys[i]) === slot,
        `job ${job.id}: slot ${slot} no longer belongs to ${job.keys[i]}`,
      );
      (job.kind === 'store' ? written : read).add(slot);
    }
  }
  for (const slot of read) invariant(!written.has(slot), `slot ${slot} is stored to and loaded from at once`);
  const { writing, pinned } = manager.counts;
  invariant(
    writing === written.size,
    `${writing} slots wait for bytes, ${written.size} have a store on its way`,
  );
  invariant(pinned === read.size, `${pinned} slots are pinned, ${read.size} have a load on its way`);
}

function checkRequest({ jobs }: ConnectorTables, state: RequestState): void {
  const { request, cursors } = state;
  const kinds = [...state.jobs].map((id) => jobs.get(id)?.kind);
  const loads = kinds.filter((kind) => kind === 'load').length;
  invariant(
    kinds.every((kind) => kind !== undefined),
    `request ${request.id} names a job that has ended`,
  );
  invariant(
    loads === 0 || kinds.length === 1,
    `request ${request.id}: a load is in flight with ${kinds.length - 1} other jobs`,
  );
  const { length } = request.sequence;
  invariant(
    cursors.every((cursor) => cursor >= 0 && cursor <= length),
    `request ${request.id}: cursors ${cursors.join(', ')} are not all within its ${length} tokens`,
  );
}
