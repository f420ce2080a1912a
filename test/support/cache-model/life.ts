/** Runs one list of operations on a cache manager and on the model, and compares the two after each. */
import { expect } from 'vitest';
import {
  CacheManager,
  type CacheManagerOptions,
  type CacheRequest,
  type PageCopyBatch,
} from '../../../src/cache/cache-manager.ts';
import { PagePool } from '../../../src/cache/page-pool.ts';
import { groupOfKey } from '../../../src/cache/prefix-key.ts';
import { TokenSequence } from '../../../src/cache/token-sequence.ts';
import type { CacheConfig } from '../../../src/config.ts';
import { chunkEnd } from '../../../src/schedule/chunk-split.ts';
import { NULL_PAGE, pageId, requestId, type PrefixKey } from '../../../src/units.ts';
import { EventReplay } from '../../unit/cache/support/event-replay.ts';
import { CacheModel, type ModelRequest } from './cache-model.ts';
import type { ModelHit } from './hits.ts';
import { NO_MODEL_HIT } from './hits.ts';
import { isAligned, speculativePages } from './kinds.ts';
import { InterningHasher } from './interning-hasher.ts';
import { shownTable } from './tables.ts';
import { parse, type Operation, type World } from './world.ts';

/** Situations that a set of lives must have met to prove anything. */
export const REACHABLE = [
  'hit',
  'hit inside a unit',
  'hit shorter than one of its groups',
  'refused',
  'refused with a hit',
  'copy',
  'state moved to a copy',
  'fork',
  'fork refused',
  'evicted',
  'withdrawn',
  'shared when withdrawn',
  'several pages a key',
  'several keys a page',
  'resumed with a hit',
  'drafts rejected',
  'window let go',
  'load done',
  'load failed',
  'load with work',
  'reset',
  'reset refused',
] as const;

/** A request between its admission and its end. */
export interface Live {
  readonly request: CacheRequest;
  readonly model: ModelRequest;
  readonly tokens: number[];
  computed: number;
  /** Computed before the work of the current step. */
  before: number;
  /** What the last step with work for it computed. */
  lastWork: number;
  /** Whether the current step has work for it. */
  isScheduled: boolean;
  /** Tokens of that work that are drafted. */
  drafts: number;
  /** Whether any was ever drafted: then states may stand among the drafted ones. */
  hadDrafts: boolean;
  /** Tokens that its admission found. */
  found: number;
  /** Whether it was admitted in the current step. */
  isNew: boolean;
  /** Tokens that an outstanding load brings, from `before` on. */
  loading: number;
  /** Tokens that a load of this very step brings. */
  loadedNow: number;
}

export interface LifeParts {
  readonly makePool?: (...args: ConstructorParameters<typeof PagePool>) => PagePool;
  readonly makeManager?: (
    config: CacheConfig,
    options: CacheManagerOptions & { pool: PagePool },
  ) => CacheManager;
}

/** Told of what happens, for checks of its own. */
export interface Witness {
  /** After each operation. */
  afterOperation?(life: Life): void;
  /** The step runs: all of this is in order, and nothing has been computed yet. */
  runStep?(
    life: Life,
    step: { readonly zeroed: readonly (readonly number[])[]; readonly batch: PageCopyBatch },
  ): void;
  /** Tokens `from` to `to` of a request were loaded. */
  load?(life: Life, live: Live, from: number, to: number): void;
}

export class Life {
  readonly config: CacheConfig;
  readonly manager: CacheManager;
  readonly pool: PagePool;
  readonly model: CacheModel;
  readonly live: Live[] = [];
  /** Batches of copies whose step is not known to have run. */
  readonly batches: PageCopyBatch[] = [];
  readonly reached = new Set<(typeof REACHABLE)[number]>();
  readonly #world: World;
  readonly #witness: Witness;
  readonly #hasher = new InterningHasher();
  readonly #replay: EventReplay;
  /** Requests that were preempted. */
  readonly #waiting: Live[] = [];
  #admitted = 0;

  constructor(world: World, parts: LifeParts = {}, witness: Witness = {}) {
    this.#world = world;
    this.#witness = witness;
    this.config = parse(world.config);
    const { pages, prefixCaching: caching } = this.config;
    this.#replay = new EventReplay(pages);
    const onEvent: CacheManagerOptions['onEvent'] = (event) => {
      this.#replay.apply(event);
      if (event.type === 'removed' && event.reason !== 'replaced') this.reached.add(event.reason);
      if (event.type === 'moved') this.reached.add('state moved to a copy');
    };
    const makePool = parts.makePool ?? ((...args) => new PagePool(...args));
    const makeManager = parts.makeManager ?? ((...args) => new CacheManager(...args));
    this.pool = makePool(pages, { caching, onEvent });
    this.manager = makeManager(this.config, {
      pool: this.pool,
      onEvent,
      announceTails: world.announces ? 'held' : 'no',
    });
    this.model = new CacheModel(this.config, this.manager.layout, world.announces);
  }

  /** Gives the number of operations. */
  all(): number {
    for (const operation of this.#world.operations) {
      this.#apply(operation);
      this.#check();
    }
    this.#bringHome();
    return this.#world.operations.length;
  }

  #apply(operation: Operation): void {
    const { kind, who } = operation;
    if (kind === 'admit' || kind === 'admit with load') this.#admit(operation);
    else if (kind === 'step') this.#step();
    else if (kind === 'reset') this.#reset();
    else if (this.live.length > 0) this.#applyTo(this.live[who % this.live.length], operation);
  }

  #applyTo(live: Live, operation: Operation): void {
    switch (operation.kind) {
      case 'continue':
        this.#continue(live, operation);
        break;
      case 'finish':
        this.#end(live);
        break;
      case 'preempt':
        this.#end(live);
        this.#waiting.push(live);
        break;
      case 'fork':
        this.#fork(live);
        break;
      default:
        if (live.loading > 0) this.#endLoad(live, operation);
    }
  }

  #admit(operation: Operation): void {
    const { chunk, extra } = operation;
    const isResumed = this.#waiting.length > 0 && extra % 3 === 0;
    const live = isResumed ? this.#waiting[0] : this.#newRequest(operation);
    const { request, model, tokens } = live;
    const hit = this.manager.lookup(request);
    const modelHit = this.model.lookup(model);
    agree('the longest hit of all groups', hit, modelHit);
    this.#noteHit(modelHit, isResumed);

    const loadable =
      operation.kind === 'admit with load' ? this.#loadable(modelHit, tokens.length, chunk) : 0;
    const start = modelHit.tokens + loadable;
    // A load may be waited for in this very step, or leave the request parked until it is done.
    const work = this.#chunk(live, start, chunk, modelHit.sharedPrefixTokens);
    const isParked = loadable > 0 && (extra % 2 === 0 || work === 0);
    const newTokens = isParked ? 0 : work;
    if (newTokens === 0 && loadable === 0) return;
    const amounts = {
      computedTokens: 0,
      newTokens,
      externalTokens: loadable,
      lookaheadTokens: extra % 5 === 1 ? 2 : 0,
      reservedPages: extra % 4 === 3 ? 2 : 0,
      inFlightTokens: 0,
      publish: loadable === 0 || !isParked,
    };
    const added = this.manager.allocate(request, { hit, ...amounts });
    agree('pages added', added, this.model.allocate(model, { hit: modelHit, ...amounts }));
    if (added === null) this.reached.add(modelHit.tokens > 0 ? 'refused with a hit' : 'refused');
    if (added === null) return;
    if (isResumed) this.#waiting.shift();
    if (loadable > 0 && !isParked) this.reached.add('load with work');
    live.found = modelHit.tokens;
    live.isNew = true;
    live.before = modelHit.tokens;
    live.computed = start + newTokens;
    live.isScheduled = newTokens > 0;
    live.drafts = 0;
    live.hadDrafts = false;
    live.loading = isParked ? loadable : 0;
    live.loadedNow = isParked ? 0 : loadable;
    this.live.push(live);
    if (isParked) this.#exempt(added);
  }

  #noteHit({ tokens, sharedPrefixTokens }: ModelHit, isResumed: boolean): void {
    if (tokens > 0) this.reached.add(isResumed ? 'resumed with a hit' : 'hit');
    if (tokens % this.manager.layout.unitTokens !== 0) this.reached.add('hit inside a unit');
    if (tokens > 0 && sharedPrefixTokens > 0) this.reached.add('hit shorter than one of its groups');
  }

  /** Prompts of three families share beginnings; a last token of its own now and then makes one differ inside a page. */
  #newRequest({ who, length, extra }: Operation): Live {
    const family = who % 3;
    const tokens = Array.from({ length }, (_, i) => (i * 7 + family * (1 + (i % 2))) % 5);
    if (extra % 3 === 1) tokens[length - 1] = 100 + this.#admitted;
    return this.#makeLive(tokens, length);
  }

  #makeLive(tokens: number[], promptTokens: number): Live {
    const name = `r${this.#admitted++}`;
    const unitTokens = this.manager.layout.hashTokens;
    const sequence = new TokenSequence({ tokens, unitTokens, hasher: this.#hasher });
    return {
      request: { id: requestId(name), sequence, promptTokens },
      model: { name, tokens, promptTokens },
      tokens,
      computed: 0,
      before: 0,
      lastWork: 0,
      isScheduled: false,
      drafts: 0,
      hadDrafts: false,
      found: 0,
      isNew: false,
      loading: 0,
      loadedNow: 0,
    };
  }

  /** Tokens that a load may bring behind a hit: whole units, and never the last token. */
  #loadable(hit: ModelHit, length: number, chunk: number): number {
    const { unitTokens } = this.manager.layout;
    if (hit.tokens % unitTokens !== 0) return 0;
    const units = Math.floor((length - 1 - hit.tokens) / unitTokens);
    return Math.min(units, 1 + (chunk % 3)) * unitTokens;
  }

  #continue(live: Live, { chunk, extra }: Operation): void {
    if (live.loading > 0) return;
    if (live.isScheduled) this.#step();
    if (live.computed === live.tokens.length) this.#append(live, extra % 5);
    const newTokens = this.#chunk(live, live.computed, chunk, 0);
    if (newTokens === 0) return;
    const isDecoding = live.computed + newTokens === live.tokens.length;
    const drafts = isDecoding && extra % 4 === 0 ? Math.min(1 + (chunk % 2), this.#draftsMax) : 0;
    const amounts = {
      computedTokens: live.computed,
      newTokens: newTokens + drafts,
      externalTokens: 0,
      lookaheadTokens: 0,
      reservedPages: extra === 7 ? 1 : 0,
      inFlightTokens: extra % 3 === 0 ? Math.min(live.lastWork, live.computed) : 0,
      publish: true,
    };
    const before = this.#nullPages(live);
    const added = this.manager.allocate(live.request, amounts);
    agree('pages added', added, this.model.allocate(live.model, { hit: NO_MODEL_HIT, ...amounts }));
    if (this.#nullPages(live) > before) this.reached.add('window let go');
    if (added === null) return;
    live.before = live.computed;
    live.computed += newTokens + drafts;
    live.drafts = drafts;
    live.isScheduled = true;
  }

  /** Every drafted token needs a page for its state. */
  get #draftsMax(): number {
    return Math.min(
      ...this.manager.layout.groups.map((group) => (isAligned(group) ? speculativePages(group) : 2)),
    );
  }

  #nullPages({ request: { id } }: Live): number {
    let count = 0;
    for (const group of this.manager.layout.groups) {
      if (group.kind === 'recurrent') continue;
      for (const page of this.manager.pageTable(id, group.id)) if (page === NULL_PAGE) count++;
    }
    return count;
  }

  #append(live: Live, token: number): void {
    live.tokens.push(token);
    live.request.sequence.append(token);
  }

  #chunk(live: Live, start: number, chunk: number, sharedPrefixTokens: number): number {
    const { length } = live.tokens;
    const end = Math.min(length, start + 1 + chunk);
    const { promptTokens } = live.model;
    const bounds = { start, end, length, promptTokens, sharedPrefixTokens, stepTokensMax: 13 };
    return chunkEnd(this.manager.layout, bounds) - start;
  }

  /** Work of the current step is withdrawn, and whoever built on it goes as well. */
  #end(live: Live): void {
    if (live.isScheduled) this.#withdraw(live, live.before);
    else this.#free(live);
  }

  #withdraw(live: Live, fromToken: number): void {
    const { id } = live.request;
    const sharers = this.manager.withdraw(live.request, fromToken);
    expect(new Set<string>(sharers), 'who built on it').toEqual(this.model.withdraw(id, fromToken));
    this.reached.add(sharers.length > 0 ? 'shared when withdrawn' : 'withdrawn');
    this.#free(live);
    for (const other of this.live.filter(({ request }) => sharers.includes(request.id))) {
      // Another one on the way may have taken it along.
      if (!this.live.includes(other)) continue;
      // It found what was to be computed in this step, and may load more behind that.
      if (!other.isNew)
        expect.fail(`${other.request.id} is from an earlier step and holds what was withdrawn`);
      this.#withdraw(other, other.found);
    }
  }

  #free(live: Live): void {
    const at = this.live.indexOf(live);
    if (at < 0) return;
    this.manager.free(live.request);
    this.model.free(live.request.id);
    this.live.splice(at, 1);
    live.computed = 0;
    live.isScheduled = false;
    live.loading = 0;
  }

  /** What is computed and known: between two steps, and not while a load is under way. */
  #fork(live: Live): void {
    if (live.isScheduled || live.loading > 0) return;
    const child = this.#makeLive([...live.tokens], live.model.promptTokens);
    const isForked = this.manager.fork(live.request, child.request, live.computed);
    expect(isForked).toBe(this.model.fork(live.request.id, child.model, live.computed));
    this.reached.add(isForked ? 'fork' : 'fork refused');
    if (!isForked) return;
    child.computed = live.computed;
    child.before = live.computed;
    child.hadDrafts = live.hadDrafts;
    this.live.push(child);
  }

  #endLoad(live: Live, { kind, extra }: Operation): void {
    const { unitTokens, groups } = this.manager.layout;
    const end = live.before + live.loading;
    if (kind === 'load done') {
      this.reached.add('load done');
      this.#publishLoaded(live, end);
      return;
    }
    this.reached.add('load failed');
    const valid = Math.min(live.loading, (extra % 3) * unitTokens);
    const isWhole = groups.every((group) => group.kind === 'full-attention' || group.kind === 'compressed');
    if (!isWhole || live.before + valid === 0) {
      // Windows and states of a shorter prefix were never allocated.
      this.#free(live);
      this.#waiting.push(live);
      return;
    }
    this.#publishLoaded(live, live.before + valid);
    const rest = this.manager.layout.groups.map(({ id, tokensPerPage }) =>
      this.manager.pageTable(live.request.id, id).slice((live.before + valid) / tokensPerPage),
    );
    this.manager.relistForZeroing(rest);
    for (const [group, pages] of rest.entries()) for (const page of pages) this.model.lists.list(group, page);
  }

  #publishLoaded(live: Live, end: number): void {
    this.#witness.load?.(this, live, live.before, end);
    this.manager.publish(live.request, end);
    this.model.publish(live.request.id, end);
    live.loading = 0;
    live.before = end;
    live.computed = end;
  }

  /** What a load overwrites in full need not be zeroed. */
  #exempt(added: readonly (readonly number[])[]): void {
    const pages = added.map((list) => list.map(pageId));
    this.manager.exemptFromZeroing(pages);
    for (const [group, list] of pages.entries())
      for (const page of list) this.model.lists.unlist(group, page);
  }

  #step(): void {
    const zeroed = this.model.lists.takeZero();
    const given = this.manager.layout.groups.map((): number[] => []);
    for (const { group, pages } of this.manager.takeNewPageIdsToZero()) given[group] = [...pages];
    agree('pages to zero', given, zeroed);
    const batch = this.manager.takePageCopies();
    agree('copies', batch.copies, this.model.lists.takeCopies());
    if (batch.copies.length > 0) this.reached.add('copy');
    const tails = this.manager
      .takeAnnouncedTails()
      .map(({ group, page, tokens }) => ({ group, page, tokens }));
    agree('announced tails', tails, this.model.announced.splice(0));
    this.#witness.runStep?.(this, { zeroed, batch });
    this.batches.push(batch);
    if (this.batches.length > 1) this.#releaseBatch();
    this.manager.beginStep();
    this.model.beginStep();
    for (const live of this.live) {
      live.isNew = false;
      this.#endWork(live);
    }
  }

  #releaseBatch(): void {
    this.manager.releasePageCopies(this.batches.shift()!);
    this.model.lists.releaseCopies();
  }

  /** Some of the drafted tokens turn out right and become part of the request. */
  #endWork(live: Live): void {
    if (!live.isScheduled) return;
    const accepted = live.computed % (live.drafts + 1);
    if (accepted < live.drafts) this.reached.add('drafts rejected');
    for (let i = 0; i < accepted; i++) this.#append(live, i);
    live.computed -= live.drafts - accepted;
    live.lastWork = live.computed - live.before;
    live.before = live.computed;
    live.hadDrafts ||= live.drafts > 0;
    live.drafts = 0;
    live.loadedNow = 0;
    live.isScheduled = false;
  }

  #reset(): void {
    const isReset = this.manager.resetPrefixCache();
    expect(isReset).toBe(this.model.pool.reset());
    this.reached.add(isReset ? 'reset' : 'reset refused');
  }

  #bringHome(): void {
    this.#step();
    while (this.live.length > 0) {
      this.#free(this.live[0]);
      this.#check();
    }
    this.#step();
    while (this.batches.length > 0) this.#releaseBatch();
    this.#check();
    expect(this.manager.freePages, 'pages that came home').toBe(this.manager.pageCountMax);
    expect(this.manager.pendingPageIdsToZero()).toEqual([]);
    expect(this.manager.resetPrefixCache()).toBe(true);
    expect(this.#replay.keysOfPage.size).toBe(0);
  }

  /** What each side says about every page and request. */
  #check(): void {
    this.manager.checkIntegrity();
    const keys = Array.from({ length: this.pool.pages }, (_, page) => this.pool.keysOf(pageId(page)));
    agree('state', this.#stateOfManager(keys), this.#stateOfModel());
    this.#checkReplay(keys);
    this.#witness.afterOperation?.(this);
  }

  #stateOfManager(keys: readonly (readonly PrefixKey[])[]) {
    const { manager } = this;
    const { groups } = manager.layout;
    const zero = groups.map((): readonly number[] => []);
    for (const list of manager.pendingPageIdsToZero()) zero[list.group] = list.pages;
    return {
      freeOrder: manager.freeOrder(),
      references: keys.map((_, page) => (page === NULL_PAGE ? 0 : manager.refCount(pageId(page)))),
      keys: keys.map((list) => list.map((key) => `${groupOfKey(key)}: ${this.#hasher.textOf(key)}`)),
      keyedTokens: keys.map((_, page) => manager.keyedTokens(pageId(page)) ?? 0),
      zero,
      copies: manager.pendingPageCopies(),
      tables: this.live.map(({ request: { id } }) => groups.map((group) => manager.pageTable(id, group.id))),
    };
  }

  #stateOfModel() {
    const { pool, lists } = this.model;
    const entries = pool.references.map((_, page) => pool.keysOf(page));
    return {
      freeOrder: pool.free,
      references: pool.references,
      keys: entries.map((list) => list.map(({ group, text }) => `${group}: ${text}`)),
      keyedTokens: entries.map((list) => list[0]?.tokens ?? 0),
      zero: lists.zero,
      copies: lists.copies,
      tables: this.live.map(({ request: { id } }) => this.model.held.get(id)!.tables.map(shownTable)),
    };
  }

  /** The events alone say the same: which pages are free, which keys they have, and what stands in the tables. */
  #checkReplay(keys: readonly (readonly PrefixKey[])[]): void {
    const replay = this.#replay;
    agree(
      'free by the events',
      replay.freePages(),
      this.model.pool.free.toSorted((a, b) => a - b),
    );
    const replayed = keys.map((_, page) => replay.keysOfPage.get(page) ?? []);
    agree('keys by the events', replayed, keys);
    if (replay.hasDuplicates()) this.reached.add('several pages a key');
    if (keys.some((list) => list.length > 1)) this.reached.add('several keys a page');
    for (const { request } of this.live) {
      for (const { id } of this.manager.layout.groups) {
        const table = withoutTail(this.manager.pageTable(request.id, id));
        agree(
          `table of ${request.id} in group ${id} by the events`,
          withoutTail(replay.table(request.id, id)),
          table,
        );
      }
    }
  }
}

/** Most of the time one look at two texts is enough. */
function agree(what: string, real: unknown, wanted: unknown): void {
  if (JSON.stringify(real) !== JSON.stringify(wanted)) expect(real, what).toEqual(wanted);
}

/** Null pages at the end of a table leave no trace in events. */
function withoutTail(table: readonly number[]): readonly number[] {
  let length = table.length;
  while (length > 0 && table[length - 1] === NULL_PAGE) length--;
  return table.slice(0, length);
}
