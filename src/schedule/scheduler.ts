/**
 * Which request runs in a step, and on which pages. First come, first served, running requests before waiting ones,
 * long prompts in chunks of what the token budget leaves. Synchronous: it decides, the worker does.
 *
 * Why it cannot wedge: running requests never wait for parked ones; a request is admitted, with or without a load,
 * only when its whole prompt fits beside what earlier admissions still need; requests whose load has ended go before
 * new ones; and when nothing runs, the youngest of them gives its pages back.
 */
import type { CacheManager, PrefixHit } from '../cache/cache-manager.ts';
import type { ScheduleConfig } from '../config.ts';
import { ConfigError, invariant } from '../errors.ts';
import type { PageId, RequestId } from '../units.ts';
import type { Connector, FinishedLoads, ScheduledRequest, SchedulerOutput } from './connector-interface.ts';
import { RequestQueues } from './queues.ts';
import type { FinishReason, Request } from './request.ts';

export interface SchedulerOptions {
  readonly config: ScheduleConfig;
  readonly cache: CacheManager;
  readonly connector: Connector | null;
}

/** What a parked request has to go back to when its load fails. */
interface Load {
  readonly localTokens: number;
  aborted: boolean;
}

export class Scheduler {
  readonly queues = new RequestQueues();
  private readonly config: ScheduleConfig;
  private readonly cache: CacheManager;
  private readonly connector: Connector | null;
  private readonly loads = new Map<RequestId, Load>();
  /** Pages of each running request that the connector has been told of. */
  private readonly announcedPages = new Map<RequestId, number>();

  constructor(options: SchedulerOptions) {
    this.config = options.config;
    this.cache = options.cache;
    this.connector = options.connector;
  }

  /**
   * Queues a request. Throws `ConfigError` when the pool could not hold it even alone; nothing has changed then.
   * The last token that it samples is never written, so it needs no slot.
   */
  add(request: Request): void {
    const slots = request.promptTokens + Math.max(request.maxOutputTokens - 1, 0);
    const needed = this.cache.pagesNeeded(slots);
    if (needed > this.cache.pageCountMax) {
      throw new ConfigError(
        `request ${request.id} can never fit: ${request.promptTokens} prompt and ${request.maxOutputTokens} output tokens ` +
          `need ${needed} pages, the pool has ${this.cache.pageCountMax} usable ones; enlarge the pool or shorten the request`,
      );
    }
    this.queues.waiting.push(request);
  }

  /** One schedule pass. Publishes the keys of the pages that it schedules; the caller must then run the step. */
  schedule(step: number): SchedulerOutput {
    const pass = new Pass(this.config.maxTokensPerStep);
    this.cache.beginStep();
    this.scheduleRunning(pass);
    if (pass.preempted.length === 0) {
      const room = this.startLoaded(pass);
      if (room) this.admitWaiting(pass);
    }
    for (const { request, scheduledTokens } of pass.scheduled) request.computedTokens += scheduledTokens;
    return {
      step,
      scheduled: pass.scheduled,
      preempted: pass.preempted,
      newPageIdsToZero: this.cache.takeNewPageIdsToZero().flatMap(({ pages }) => pages),
    };
  }

  /** Requests whose load ended: they become runnable, or, if it failed, fall back to what the device had. */
  finishLoads({ loaded, failed }: FinishedLoads): Request[] {
    const aborted: Request[] = [];
    for (const [ids, ok] of [
      [loaded, true],
      [failed, false],
    ] as const) {
      for (const id of ids) {
        const request = this.queues.parked.get(id);
        const load = this.loads.get(id);
        invariant(
          request !== undefined && load !== undefined,
          `load of request ${id} ended, but it is not parked`,
        );
        this.queues.parked.delete(id);
        this.loads.delete(id);
        // What a failed load was to bring is not there: the last stores of an aborted request must not read it either.
        if (!ok) request.computedTokens = load.localTokens;
        if (load.aborted) {
          this.finish(request, 'aborted');
          aborted.push(request);
          continue;
        }
        if (ok) {
          this.cache.publish(request, request.computedTokens);
        } else {
          const firstBad = this.cache.pagesNeeded(load.localTokens);
          this.cache.relistForZeroing([this.cache.pageTable(id).slice(firstBad)]);
        }
        request.status = 'loaded';
        this.queues.loaded.push(request);
      }
    }
    return aborted;
  }

  /** Ends a request: its pages go back at once, tails first; stores that still read them are the connector's. */
  finish(request: Request, reason: FinishReason): void {
    this.queues.remove(request);
    request.status = 'finished';
    request.finishReason = reason;
    this.connector?.requestFinished(request, [...this.cache.pageTable(request.id)]);
    this.cache.free(request);
    this.announcedPages.delete(request.id);
  }

  /** Aborts a request. A parked one keeps its pages until its load reports, so that nobody is written over. */
  abort(id: RequestId): Request | null {
    for (const request of this.queues.all()) {
      if (request.id !== id) continue;
      const load = this.loads.get(id);
      if (load) {
        load.aborted = true;
        return null;
      }
      this.finish(request, 'aborted');
      return request;
    }
    return null;
  }

  private scheduleRunning(pass: Pass): void {
    // Preemption shortens the list from its end, so it is walked by index.
    for (let i = 0; i < this.queues.running.length && pass.budget > 0; i += 1) {
      const request = this.queues.running[i];
      const newTokens = Math.min(request.sequence.length - request.computedTokens, pass.budget);
      if (newTokens <= 0) continue;
      while (!this.extend(request, newTokens, pass)) {
        const victim = this.queues.running.pop()!;
        this.preempt(victim, pass);
        if (victim === request) return;
      }
    }
  }

  /** Starts requests whose load has ended. False when one of them has to wait for pages. */
  private startLoaded(pass: Pass): boolean {
    const { loaded, running } = this.queues;
    for (let i = 0; i < loaded.length;) {
      if (pass.budget === 0 || running.length >= this.config.maxRunning) return false;
      const request = loaded[i];
      const newTokens = Math.min(request.sequence.length - request.computedTokens, pass.budget);
      if (this.extend(request, newTokens, pass)) {
        loaded.splice(i, 1);
        this.run(request);
      } else {
        i += 1;
      }
    }
    while (loaded.length > 0 && running.length === 0 && this.queues.parked.size === 0) {
      // Nothing that runs or loads will ever give pages back: the youngest one does.
      this.preempt(loaded.pop()!, pass);
    }
    return loaded.length === 0 && pass.preempted.length === 0;
  }

  private admitWaiting(pass: Pass): void {
    const { waiting, running } = this.queues;
    for (let i = 0; i < waiting.length;) {
      if (pass.budget === 0 || running.length >= this.config.maxRunning) return;
      const request = waiting[i];
      const hit = this.cache.lookup(request);
      const externalTokens = this.connector?.matchedTokens(request, hit.tokens) ?? 0;
      if (externalTokens === 'ask again') {
        i += 1;
        continue;
      }
      const admitted =
        externalTokens > 0 ? this.park(request, hit, externalTokens) : this.start(request, hit, pass);
      if (!admitted) return;
      waiting.splice(i, 1);
    }
  }

  /** Admits a request whose next tokens come from the host tier. */
  private park(request: Request, hit: PrefixHit, externalTokens: number): boolean {
    const cachedTokens = hit.tokens + externalTokens;
    const added = this.cache.allocate(request, {
      hit,
      externalTokens,
      computedTokens: 0,
      newTokens: 0,
      publish: false,
      reservedPages: this.reservedPages() + this.pagesBeyond(request, cachedTokens),
    });
    if (!added) return false;
    // The load writes every byte of these pages; should it fail, they are listed again.
    this.cache.exemptFromZeroing(added);
    const pages = [...this.cache.pageTable(request.id)];
    this.connector!.updateStateAfterAllocation(request, { pages, localTokens: hit.tokens, externalTokens });
    this.countHits(request, hit.tokens, externalTokens);
    request.status = 'parked';
    request.computedTokens = cachedTokens;
    this.loads.set(request.id, { localTokens: hit.tokens, aborted: false });
    this.queues.parked.set(request.id, request);
    return true;
  }

  private start(request: Request, hit: PrefixHit, pass: Pass): boolean {
    const newTokens = Math.min(request.sequence.length - hit.tokens, pass.budget);
    const added = this.cache.allocate(request, {
      hit,
      computedTokens: 0,
      newTokens,
      reservedPages: this.reservedPages() + this.pagesBeyond(request, hit.tokens + newTokens),
    });
    if (!added) return false;
    request.computedTokens = hit.tokens;
    this.connector?.updateStateAfterAllocation(request, {
      pages: this.cache.pageTable(request.id),
      localTokens: hit.tokens,
      externalTokens: 0,
    });
    this.countHits(request, hit.tokens, 0);
    this.record(request, newTokens, pass);
    this.run(request);
    return true;
  }

  /** Gives a request that holds pages those for its next tokens. False when the pool is too short of them. */
  private extend(request: Request, newTokens: number, pass: Pass): boolean {
    const { computedTokens } = request;
    if (!this.cache.allocate(request, { computedTokens, newTokens })) return false;
    this.record(request, newTokens, pass);
    return true;
  }

  private record(request: Request, scheduledTokens: number, pass: Pass): void {
    const pages: readonly PageId[] = this.cache.pageTable(request.id);
    const known = this.announcedPages.get(request.id) ?? 0;
    this.announcedPages.set(request.id, pages.length);
    pass.budget -= scheduledTokens;
    pass.scheduled.push({
      request,
      pages,
      newPages: pages.slice(known),
      resumed: request.status === 'preempted',
      computedBefore: request.computedTokens,
      scheduledTokens,
    });
  }

  private run(request: Request): void {
    request.status = 'running';
    this.queues.running.push(request);
  }

  private preempt(request: Request, pass: Pass): void {
    this.cache.free(request);
    this.announcedPages.delete(request.id);
    request.status = 'preempted';
    request.computedTokens = 0;
    request.preemptions += 1;
    this.queues.waiting.unshift(request);
    pass.preempted.push(request);
  }

  /** Pages that admitted requests still need for their prompts. */
  private reservedPages(): number {
    let pages = 0;
    const { parked, loaded, running } = this.queues;
    for (const request of parked.values()) pages += this.pagesBeyond(request, request.computedTokens);
    for (const request of loaded) pages += this.pagesBeyond(request, request.computedTokens);
    for (const request of running) {
      pages += this.cache.pagesNeeded(request.sequence.length) - this.cache.pageTable(request.id).length;
    }
    return pages;
  }

  private pagesBeyond(request: Request, tokens: number): number {
    return this.cache.pagesNeeded(request.sequence.length) - this.cache.pagesNeeded(tokens);
  }

  /** Once a request: work done again after a preemption is no new hit. */
  private countHits(request: Request, device: number, host: number): void {
    request.hitTokens ??= { device, host };
  }

  /** Throws `InvariantError` unless every request is in exactly one place, in the state that belongs there. */
  checkIntegrity(): void {
    const seen = new Set<RequestId>();
    for (const request of this.queues.all()) {
      invariant(!seen.has(request.id), `request ${request.id} is in two queues`);
      seen.add(request.id);
    }
    for (const request of this.queues.running) {
      invariant(request.status === 'running', `request ${request.id} runs but is ${request.status}`);
    }
    for (const id of this.loads.keys())
      invariant(this.queues.parked.has(id), `request ${id} loads but is not parked`);
    invariant(this.loads.size === this.queues.parked.size, 'a parked request has no load');
    for (const request of this.queues.waiting) {
      invariant(this.cache.pageTable(request.id).length === 0, `waiting request ${request.id} holds pages`);
    }
  }
}

/** What one pass has decided so far. */
class Pass {
  budget: number;
  readonly scheduled: ScheduledRequest[] = [];
  readonly preempted: Request[] = [];

  constructor(budget: number) {
    this.budget = budget;
  }
}
