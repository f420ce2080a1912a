/** Runs a list of random operations on a manager, on the model and on the event replay, and compares after each. */
import { expect } from 'vitest';
import { CacheManager, type CacheRequest } from '../../../../src/cache/cache-manager.ts';
import type { CacheEventHandler } from '../../../../src/cache/events.ts';
import type { PagePool } from '../../../../src/cache/page-pool.ts';
import { pageId } from '../../../../src/units.ts';
import { EventReplay } from './event-replay.ts';
import { config, listed, request } from './fixtures.ts';
import { CacheModel } from './model.ts';

export const OPERATIONS = [
  'admit',
  'admit with load',
  'continue',
  'finish',
  'cancel',
  'load done',
  'load failed',
  'exempt',
  'drain',
  'reset',
] as const;

/** Situations that a set of runs must have met to prove anything. */
export const REACHABLE = [
  'hit',
  'refused',
  'refused with hit',
  'evicted',
  'withdrawn',
  'shared when withdrawn',
  'several pages a key',
  'reset',
  'load done',
  'load failed',
] as const;

/** Four free numbers, which each operation reads in its own way, so that any list of operations can be run. */
export interface Operation {
  readonly kind: (typeof OPERATIONS)[number];
  readonly who: number;
  readonly length: number;
  readonly chunk: number;
  readonly extra: number;
}

export interface World {
  readonly pages: number;
  readonly tokensPerPage: number;
  readonly operations: readonly Operation[];
}

/** A request between its admission and its end. */
interface Live {
  readonly request: CacheRequest;
  readonly tokens: number[];
  computed: number;
  /** Computed before the work of the current step. */
  before: number;
  /** Tokens that an outstanding load brings, from `before` on. */
  loading: number;
}

export type PoolMaker = (pages: number, onEvent: CacheEventHandler) => PagePool;

export class Run {
  readonly reached = new Set<(typeof REACHABLE)[number]>();
  readonly #world: World;
  readonly #model: CacheModel;
  readonly #replay: EventReplay;
  readonly #manager: CacheManager;
  readonly #live: Live[] = [];
  #admitted = 0;

  constructor(world: World, makePool?: PoolMaker) {
    const { pages, tokensPerPage } = world;
    this.#world = world;
    this.#model = new CacheModel(pages, tokensPerPage);
    this.#replay = new EventReplay(pages);
    const onEvent: CacheEventHandler = (event) => {
      this.#replay.apply(event);
      if (event.type === 'removed' && event.reason !== 'replaced') this.reached.add(event.reason);
      if (event.type === 'stored' && this.#replay.hasDuplicates()) this.reached.add('several pages a key');
    };
    this.#manager = new CacheManager(config({ pages, tokensPerPage }), {
      onEvent,
      ...(makePool && { pool: makePool(pages, onEvent) }),
    });
  }

  all(): void {
    for (const operation of this.#world.operations) {
      this.#apply(operation);
      this.#compare();
    }
    this.#bringHome();
  }

  #apply(operation: Operation): void {
    const { kind, who, extra } = operation;
    if (kind === 'admit') this.#admit(operation, 0);
    else if (kind === 'admit with load') this.#admit(operation, 1 + (extra % 2));
    else if (kind === 'drain') this.#drain();
    else if (kind === 'reset') this.#reset();
    else if (this.#live.length > 0) this.#applyTo(this.#live[who % this.#live.length], operation);
  }

  #applyTo(live: Live, operation: Operation): void {
    switch (operation.kind) {
      case 'continue': {
        this.#continue(live, operation);
        return;
      }
      case 'finish': {
        this.#free(live);
        return;
      }
      case 'cancel': {
        this.#cancel(live);
        return;
      }
      case 'load done': {
        this.#endLoad(live, live.loading);
        return;
      }
      case 'load failed': {
        this.#endLoad(live, Math.min(live.loading, (operation.extra % 3) * this.#world.tokensPerPage));
        return;
      }
      default: {
        const pages = this.#model.tables.get(live.request.id)!.pages.slice(operation.extra);
        this.#manager.exemptFromZeroing([pages.map(pageId)]);
        for (const page of pages) this.#model.exempt(page);
      }
    }
  }

  /** Prompts of three families share beginnings; a tail of its own now and then makes one differ inside a page. */
  #admit({ who, length, chunk, extra }: Operation, loadPages: number): void {
    const { tokensPerPage } = this.#world;
    const name = `r${this.#admitted++}`;
    const tokens = Array.from({ length }, (_, i) => (i * 7 + (who % 3) * (1 + (i % 2))) % 5);
    if (extra % 3 === 0) tokens[length - 1] = 100 + this.#admitted;
    const added = request(name, tokens, tokensPerPage);
    const hit = this.#manager.lookup(added);
    const modelHit = this.#model.lookup(tokens);
    expect(hit.tokens).toBe(modelHit.length * tokensPerPage);
    expect(hit.pages[0] ?? []).toEqual(modelHit);

    const loadable = Math.floor((length - 1 - hit.tokens) / tokensPerPage);
    const external = Math.min(loadPages, loadable) * tokensPerPage;
    const known = hit.tokens + external;
    const newTokens = external > 0 ? 0 : Math.min(1 + chunk, length - known);
    const [lookahead, reserved] = [extra % 2, extra % 4 === 3 ? 1 : 0];
    const got = this.#manager.allocate(added, {
      hit,
      computedTokens: 0,
      externalTokens: external,
      newTokens,
      lookaheadTokens: lookahead,
      reservedPages: reserved,
      publish: external === 0,
    });
    expect(got?.[0] ?? null).toEqual(
      this.#model.allocate(name, tokens, modelHit, known + newTokens, lookahead, reserved),
    );
    if (modelHit.length > 0) this.reached.add('hit');
    if (got === null) this.reached.add(modelHit.length > 0 ? 'refused with hit' : 'refused');
    if (got === null) return;
    if (external === 0) this.#model.publish(name, known + newTokens);
    this.#live.push({
      request: added,
      tokens,
      computed: known + newTokens,
      before: hit.tokens,
      loading: external,
    });
  }

  #continue(live: Live, { chunk, extra }: Operation): void {
    if (live.loading > 0) return;
    if (live.computed === live.tokens.length) {
      live.tokens.push(extra);
      live.request.sequence.append(extra);
    }
    const { id } = live.request;
    const newTokens = Math.min(1 + chunk, live.tokens.length - live.computed);
    const end = live.computed + newTokens;
    const got = this.#manager.allocate(live.request, { computedTokens: live.computed, newTokens });
    expect(got?.[0] ?? null).toEqual(this.#model.allocate(id, live.tokens, [], end, 0, 0));
    if (got === null) return;
    this.#model.publish(id, end);
    live.before = live.computed;
    live.computed = end;
  }

  #free(live: Live): void {
    this.#manager.free(live.request);
    this.#model.release(live.request.id);
    this.#live.splice(this.#live.indexOf(live), 1);
  }

  /** Preempted or aborted in the step that scheduled it: what that step announced is void. */
  #cancel(live: Live): void {
    const sharers = this.#manager.withdraw(live.request, live.before);
    expect(sharers).toEqual(this.#model.withdraw(live.request.id, live.before));
    if (sharers.length > 0) this.reached.add('shared when withdrawn');
    this.#free(live);
  }

  #endLoad(live: Live, valid: number): void {
    if (live.loading === 0) return;
    this.reached.add(valid < live.loading ? 'load failed' : 'load done');
    const end = live.before + valid;
    this.#manager.publish(live.request, end);
    this.#model.publish(live.request.id, end);
    if (valid < live.loading) {
      const rest = this.#model.tables.get(live.request.id)!.pages.slice(end / this.#world.tokensPerPage);
      this.#manager.relistForZeroing([rest.map(pageId)]);
      for (const page of rest) this.#model.relist(page);
    }
    live.loading = 0;
    live.before = end;
    live.computed = end;
  }

  #reset(): void {
    const isReset = this.#manager.resetPrefixCache();
    expect(isReset).toBe(this.#model.reset());
    if (isReset) this.reached.add('reset');
  }

  #drain(): void {
    expect(listed(this.#manager.takeNewPageIdsToZero())).toEqual(this.#model.zero.splice(0));
  }

  /** What each side says about every page and request, in one text: comparing that is cheap. */
  #compare(): void {
    this.#manager.checkIntegrity();
    const fromManager = this.#stateOfManager();
    const fromModel = this.#stateOfModel();
    if (JSON.stringify(fromManager) !== JSON.stringify(fromModel)) expect(fromManager).toEqual(fromModel);
  }

  #stateOfManager() {
    const manager = this.#manager;
    const replay = this.#replay;
    const ids = this.#live.map(({ request: { id } }) => id);
    const all = Array.from({ length: this.#world.pages }, (_, page) => pageId(page));
    const keys = all.map((page) => manager.keyOf(page));
    return {
      freeOrder: manager.freeOrder(),
      freePages: manager.freePages,
      zero: listed(manager.pendingPageIdsToZero()),
      references: all.map((page) => manager.refCount(page)),
      keyed: keys.map((key) => key !== null),
      tables: ids.map((id) => manager.pageTable(id)),
      replayed: {
        free: replay.freePages(),
        tables: ids.map((id) => replay.table(id)),
        holders: replay.tables.size,
        areKeysEqual: keys.every((key, page) => key === (replay.keysOfPage.get(page)?.[0] ?? null)),
      },
    };
  }

  #stateOfModel() {
    const model = this.#model;
    const tables = this.#live.map(({ request: { id } }) => model.tables.get(id)!.pages.map(pageId));
    return {
      freeOrder: model.free.map(pageId),
      freePages: model.free.length,
      zero: model.zero.map(pageId),
      references: model.references,
      keyed: model.keys.map((key) => key !== null),
      tables,
      replayed: {
        free: [...model.free].sort((a, b) => a - b),
        tables,
        holders: tables.length,
        areKeysEqual: true,
      },
    };
  }

  #bringHome(): void {
    for (const live of [...this.#live]) {
      this.#free(live);
      this.#compare();
    }
    expect(this.#manager.freePages).toBe(this.#manager.pageCountMax);
    expect(this.#manager.takeNewPageIdsToZero()).toEqual([]);
    expect(this.#manager.resetPrefixCache()).toBe(true);
    expect(this.#replay.keysOfPage.size).toBe(0);
  }
}
