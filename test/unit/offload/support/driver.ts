/**
 * A scheduler of a few lines around the connector, with a worker whose stores run late, that checks what the
 * connector says against what it can work out itself, and every row that is read against the tokens it stands for.
 */
import { expect } from 'vitest';
import type { OffloadConnector } from '../../../../src/offload/connector.ts';
import type { OffloadEvent } from '../../../../src/offload/events.ts';
import type { ConnectorMeta, ScheduledRequest } from '../../../../src/schedule/connector-interface.ts';
import type { Request } from '../../../../src/schedule/request.ts';
import type { Acknowledgement } from '../../../../src/schedule/step-plan.ts';
import type { JobId, PageId, PrefixKey, RequestId } from '../../../../src/units.ts';
import {
  CHUNK,
  OUTPUT_TOKENS,
  pagesMax,
  rowOf,
  type Command,
  type DriverOptions,
  type Running,
} from './driver-types.ts';
import { LateWorker } from './late-worker.ts';
import { TOKENS_PER_PAGE, holdingsOf, makeConnector, makeRequest } from './requests.ts';
import { SmallPool } from './small-pool.ts';
import { pageKey, zeroed } from '../../../support/one-group.ts';

export class Driver {
  readonly connector: OffloadConnector;
  readonly pool: SmallPool;
  readonly worker = new LateWorker(TOKENS_PER_PAGE);
  readonly problems: string[] = [];
  readonly ended = { stores: 0, loads: 0 };
  readonly #workers: number;
  readonly #checksBytes: boolean;
  readonly #rowsOfKey = new Map<PrefixKey, readonly string[]>();
  readonly #begun = new Map<JobId, 'begun' | 'ended' | 'discarded'>();
  #waiting: Running[] = [];
  #parked = new Map<RequestId, { running: Running; tokens: number }>();
  #running: Running[] = [];
  #finishedSinceBuild = new Set<RequestId>();
  #cursors = new Map<RequestId, readonly number[]>();
  #resetJobs: JobId[] = [];
  #names = 0;
  #step = 0;
  #touched = new Set<PageId>();
  #zero: PageId[] = [];

  constructor(options: DriverOptions) {
    const { slots, policy = 'lru', fence = 'complete', workers = 1, recency = 'on-finish' } = options;
    this.pool = new SmallPool(options.pages);
    this.#workers = workers;
    this.#checksBytes = fence === 'complete';
    this.connector = makeConnector(
      { slots, policy, fence },
      { workers, recency, onEvent: (event) => this.#onEvent(event) },
    );
  }

  get idle(): boolean {
    const requests = this.#waiting.length + this.#running.length + this.#parked.size;
    return requests === 0 && !this.connector.hasPendingWork && !this.worker.busy;
  }

  step(command: Command): void {
    this.#acknowledge(command);
    if (command.reset) this.#reset();
    if (command.arrival !== null) this.#arrive(command.arrival);
    if (command.abort !== null) this.#abort(command.abort);
    const preempted = command.preempt === null ? [] : this.#preempt(command.preempt);
    const scheduled = [...this.#scheduleRunning(), ...this.#scheduleWaiting(preempted)];
    const meta = this.#build(scheduled, preempted);
    this.#execute(meta, scheduled, command.submit);
    this.#advance(scheduled);
    this.#checkCursors(command.reset);
    this.checkTier();
  }

  /** Every ready key's slot holds the rows of the tokens that the key stands for. */
  checkTier(): void {
    for (const { key, slot, references } of this.connector.manager.entries()) {
      if (references < 0) continue;
      const found = this.worker.slots.get(slot);
      if (String(found) !== String(this.#rowsOfKey.get(key)))
        this.#problem(`slot ${slot} holds ${String(found)}`);
    }
  }

  /** Steps without further disturbance until everything is over, then looks for what was left behind. */
  drain(): void {
    const calm = { arrival: null, preempt: null, abort: null, failEvery: 0, reset: false, from: 0 };
    for (let i = 0; i < 400 && !this.idle; i += 1) this.step({ ...calm, submit: 9, acknowledge: 9 });
    expect(this.idle, 'everything ends').toBe(true);
    expect(this.pool.freeCount, 'every page came home').toBe(this.pool.size);
    const { jobs, fence, cursors, drainingRequests, discardedJobs } = this.connector.snapshot();
    expect([jobs, discardedJobs, [...fence], [...cursors], drainingRequests]).toEqual([[], [], [], [], 0]);
    expect(this.connector.manager.counts).toMatchObject({ writing: 0, pinned: 0 });
    expect([...this.#begun.values()], 'every transfer ended once').not.toContain('begun');
    const {
      storesPrepared,
      storesCompleted,
      storesFailed,
      loadsPrepared,
      loadsCompleted,
      loadsFailed,
      jobsDiscarded,
    } = this.connector.metrics;
    expect(storesPrepared + loadsPrepared).toBe(
      storesCompleted + storesFailed + loadsCompleted + loadsFailed + jobsDiscarded,
    );
  }

  #problem(what: string): void {
    this.problems.push(`step ${this.#step}: ${what}`);
    if (this.#checksBytes) throw new Error(this.problems.at(-1));
  }

  #onEvent(event: OffloadEvent): void {
    if (event.type === 'store-prepared' || event.type === 'load-prepared') {
      this.#begun.set(event.job, 'begun');
    } else if (event.type === 'store-ended' || event.type === 'load-ended') {
      expect(this.#begun.get(event.job), `job ${event.job} ends once`).toBe('begun');
      this.#begun.set(event.job, 'ended');
      this.ended[event.type === 'store-ended' ? 'stores' : 'loads'] += 1;
    }
  }

  #acknowledge({ acknowledge, from, failEvery }: Command): void {
    const due = this.worker.acknowledgeable;
    const start = due.length === 0 ? 0 : from % due.length;
    const acks: Acknowledgement[] = [];
    for (const job of due.slice(start, start + acknowledge)) {
      const ok = failEvery === 0 || job % failEvery !== 0;
      const ack = this.worker.acknowledge(job, ok);
      for (let worker = 0; worker < this.#workers; worker += 1) acks.push(ack);
      // One acknowledgement too many must not matter.
      if (job % 3 === 0) acks.push(ack);
    }
    const { loaded, failed } = this.connector.updateFromAcknowledgements(acks);
    this.connector.checkIntegrity();
    for (const id of loaded) this.#unpark(id, true);
    for (const id of failed) this.#unpark(id, false);
  }

  #unpark(id: RequestId, ok: boolean): void {
    const parked = this.#parked.get(id);
    if (parked === undefined) throw new Error(`the load of ${id} ended, which is not parked`);
    const { running, tokens } = parked;
    this.#parked.delete(id);
    if (ok) {
      running.request.computedTokens = tokens;
      running.request.status = 'running';
      this.#running.push(running);
      return;
    }
    this.#release(running);
    running.request.status = 'waiting';
    this.#waiting.unshift(running);
  }

  #reset(): void {
    this.#resetJobs = this.connector.snapshot().jobs.map((job) => job.id);
    for (const id of this.#resetJobs) this.#begun.set(id, 'discarded');
    this.connector.reset();
    this.connector.checkIntegrity();
    this.#finishedSinceBuild.clear();
  }

  #arrive(tokens: readonly number[]): void {
    const request = makeRequest(`r${this.#names++}`, tokens);
    this.#waiting.push({ request, pages: [], scratch: [], isNew: true, resumed: false });
  }

  #abort(pick: number): void {
    const running = this.#running[pick % (this.#running.length || 1)] as Running | undefined;
    if (running === undefined) return;
    this.#running = this.#running.filter((other) => other !== running);
    running.request.finishReason = 'aborted';
    this.#finish(running);
  }

  #preempt(pick: number): Request[] {
    const running = this.#running[pick % (this.#running.length || 1)] as Running | undefined;
    if (running === undefined) return [];
    this.#running = this.#running.filter((other) => other !== running);
    this.#release(running);
    running.request.status = 'preempted';
    running.request.computedTokens = 0;
    running.resumed = true;
    this.#waiting.unshift(running);
    return [running.request];
  }

  #release(running: Running): void {
    this.pool.free([...running.pages, ...running.scratch]);
    running.pages = [];
    running.scratch = [];
    running.isNew = true;
  }

  #finish(running: Running): void {
    running.request.status = 'finished';
    running.request.finishReason ??= 'length';
    this.connector.requestFinished(running.request, holdingsOf(running.pages));
    this.connector.checkIntegrity();
    this.#finishedSinceBuild.add(running.request.id);
    this.#release(running);
  }

  #scheduleRunning(): ScheduledRequest[] {
    const scheduled: ScheduledRequest[] = [];
    for (const running of this.#running) {
      const { request } = running;
      const tokens = Math.min(CHUNK, request.sequence.length - request.computedTokens);
      const needed = Math.ceil((request.computedTokens + tokens) / TOKENS_PER_PAGE) - running.pages.length;
      const added = this.pool.allocate(Math.max(0, needed))!;
      running.pages.push(...added);
      this.#zero.push(...added);
      scheduled.push(this.#scheduledRequest(running, added, tokens));
    }
    return scheduled;
  }

  #scheduledRequest(running: Running, added: readonly PageId[], tokens: number): ScheduledRequest {
    const { request, isNew, resumed } = running;
    const newPages = isNew ? [...running.pages] : added;
    for (const page of newPages) this.#touched.add(page);
    const computedBefore = request.computedTokens;
    request.computedTokens += tokens;
    running.isNew = running.resumed = false;
    const holdings = holdingsOf([...running.pages]);
    return { request, holdings, newPages, resumed, computedBefore, scheduledTokens: tokens };
  }

  #scheduleWaiting(preempted: readonly Request[]): ScheduledRequest[] {
    const scheduled: ScheduledRequest[] = [];
    for (const running of [...this.#waiting]) {
      const { request } = running;
      if (preempted.includes(request)) continue;
      const local = this.#localHit(request);
      const localTokens = local.length * TOKENS_PER_PAGE;
      const external = this.connector.matchedTokens(request, localTokens);
      if (external === 'ask again') continue;
      const tokens = external > 0 ? 0 : Math.min(CHUNK, request.sequence.length - localTokens);
      const needed = Math.ceil((localTokens + external + tokens) / TOKENS_PER_PAGE) - local.length;
      // What it may still need counts too, and what others may: nobody ever waits for pages that never come.
      const revived = local.filter((page) => this.pool.isFree(page)).length;
      if (this.pool.freeCount - revived - this.#promised() < pagesMax(request) - local.length) break;
      this.pool.touch(local);
      const added = this.pool.allocate(needed)!;
      running.scratch = this.pool.allocate(1)!;
      running.pages = [...local, ...added];
      this.#zero.push(...running.scratch, ...(external > 0 ? [] : added));
      this.connector.updateStateAfterAllocation(request, {
        tables: [running.pages],
        localTokens,
        externalTokens: external,
      });
      this.connector.checkIntegrity();
      request.computedTokens = localTokens;
      this.#waiting = this.#waiting.filter((other) => other !== running);
      if (external > 0) {
        request.status = 'parked';
        for (const page of running.pages) this.#touched.add(page);
        this.#parked.set(request.id, { running, tokens: localTokens + external });
      } else {
        request.status = 'running';
        this.#running.push(running);
        scheduled.push(this.#scheduledRequest(running, added, tokens));
      }
    }
    return scheduled;
  }

  /** Pages that admitted requests do not have yet. */
  #promised(): number {
    const admitted = [...this.#running, ...[...this.#parked.values()].map(({ running }) => running)];
    return admitted.reduce(
      (sum, { request, pages, scratch }) => sum + pagesMax(request) - pages.length - scratch.length,
      0,
    );
  }

  #localHit(request: Request): PageId[] {
    const pages: PageId[] = [];
    const end = Math.floor((request.sequence.length - 1) / TOKENS_PER_PAGE);
    for (let i = 0; i < end; i += 1) {
      const page = this.pool.lookup(pageKey(request.sequence, i));
      if (page === undefined) break;
      pages.push(page);
    }
    return pages;
  }

  #build(scheduled: readonly ScheduledRequest[], preempted: readonly Request[]): ConnectorMeta {
    for (const page of this.#zero) this.#touched.add(page);
    const before = this.connector.snapshot();
    const expected = new Set(this.#resetJobs);
    for (const page of this.#touched) for (const id of before.fence.get(page) ?? []) expected.add(id);
    const gone = new Set(preempted.map((request) => request.id));
    for (const job of before.jobs) if (gone.has(job.requestId)) expected.add(job.id);

    const meta = this.connector.buildConnectorMeta({
      step: this.#step++,
      scheduled,
      preempted,
      newPageIdsToZero: zeroed([...this.#zero]),
      copies: { copies: [] },
      tails: [],
    });
    this.connector.checkIntegrity();
    const owners = new Map(this.connector.snapshot().jobs.map((job) => [job.id, job.requestId]));
    for (const job of meta.stores) {
      const isLast = this.#finishedSinceBuild.has(owners.get(job.id)!);
      if (isLast && job.pages.some((page) => this.#touched.has(page))) expected.add(job.id);
    }
    if (this.#checksBytes) expect(new Set(meta.jobsToFlush), 'jobs to flush').toEqual(expected);
    this.#resetJobs = [];
    this.#finishedSinceBuild.clear();
    return meta;
  }

  #execute(meta: ConnectorMeta, scheduled: readonly ScheduledRequest[], submit: number): void {
    const writes = scheduled.flatMap(({ request, holdings, computedBefore, scheduledTokens }) =>
      Array.from({ length: scheduledTokens }, (_, i) => {
        const token = computedBefore + i;
        const page = holdings.tables[0][Math.floor(token / TOKENS_PER_PAGE)];
        return { page, row: token % TOKENS_PER_PAGE, value: rowOf(request, token) };
      }),
    );
    const onForward = (): void => {
      for (const { request, holdings, computedBefore } of scheduled)
        this.#checkRead(request, holdings.tables[0], computedBefore);
    };
    this.worker.execute({ meta, zero: this.#zero, writes, onForward, submit });
    this.#zero = [];
    this.#touched.clear();
  }

  #checkRead(request: Request, pages: readonly PageId[], tokens: number): void {
    for (let token = 0; token < tokens; token += 1) {
      const page = pages[Math.floor(token / TOKENS_PER_PAGE)];
      const found = this.worker.page(page)[token % TOKENS_PER_PAGE];
      if (found !== rowOf(request, token)) this.#problem(`${request.id} reads ${found} in page ${page}`);
    }
  }

  #advance(scheduled: readonly ScheduledRequest[]): void {
    for (const { request, holdings } of scheduled) {
      const [pages] = holdings.tables;
      const { sequence } = request;
      const full = Math.floor(request.computedTokens / TOKENS_PER_PAGE);
      for (let i = 0; i < full; i += 1) {
        this.pool.publish(pageKey(sequence, i), pages[i]);
        const rows = Array.from({ length: TOKENS_PER_PAGE }, (_, j) =>
          rowOf(request, i * TOKENS_PER_PAGE + j),
        );
        this.#rowsOfKey.set(pageKey(sequence, i), rows);
      }
      if (request.computedTokens < sequence.length) continue;
      sequence.append(1000 + sequence.length);
      if (sequence.length < request.promptTokens + OUTPUT_TOKENS) continue;
      const running = this.#running.find((other) => other.request === request)!;
      this.#running = this.#running.filter((other) => other !== running);
      this.#finish(running);
    }
  }

  #checkCursors(wasReset: boolean): void {
    const { cursors } = this.connector.snapshot();
    for (const [id, cursor] of cursors) {
      const before = this.#cursors.get(id) ?? [0];
      if (!wasReset && cursor[0] < before[0])
        throw new Error(`the cursor of ${id} went from ${before[0]} to ${cursor[0]}`);
    }
    this.#cursors = new Map(cursors);
  }
}
