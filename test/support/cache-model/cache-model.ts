/**
 * The cache manager in arrays and loops: slow, and obvious. Keys are the text of the tokens that they stand for, every
 * lookup tries every length, every list is an array that is searched from its front.
 */
import type { CacheConfig } from '../../../src/config.ts';
import type { CacheLayout, GroupLayout } from '../../../src/config/layout.ts';
import { findHit, type ModelHit } from './hits.ts';
import { isAligned, isWorthKeeping, pagesBehind, speculativePages } from './kinds.ts';
import { PoolModel, type ModelKey } from './pool-model.ts';
import { StepLists } from './step-lists.ts';
import { emptyTable, padTo, shownTable, type ModelTable } from './tables.ts';

export interface ModelRequest {
  readonly name: string;
  /** The list itself, which grows as the request does. */
  readonly tokens: readonly number[];
  readonly promptTokens: number;
}

export interface ModelWork {
  /** First allocation only. */
  readonly hit: ModelHit;
  readonly externalTokens: number;
  readonly computedTokens: number;
  readonly newTokens: number;
  readonly lookaheadTokens: number;
  readonly inFlightTokens: number;
  readonly reservedPages: number;
  readonly publish: boolean;
}

interface Held {
  readonly request: ModelRequest;
  readonly sharedPrefixTokens: number;
  readonly tables: readonly ModelTable[];
}

/** Where parts of the sequence end. */
interface Ends {
  readonly local: number;
  readonly total: number;
  readonly main: number;
  readonly need: number;
}

export class CacheModel {
  readonly pool: PoolModel;
  readonly lists: StepLists;
  readonly held = new Map<string, Held>();
  /** States inside a page that others were told of since they last asked. */
  announced: { readonly group: number; readonly page: number; readonly tokens: number }[] = [];
  readonly #config: CacheConfig;
  readonly #layout: CacheLayout;
  readonly #announces: boolean;
  /** Pages that were offered for publishing in this step: what they are known for is not computed yet. */
  readonly #unwritten = new Set<number>();

  constructor(config: CacheConfig, layout: CacheLayout, announces: boolean) {
    this.#config = config;
    this.#layout = layout;
    this.#announces = announces;
    this.pool = new PoolModel(config.pages);
    this.lists = new StepLists(layout, this.pool);
  }

  beginStep(): void {
    this.#unwritten.clear();
  }

  lookup({ tokens }: ModelRequest): ModelHit {
    return findHit(this.#layout, this.pool, tokens);
  }

  /** Pages added by group; null if they do not fit. */
  allocate(request: ModelRequest, work: ModelWork): number[][] | null {
    const { hit, externalTokens, lookaheadTokens } = work;
    const local = work.computedTokens + hit.tokens;
    const total = local + externalTokens;
    const main = total + work.newTokens;
    const ends = { local, total, main, need: main + lookaheadTokens };
    const earlier = this.held.get(request.name);
    if (earlier) this.#trim(earlier, Math.max(0, total - work.inFlightTokens));
    if (this.#dependsOnThisStep(hit)) return null;
    let needed = 0;
    for (const group of this.#layout.groups) {
      needed += this.#pagesNeeded(group, earlier?.tables[group.id] ?? null, hit.pages[group.id] ?? [], ends);
    }
    if (needed > Math.max(0, this.pool.free.length - work.reservedPages)) return null;

    const held = earlier ?? this.#admit(request, hit, ends);
    const added = this.#layout.groups.map((): number[] => []);
    // Everything that was found is held before anything is taken, and loads come before work, over all groups.
    if (externalTokens > 0) {
      for (const group of this.#layout.groups) this.#growForLoad(group, held, ends, added[group.id]);
    }
    for (const group of this.#layout.groups) this.#growForWork(group, held, ends, added[group.id]);
    for (const group of this.#layout.groups) this.#keepState(group, held, ends, work.reservedPages);
    if (work.publish) this.publish(request.name, Math.min(main, request.tokens.length));
    return added;
  }

  publish(name: string, tokens: number): void {
    if (!this.#config.prefixCaching) return;
    const held = this.held.get(name)!;
    const finalTokens = Math.max(0, tokens - Math.max(0, this.#config.lookaheadTokens - 1));
    for (const group of this.#layout.groups) {
      if (!group.cacheable) continue;
      if (isAligned(group)) this.#publishStates(group, held, finalTokens);
      else this.#publishPages(group, held, finalTokens);
    }
  }

  /** Other requests that hold a page which lost its keys. */
  withdraw(name: string, fromToken: number): Set<string> {
    const holders = new Set<string>();
    for (const group of this.#layout.groups) {
      const table = this.held.get(name)?.tables[group.id];
      if (table === undefined || group.kind === 'ring') continue;
      for (const [position, tokens] of table.states) if (tokens > fromToken) table.states.delete(position);
      const stripped = table.pages.filter(
        (page) => page !== 0 && this.pool.keyedTokens(page) > fromToken && this.pool.strip(page),
      );
      table.published = Math.min(table.published, Math.floor(fromToken / group.tokensPerPage));
      for (const [other, { tables }] of this.held) {
        if (tables[group.id].pages.some((page) => stripped.includes(page))) holders.add(other);
      }
    }
    holders.delete(name);
    return holders;
  }

  free(name: string): void {
    for (const { id } of this.#layout.groups) {
      const table = this.held.get(name)?.tables[id];
      if (table === undefined) continue;
      this.pool.release(table.announced);
      const pages = shownTable(table).reverse();
      this.lists.cancelCopiesTo(pages.filter((page) => page !== 0));
      this.lists.release(id, pages);
    }
    this.held.delete(name);
  }

  fork(parent: string, child: ModelRequest, tokens: number): boolean {
    const { tables, sharedPrefixTokens } = this.held.get(parent)!;
    let copied = 0;
    for (const group of this.#layout.groups) copied += copiedByFork(group, tables[group.id], tokens) ? 1 : 0;
    if (copied > this.pool.free.length) return false;
    const forked = this.#layout.groups.map((group) => {
      const source = tables[group.id];
      const table = emptyTable();
      const full = group.kind === 'ring' ? 0 : Math.floor(tokens / group.tokensPerPage);
      for (const page of source.pages.slice(0, full)) {
        this.pool.hold(page);
        table.pages.push(page);
      }
      if (copiedByFork(group, source, tokens)) this.#appendCopy(group, table, source.pages[full]);
      else if (group.kind !== 'ring') padTo(table, Math.ceil(tokens / group.tokensPerPage));
      const last = table.pages.length - 1;
      if (isAligned(group) && last >= 0 && table.pages[last] !== 0) table.states.set(last, tokens);
      table.published = Math.min(source.published, full);
      return table;
    });
    this.held.set(child.name, { request: child, tables: forked, sharedPrefixTokens });
    return true;
  }

  #admit(request: ModelRequest, hit: ModelHit, { local, total }: Ends): Held {
    const tables = this.#layout.groups.map((group) => {
      const table = emptyTable();
      const found = hit.pages[group.id] ?? [];
      const skipped = Math.min(pagesBehind(group, total), found.length);
      for (const [position, page] of found.entries()) {
        table.pages.push(position < skipped ? 0 : page);
        if (position >= skipped) this.pool.hold(page);
      }
      table.published = Math.floor(local / group.tokensPerPage);
      table.sharesTail = local % group.tokensPerPage !== 0 && found.length > skipped;
      const last = table.pages.length - 1;
      if (isAligned(group) && last >= 0 && table.pages[last] !== 0) table.states.set(last, local);
      return table;
    });
    const held = { request, tables, sharedPrefixTokens: hit.sharedPrefixTokens };
    this.held.set(request.name, held);
    return held;
  }

  /** Pages that leave the free list. */
  #pagesNeeded(group: GroupLayout, table: ModelTable | null, found: readonly number[], ends: Ends): number {
    const { tokensPerPage: size } = group;
    const { local, total, main, need } = ends;
    if (group.kind === 'ring') return table === null ? 1 : 0;
    if (table !== null) {
      if (!isAligned(group)) return Math.max(0, Math.ceil(need / size) - table.pages.length);
      const state = Math.ceil(main / size) > table.pages.length ? 1 : 0;
      return state + (table.drafted === null ? speculativePages(group) : 0);
    }
    const used = found.slice(pagesBehind(group, total));
    let needed = used.filter((page) => page !== 0 && this.pool.references[page] === 0).length;
    // A page that the hit ends inside is copied before it is written to.
    if (local % size !== 0 && used.length > 0) needed++;
    if (!isAligned(group)) {
      const start = Math.max(found.length, total > local ? pagesBehind(group, total) : 0);
      return needed + Math.max(0, Math.ceil(need / size) - start);
    }
    const loaded = total > local ? Math.max(found.length, Math.ceil(total / size)) : found.length;
    if (loaded > found.length) needed++;
    if (Math.ceil(main / size) > loaded) needed++;
    return needed + speculativePages(group);
  }

  #growForLoad(group: GroupLayout, held: Held, { local, total }: Ends, added: number[]): void {
    const table = held.tables[group.id];
    if (group.kind === 'ring') {
      this.#append(group, table, 1, added);
    } else if (isAligned(group)) {
      this.#growStates(group, table, total, added);
      table.states.set(Math.ceil(total / group.tokensPerPage) - 1, total);
    } else {
      // A load never begins inside a page, so there is nothing to copy.
      if (local % group.tokensPerPage !== 0) throw new Error('a load behind a hit that ends inside a page');
      padTo(table, pagesBehind(group, total));
      this.#append(group, table, Math.ceil(total / group.tokensPerPage), added);
    }
  }

  #growForWork(group: GroupLayout, held: Held, ends: Ends, added: number[]): void {
    const table = held.tables[group.id];
    const { tokensPerPage: size } = group;
    if (group.kind === 'ring') {
      this.#append(group, table, 1, added);
      return;
    }
    this.#copyIfShared(group, table, ends.local, added);
    if (!isAligned(group)) {
      this.#append(group, table, Math.ceil(ends.need / size), added);
      return;
    }
    if (ends.total > 0) table.states.set(Math.ceil(ends.total / size) - 1, ends.total);
    this.#growStates(group, table, ends.main, added);
    if (ends.main === ends.total) return;
    const position = Math.ceil(ends.main / size) - 1;
    if (mayStayInPage(group, held.request, ends.total, ends.main)) {
      table.states.delete(Math.floor(ends.total / size));
    }
    // Which of the drafted tokens will count is not known yet.
    if (ends.main <= held.request.tokens.length) table.states.set(position, ends.main);
    else table.states.delete(position);
  }

  #append(group: GroupLayout, table: ModelTable, length: number, added: number[]): void {
    while (table.pages.length < length) {
      const page = this.pool.take();
      table.pages.push(page);
      added.push(page);
      this.lists.list(group.id, page);
    }
  }

  /** One page for the state, wherever its last token belongs, and the drafted ones once. */
  #growStates(group: GroupLayout, table: ModelTable, tokens: number, added: number[]): void {
    const length = Math.ceil(tokens / group.tokensPerPage);
    if (length > table.pages.length) {
      padTo(table, length - 1);
      this.#append(group, table, length, added);
    }
    if (table.drafted !== null) return;
    table.drafted = [];
    for (let i = 0; i < speculativePages(group); i++) {
      const page = this.pool.take();
      table.drafted.push(page);
      added.push(page);
    }
  }

  /** A request whose hit ends inside a page gets that page to itself before it writes to it. */
  #copyIfShared(group: GroupLayout, table: ModelTable, local: number, added: number[]): void {
    if (!table.sharesTail) return;
    table.sharesTail = false;
    const position = Math.floor(local / group.tokensPerPage);
    const source = table.pages[position];
    const own = this.pool.take();
    table.pages[position] = own;
    added.push(own);
    this.lists.list(group.id, own);
    this.lists.copy({ group: group.id, source, destination: own });
    // The table itself holds the source no longer.
    this.pool.references[source]--;
  }

  #appendCopy(group: GroupLayout, table: ModelTable, source: number): void {
    const own = this.pool.take();
    table.pages.push(own);
    this.lists.list(group.id, own);
    this.lists.copy({ group: group.id, source, destination: own });
  }

  /** A state that others know is about to be overwritten in place: its keys move to a copy, or are given up. */
  #keepState(group: GroupLayout, held: Held, { total, main }: Ends, reservedPages: number): void {
    if (!this.#layout.partialHits || !isAligned(group)) return;
    if (!mayStayInPage(group, held.request, total, main)) return;
    const table = held.tables[group.id];
    const page = table.pages[Math.floor(total / group.tokensPerPage)];
    const tokens = this.pool.keyedTokens(page);
    if (page === 0 || tokens === 0 || tokens === main) return;
    if (this.pool.free.length - reservedPages < 1) {
      this.pool.strip(page);
      return;
    }
    const copy = this.pool.take();
    this.pool.moveKeys(page, copy);
    this.lists.copy({ group: group.id, source: page, destination: copy });
    // Only the copy under way holds the new page, unless others were told of it.
    this.pool.references[copy]--;
    this.#unwritten.add(copy);
    if (!this.#announces) return;
    this.pool.hold(copy);
    table.announced.push(copy);
    this.announced.push({ group: group.id, page: copy, tokens });
  }

  #publishPages(group: GroupLayout, held: Held, finalTokens: number): void {
    const { tokensPerPage: size, id, kind } = group;
    const table = held.tables[id];
    const end = Math.floor(this.#fullUpTo(group, finalTokens) / size);
    for (; table.published < end; table.published++) {
      const position = table.published;
      const page = table.pages[position];
      if (page === 0 || !this.#isKept(group, held, position)) continue;
      this.pool.addKey(page, keyOf(held.request, id, (position + 1) * size));
      this.#unwritten.add(page);
    }
    const tail = this.#promptEnd(held);
    if (tail === null || tail % size === 0 || finalTokens < tail) return;
    if (kind !== 'full-attention' && kind !== 'compressed') return;
    const page = table.pages[Math.floor(tail / size)] ?? 0;
    if (page !== 0) this.#addKeyOnce(page, keyOf(held.request, id, tail));
  }

  #publishStates(group: GroupLayout, held: Held, finalTokens: number): void {
    const { tokensPerPage: size, id } = group;
    const table = held.tables[id];
    for (const [position, tokens] of table.states) {
      const page = table.pages[position] ?? 0;
      if (page === 0 || tokens > finalTokens) continue;
      const isFull = tokens === (position + 1) * size;
      const isWanted = isFull
        ? tokens <= this.#fullUpTo(group, finalTokens) && this.#isKept(group, held, position)
        : tokens === this.#promptEnd(held);
      if (isWanted) this.#addKeyOnce(page, keyOf(held.request, id, tokens));
    }
    table.published = Math.min(
      shownTable(table).length,
      Math.floor(this.#fullUpTo(group, finalTokens) / size),
    );
  }

  #addKeyOnce(page: number, key: ModelKey): void {
    if (this.pool.carries(page, key)) return;
    this.pool.addKey(page, key);
    this.#unwritten.add(page);
  }

  /** Behind the last unit of all groups no hit can end; a drafter's hit at it needs one page more. */
  #fullUpTo(group: GroupLayout, finalTokens: number): number {
    const { unitTokens, partialHits, groups } = this.#layout;
    if (groups.length === 1 || partialHits) return finalTokens;
    const units = finalTokens - (finalTokens % unitTokens);
    return group.draft ? Math.min(finalTokens, units + group.tokensPerPage) : units;
  }

  #isKept(group: GroupLayout, { request, sharedPrefixTokens }: Held, position: number): boolean {
    const { hitTokens, unitTokens } = this.#layout;
    const beforeLast = Math.max(0, request.promptTokens - 1);
    const replayed = beforeLast - (beforeLast % hitTokens);
    const interval = this.#config.retentionTokens ?? (group.kind === 'recurrent' ? null : unitTokens);
    return isWorthKeeping(group, position, interval, [replayed, sharedPrefixTokens]);
  }

  /** The last boundary of the prompt that may be known though it lies inside a page. */
  #promptEnd({ request: { promptTokens } }: Held): number | null {
    const { partialHits, hashTokens } = this.#layout;
    return partialHits ? promptTokens - (promptTokens % hashTokens) : null;
  }

  #trim({ tables }: Held, processedTokens: number): void {
    for (const group of this.#layout.groups) {
      const table = tables[group.id];
      const behind = pagesBehind(group, processedTokens);
      const gone: number[] = [];
      for (let position = Math.min(behind, table.pages.length) - 1; position >= 0; position--) {
        table.states.delete(position);
        if (table.pages[position] !== 0) gone.push(table.pages[position]);
        table.pages[position] = 0;
      }
      this.lists.release(group.id, gone);
    }
  }

  /** True if the hit continues or copies from a page that only this step fills. */
  #dependsOnThisStep(hit: ModelHit): boolean {
    return this.#layout.groups.some(({ id, kind, tokensPerPage }) => {
      const last = hit.pages[id]?.at(-1);
      const needsBytes = kind === 'recurrent' || hit.tokens % tokensPerPage !== 0;
      return last !== undefined && needsBytes && this.#unwritten.has(last);
    });
  }
}

function copiedByFork(group: GroupLayout, { pages }: ModelTable, tokens: number): boolean {
  if (group.kind === 'ring') return true;
  const position = Math.floor(tokens / group.tokensPerPage);
  return tokens % group.tokensPerPage !== 0 && (pages[position] ?? 0) !== 0;
}

/**
 * Whether the state may end up in the page of the one before, which it then overwrites. Drafted tokens, beyond those of
 * the request, may all be rejected.
 */
function mayStayInPage(
  { tokensPerPage: size }: GroupLayout,
  { tokens }: ModelRequest,
  total: number,
  main: number,
): boolean {
  if (main === total || total % size === 0) return false;
  const atLeast = Math.min(main, tokens.length);
  return Math.ceil(atLeast / size) === Math.ceil(total / size);
}

function keyOf({ tokens }: ModelRequest, group: number, count: number): ModelKey {
  return { group, tokens: count, text: tokens.slice(0, count).join(' ') };
}
