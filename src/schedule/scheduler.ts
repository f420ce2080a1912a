/**
 * Which request runs in a step, and on which pages: running requests before waiting ones, long prompts in chunks of what
 * the token budget leaves, the first to come or the most urgent first. Synchronous: it decides, the worker does.
 *
 * With two steps in flight, a request that ends or gives way may still be written by a step that has not come back. It
 * gives its pages back when that one is processed, and nobody waits for them longer than that.
 *
 * Why it cannot wedge: running requests never wait for parked ones; a request is admitted, with or without a load,
 * only when its whole prompt fits beside what earlier admissions still need; requests whose load has ended go before
 * new ones; and when nothing runs, the youngest of them gives its pages back.
 */
import {
  NO_HIT,
  type CacheManager,
  type GroupTail,
  type InFlight,
  type PagesByGroup,
  type PrefixHit,
} from '../cache/cache-manager.ts';
import type { ScheduleConfig } from '../config.ts';
import { ConfigError, invariant } from '../errors.ts';
import { NULL_PAGE, type PageId, type RequestId } from '../units.ts';
import { chunkEnd } from './chunk-split.ts';
import type {
  Connector,
  FinishedLoads,
  Holdings,
  ScheduledRequest,
  SchedulerOutput,
} from './connector-interface.ts';
import { isBefore, RequestQueues } from './queues.ts';
import { seenTokens, type FinishReason, type Request } from './request.ts';

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
  /** Requests whose pages the connector has been told of since they were admitted. */
  private readonly announced = new Set<RequestId>();
  /** Ended or preempted, with pages that steps in flight still use. */
  private readonly leaving = new Map<RequestId, Request>();
  private readonly inFlightMax: InFlight;
  /** Whether nobody is admitted for now. */
  isClosed = false;

  constructor(options: SchedulerOptions) {
    this.config = options.config;
    const { maxTokensPerStep, stepsInFlight } = options.config;
    this.inFlightMax = { tokens: maxTokensPerStep * stepsInFlight, steps: stepsInFlight };
    this.cache = options.cache;
    this.connector = options.connector;
  }

  /**
   * Queues a request. Throws `ConfigError` when the pool could not hold it even alone; nothing has changed then.
   * The last token that it samples is never written, so it needs no slot.
   */
  add(request: Request): void {
    this.requireRoom(request);
    this.queues.enqueue(request, this.config.policy);
  }

  /**
   * Starts `child` on the pages that `parent` has for its first `sharedTokens` tokens. Where that cannot be, the child is
   * queued like any other request: the parent holds no pages now or no longer has what these tokens need, or there is
   * no room to run or to copy. Gives the tokens that are shared, 0 for a child that is queued.
   * Throws `ConfigError` as `add` does.
   */
  fork(parent: Request, child: Request, sharedTokens: number): number {
    this.requireRoom(child);
    if (!this.canShare(parent, sharedTokens) || !this.forkPages(parent, child, sharedTokens)) {
      this.queues.enqueue(child, this.config.policy);
      return 0;
    }
    child.computedTokens = sharedTokens;
    // What the parent did not write itself, the child's rings do not hold either.
    child.foundTokens = Math.min(parent.foundTokens, sharedTokens);
    child.sharedPrefixTokens = parent.sharedPrefixTokens;
    child.hitTokens = { device: Math.min(sharedTokens, child.begunTokens), host: 0 };
    this.run(child);
    return sharedTokens;
  }

  private canShare(parent: Request, tokens: number): boolean {
    const { status, computedTokens } = parent;
    const holdsRows = status === 'running' || status === 'loaded';
    if (!holdsRows || tokens < 1 || this.queues.running.length >= this.config.maxRunning) return false;
    return tokens <= computedTokens && this.cache.canFork(parent.id, tokens, computedTokens);
  }

  private forkPages(parent: Request, child: Request, tokens: number): boolean {
    // One that is leaving still holds pages under this name.
    if (this.leaving.has(child.id)) return false;
    return this.cache.fork(parent, child, tokens, this.reservedPages() + this.pagesBeyond(child, tokens));
  }

  private requireRoom(request: Request): void {
    const slots = request.begunTokens + Math.max(request.maxOutputTokens - 1, 0);
    const needed = this.cache.pagesNeededAtOnce(slots, this.inFlightMax);
    if (needed > this.cache.pageCountMax) {
      throw new ConfigError(
        `request ${request.id} can never fit: ${request.begunTokens} prompt and ${request.maxOutputTokens} output tokens ` +
          `need ${needed} pages, the pool has ${this.cache.pageCountMax} usable ones; enlarge the pool or shorten the request`,
      );
    }
  }

  /** One schedule pass. Publishes the keys of the pages that it schedules; the caller must then run the step. */
  schedule(step: number): SchedulerOutput {
    const pass = new Pass(this.config.maxTokensPerStep);
    this.cache.beginStep();
    this.scheduleRunning(pass);
    if (pass.preempted.length === 0 && !pass.isShort) {
      const room = this.startLoaded(pass);
      if (room && !this.isClosed) this.admitWaiting(pass);
    }
    for (const { request, scheduledTokens } of pass.scheduled) {
      request.computedTokens += scheduledTokens;
      request.inFlightTokens += scheduledTokens;
      request.stepsInFlight += 1;
      request.sampledFrom = request.id;
    }
    return {
      step,
      scheduled: pass.scheduled,
      preempted: pass.preempted,
      newPageIdsToZero: this.cache.takeNewPageIdsToZero(),
      copies: this.cache.takePageCopies(),
      tails: this.tailsOf(pass),
    };
  }

  /** Those of requests that gave way in mid-step are void. */
  private tailsOf({ scheduled }: Pass): GroupTail[] {
    const tails = this.cache.takeAnnouncedTails();
    if (tails.length === 0) return tails;
    const running = new Set(scheduled.map(({ request }) => request.id));
    return tails.filter(({ request }) => running.has(request));
  }

  /** A scheduled step has come back, or never will. Requests that waited for it with their pages give them back. */
  retire({ scheduled }: SchedulerOutput): void {
    for (const { request, scheduledTokens } of scheduled) {
      request.inFlightTokens -= scheduledTokens;
      request.stepsInFlight -= 1;
      if (request.stepsInFlight > 0 || this.leaving.get(request.id) !== request) continue;
      this.leaving.delete(request.id);
      // Its keys were withdrawn when it was aborted; now the rows are there.
      if (request.finishReason === 'aborted') this.publishSeen(request);
      this.release(request);
    }
  }

  /**
   * Requests whose load ended: they become runnable. If it failed, they give their pages back and are first in the
   * queue, to be admitted with what the device has. What was loaded of a window or a state cannot be told from what
   * was not, so nothing of it is kept.
   */
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
          request.status = 'loaded';
          this.queues.loaded.push(request);
        } else {
          this.release(request);
          request.status = 'waiting';
          this.queues.enqueueAgain(request, this.config.policy);
        }
      }
    }
    return aborted;
  }

  /** Every request that runs or is about to gives way. Those whose load is in flight stay until it ends. */
  preemptAll(): void {
    const { running, loaded } = this.queues;
    // From the last to start to the first, so that the first is the first in the queue as well.
    for (const request of [...running, ...loaded].reverse()) {
      this.queues.remove(request);
      request.status = 'preempted';
      request.preemptions += 1;
      this.leave(request);
      this.queues.enqueueAgain(request, this.config.policy);
    }
  }

  /**
   * Ends a request. Its pages go back at once, tails first, or with the last of its steps in flight; stores that still
   * read them are the connector's.
   */
  finish(request: Request, reason: FinishReason): void {
    this.queues.remove(request);
    request.status = 'finished';
    request.finishReason = reason;
    // Nobody builds on rows that were never seen to be there.
    if (reason === 'aborted' && request.stepsInFlight > 0) {
      this.cache.withdraw(request, request.computedTokens - request.inFlightTokens);
    }
    this.leave(request);
  }

  /** What came in of a request that runs may be found by others. */
  publishSeen(request: Request): void {
    if (this.cache.holds(request.id)) {
      this.cache.publish(request, Math.min(request.computedTokens, seenTokens(request)));
    }
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
    const { running } = this.queues;
    // Preemption shortens the list, so it is walked by index.
    for (let i = 0; i < running.length && pass.budget > 0; i += 1) {
      const request = running[i];
      // A step in flight samples its last token.
      if (request.sequence.length - request.begunTokens >= request.maxOutputTokens) continue;
      const newTokens = this.chunkOf(request, request.computedTokens, request.sharedPrefixTokens, pass);
      if (newTokens <= 0) continue;
      while (!this.extend(request, newTokens, pass)) {
        if (this.leaving.size > 0) {
          // Pages are about to come back: nobody gives way for want of them.
          pass.isShort = true;
          break;
        }
        const victim = this.victim();
        if (running.indexOf(victim) < i) i -= 1;
        running.splice(running.indexOf(victim), 1);
        this.preempt(victim, pass);
        if (victim === request) return;
      }
    }
  }

  /** The one that gives way: the last to start, or the least urgent. */
  private victim(): Request {
    const { running } = this.queues;
    if (this.config.policy === 'fcfs') return running[running.length - 1];
    return running.reduce((last, request) => (isBefore(last, request, 'priority') ? request : last));
  }

  /** Starts requests whose load has ended. False when one of them has to wait for pages. */
  private startLoaded(pass: Pass): boolean {
    const { loaded, running } = this.queues;
    for (let i = 0; i < loaded.length;) {
      if (pass.budget === 0 || running.length >= this.config.maxRunning) return false;
      const request = loaded[i];
      const newTokens = this.chunkOf(request, request.computedTokens, request.sharedPrefixTokens, pass);
      if (newTokens > 0 && this.extend(request, newTokens, pass)) {
        loaded.splice(i, 1);
        this.run(request);
      } else {
        i += 1;
      }
    }
    while (loaded.length > 0 && running.length + this.queues.parked.size + this.leaving.size === 0) {
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
      const found = this.leaving.has(request.id) ? 'ask again' : this.find(request);
      if (found === 'ask again') {
        i += 1;
        continue;
      }
      const { hit, externalTokens } = found;
      const admitted =
        externalTokens > 0 ? this.park(request, hit, externalTokens) : this.start(request, hit, pass);
      if (!admitted) return;
      waiting.splice(i, 1);
    }
  }

  /** What the device and the host tier have of a request. The tier goes by whole units, and gains only by more. */
  private find(request: Request): { hit: PrefixHit; externalTokens: number } | 'ask again' {
    if (request.ignoresCache) return { hit: NO_HIT, externalTokens: 0 };
    const hit = this.cache.lookup(request);
    if (!this.connector) return { hit, externalTokens: 0 };
    const { unitTokens } = this.cache.layout;
    // Shorter hits may end inside a unit as well, where states stand.
    let whole = hit;
    while (whole.tokens % unitTokens !== 0) {
      whole = this.cache.lookup(request, whole.tokens - (whole.tokens % unitTokens));
    }
    const externalTokens = this.connector.matchedTokens(request, whole.tokens);
    if (externalTokens === 'ask again') return 'ask again';
    if (whole.tokens + externalTokens > hit.tokens) return { hit: whole, externalTokens };
    return { hit, externalTokens: 0 };
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
      useWatermark: this.queues.running.length > 0,
    });
    if (!added) return false;
    const { tables } = this.holdingsOf(request);
    const allocation = { tables, localTokens: hit.tokens, externalTokens };
    const loaded = new Set(this.connector!.updateStateAfterAllocation(request, allocation));
    // The load writes every byte of these pages. A ring's page is none of them: nothing brings its bytes.
    this.cache.exemptFromZeroing(added.map((pages) => pages.filter((page) => loaded.has(page))));
    this.countHits(request, hit, externalTokens);
    request.status = 'parked';
    request.computedTokens = cachedTokens;
    this.loads.set(request.id, { localTokens: hit.tokens, aborted: false });
    this.queues.parked.set(request.id, request);
    return true;
  }

  private start(request: Request, found: PrefixHit, pass: Pass): boolean {
    if (this.startWith(request, found, pass)) return true;
    const { running, loaded, parked } = this.queues;
    const others = running.length + loaded.length + parked.size + this.leaving.size;
    const isAlone = others + pass.scheduled.length === 0;
    // A hit that ends inside a page takes one page more than none, which a pool may never have.
    return isAlone && found.tokens > 0 && this.startWith(request, NO_HIT, pass);
  }

  private startWith(request: Request, hit: PrefixHit, pass: Pass): boolean {
    const newTokens = this.chunkOf(request, hit.tokens, hit.sharedPrefixTokens, pass);
    if (newTokens <= 0) return false;
    const added = this.cache.allocate(request, {
      hit,
      computedTokens: 0,
      newTokens,
      seenTokens: seenTokens(request),
      reservedPages: this.reservedPages() + this.pagesBeyond(request, hit.tokens + newTokens),
      useWatermark: this.queues.running.length > 0,
    });
    if (!added) return false;
    request.computedTokens = hit.tokens;
    const { tables } = this.holdingsOf(request);
    this.connector?.updateStateAfterAllocation(request, {
      tables,
      localTokens: hit.tokens,
      externalTokens: 0,
    });
    this.countHits(request, hit, 0);
    this.record(request, newTokens, added, pass);
    this.run(request);
    return true;
  }

  /** Gives a request that holds pages those for its next tokens. False when the pool is too short of them. */
  private extend(request: Request, newTokens: number, pass: Pass): boolean {
    const { computedTokens, inFlightTokens } = request;
    const added = this.cache.allocate(request, {
      computedTokens,
      newTokens,
      inFlightTokens,
      seenTokens: seenTokens(request),
    });
    if (!added) return false;
    this.record(request, newTokens, added, pass);
    return true;
  }

  /** Tokens to compute next, as budget and recurrent states allow. */
  private chunkOf(request: Request, start: number, sharedPrefixTokens: number, pass: Pass): number {
    const { sequence, promptTokens } = request;
    const { longPrefillTokens, maxTokensPerStep } = this.config;
    const wanted = Math.min(sequence.length - start, longPrefillTokens ?? Infinity, pass.budget);
    if (wanted <= 0) return 0;
    const end = chunkEnd(this.cache.layout, {
      start,
      end: start + wanted,
      length: sequence.length,
      promptTokens,
      sharedPrefixTokens,
      stepTokensMax: Math.min(maxTokensPerStep, longPrefillTokens ?? Infinity),
    });
    if (end < sequence.length) return end - start;
    return end - start + Math.min(request.drafts.length, pass.budget - (end - start));
  }

  private record(request: Request, scheduledTokens: number, added: PagesByGroup, pass: Pass): void {
    const holdings = this.holdingsOf(request);
    const isFirst = !this.announced.has(request.id);
    this.announced.add(request.id);
    pass.budget -= scheduledTokens;
    pass.scheduled.push({
      request,
      holdings,
      newPages: isFirst ? pagesIn(holdings.tables) : added.flat(),
      resumed: request.status === 'preempted',
      computedBefore: request.computedTokens,
      scheduledTokens,
    });
  }

  private holdingsOf({ id }: Request): Holdings {
    const { layout } = this.cache;
    return {
      tables: layout.groups.map((group) => this.cache.pageTable(id, group.id)),
      states: this.cache.boundaryStates(id),
    };
  }

  private run(request: Request): void {
    request.status = 'running';
    this.queues.running.push(request);
  }

  private preempt(request: Request, pass: Pass): void {
    pass.cancel(request, this.cache);
    request.status = 'preempted';
    request.preemptions += 1;
    this.leave(request);
    this.queues.enqueueAgain(request, this.config.policy);
    pass.preempted.push(request);
  }

  /** Gives back all that a request holds, once no step in flight uses it. */
  leave(request: Request): void {
    request.drafts = [];
    if (request.stepsInFlight > 0) this.leaving.set(request.id, request);
    // One that never started, with the name of one that is leaving, holds nothing.
    else if (!this.leaving.has(request.id)) this.release(request);
  }

  /** Gives it back now: for `leave`, which knows when. */
  release(request: Request): void {
    // While a reset is under way, what its pages hold is from before: a last store would bring it back under valid keys.
    if (request.status !== 'finished' || this.isClosed) request.computedTokens = 0;
    if (request.status === 'finished') this.connector?.requestFinished(request, this.holdingsOf(request));
    this.cache.free(request);
    this.announced.delete(request.id);
  }

  /** Pages that admitted requests still need for their prompts. */
  private reservedPages(): number {
    let pages = 0;
    const { parked, loaded, running } = this.queues;
    for (const request of parked.values()) pages += this.pagesBeyond(request, request.computedTokens);
    for (const request of loaded) pages += this.pagesBeyond(request, request.computedTokens);
    for (const { id, sequence } of running) {
      pages += this.cache.pagesMissing(id, sequence.length, this.inFlightMax);
    }
    return pages;
  }

  private pagesBeyond(request: Request, tokens: number): number {
    return this.cache.pagesOfGrowth(tokens, request.sequence.length, this.inFlightMax);
  }

  /** Once a request: work done again after a preemption is no new hit. */
  private countHits(request: Request, hit: PrefixHit, host: number): void {
    request.hitTokens ??= { device: hit.tokens, host };
    request.foundTokens = hit.tokens + host;
    request.sharedPrefixTokens = hit.sharedPrefixTokens;
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
      const isLeaving = this.leaving.has(request.id);
      invariant(isLeaving || !this.cache.holds(request.id), `waiting request ${request.id} holds pages`);
    }
    for (const [id, { stepsInFlight, status }] of this.leaving) {
      invariant(stepsInFlight > 0, `request ${id} waits for a step in flight, and there is none`);
      invariant(status === 'finished' || status === 'preempted', `request ${id} is ${status} and leaving`);
    }
  }
}

/** What one pass has decided so far. */
class Pass {
  budget: number;
  readonly scheduled: ScheduledRequest[] = [];
  readonly preempted: Request[] = [];
  /** Whether a request has to wait for pages that others are about to give back. */
  isShort = false;

  constructor(budget: number) {
    this.budget = budget;
  }

  /**
   * Takes a request's part of the step back, if it has one. Its keys were published for what will not be computed.
   * Nobody else can have found them yet: requests are admitted only when nobody was preempted.
   */
  cancel(request: Request, cache: CacheManager): void {
    const at = this.scheduled.findIndex((scheduled) => scheduled.request === request);
    if (at < 0) return;
    const [{ scheduledTokens, computedBefore }] = this.scheduled.splice(at, 1);
    this.budget += scheduledTokens;
    const others = cache.withdraw(request, computedBefore);
    invariant(others.length === 0, `request ${others[0]} found pages that ${request.id} will not compute`);
  }
}

function pagesIn(tables: PagesByGroup): PageId[] {
  return tables.flat().filter((page) => page !== NULL_PAGE);
}
