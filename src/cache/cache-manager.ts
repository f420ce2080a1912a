/**
 * Who owns which page. The manager admits, extends, forks and frees requests over one pool of pages that several groups
 * of layers share, finds prompts that begin alike, and lists the pages to zero and to copy. Pure and synchronous: it
 * knows page ids, never bytes.
 *
 * Regions of a request's tables in the step that admits it:
 *
 *   | hit: found on the device | external: a load brings them | new: computed in this step | lookahead |
 *   touched                    allocated, and listed for zeroing ---------------------------------------
 */
import type { CacheConfig } from '../config.ts';
import { resolveLayout, type CacheLayout } from '../config/layout.ts';
import { ConfigError, invariant } from '../errors.ts';
import {
  floorTo,
  groupId,
  NULL_PAGE,
  pageId,
  type GroupId,
  type PageId,
  type PrefixKey,
  type RequestId,
} from '../units.ts';
import { requireAmounts, requireCount, requirePlace, type AllocateOptions } from './allocate-options.ts';
import { Coordinator, NO_HIT, type PrefixHit } from './coordinator.ts';
import type { CacheEventHandler } from './events.ts';
import { createGroup } from './groups/create-group.ts';
import type { Amounts, CacheGroup, CacheRequest, PublishLimits } from './groups/group.ts';
import { AlignedRecurrentGroup, RecurrentGroup, type AnnouncedTail } from './groups/recurrent.ts';
import { PageCopies, type PageCopy, type PageCopyBatch } from './page-copies.ts';
import { PagePool } from './page-pool.ts';
import { unreachablePages } from './reachability.ts';
import type { TokenSequence } from './token-sequence.ts';
import { ZeroList } from './zero-list.ts';

export type { AllocateOptions } from './allocate-options.ts';
export { NO_HIT, type PrefixHit } from './coordinator.ts';
export type { CacheRequest } from './groups/group.ts';
export type { PageCopy, PageCopyBatch } from './page-copies.ts';

export interface CacheManagerOptions {
  readonly onEvent?: CacheEventHandler;
  /** A pool of `config.pages` pages to use instead of a new one. Its own events go where it was told. */
  readonly pool?: PagePool;
  /**
   * Whether states inside a page that get a page of their own are announced (`takeAnnouncedTails`), for somebody who
   * stores them. `held`: their pages stay until their request is freed. `fenced`: whoever stores them looks after that.
   * Default: `no`.
   */
  readonly announceTails?: 'no' | 'held' | 'fenced';
}

export interface CacheStatistics {
  /** Tokens of requests at their first admission, and those of them that were found on the device. */
  readonly queriedTokens: number;
  readonly hitTokens: number;
  /** The same for admissions after a preemption or a failed load. */
  readonly readmittedTokens: number;
  readonly readmittedHitTokens: number;
  readonly pagesAllocated: number;
  /** Pages that lost a key because they were allocated anew. */
  readonly pagesEvicted: number;
  /** Pages that `takeNewPageIdsToZero` gave out. */
  readonly pagesZeroed: number;
}

/** Pages of one group. */
export interface GroupPages {
  readonly group: GroupId;
  readonly pages: readonly PageId[];
}

/** A state inside a page that a connector may store: see `announceTails`. */
export interface GroupTail extends AnnouncedTail {
  readonly group: GroupId;
}

/** A recurrent state that stands exactly at the end of a page of tokens. */
export interface BoundaryState {
  readonly group: GroupId;
  readonly page: PageId;
  /** Tokens that it is the state of. */
  readonly tokens: number;
}

/** What steps compute for one request before the first of them is processed, the step being planned included. */
export interface InFlight {
  readonly tokens: number;
  readonly steps: number;
}

/** By group, in the order of the layout. */
export type PagesByGroup = readonly (readonly PageId[])[];

/** What the manager remembers of a request that holds pages. */
interface Held {
  readonly promptTokens: number;
  readonly sharedPrefixTokens: number;
  /** Hash units that were there when its pages were published last: with no more of them there is nothing new. */
  publishedUnits: number;
}

export class CacheManager {
  /** Sizes that follow from the configuration. */
  readonly layout: CacheLayout;
  /** Pages that requests can hold: all but the null page. */
  readonly pageCountMax: number;
  readonly #config: CacheConfig;
  readonly #pool: PagePool;
  readonly #groups: readonly CacheGroup[];
  readonly #coordinator: Coordinator;
  readonly #zeroLists: readonly (ZeroList | null)[];
  readonly #copies: PageCopies;
  /** Pages that got a key for what this step computes. Empty in layouts whose hits cannot depend on it. */
  readonly #unwritten: Set<PageId>;
  readonly #announced: GroupTail[] = [];
  readonly #held = new Map<RequestId, Held>();
  readonly #onEvent: CacheEventHandler | undefined;
  /** Sequences that were admitted before, so that each counts once, however often it is preempted. */
  readonly #admitted = new WeakSet<TokenSequence>();
  #queriedTokens = 0;
  #hitTokens = 0;
  #readmittedTokens = 0;
  #readmittedHitTokens = 0;

  constructor(config: CacheConfig, options: CacheManagerOptions = {}) {
    const { onEvent, announceTails = 'no' } = options;
    this.#config = config;
    this.#onEvent = onEvent;
    this.layout = resolveLayout(config);
    this.pageCountMax = config.pages - 1;
    const caching = config.prefixCaching;
    this.#pool = options.pool ?? new PagePool(config.pages, { caching, ...(onEvent && { onEvent }) });
    this.#copies = new PageCopies(this.#pool, onEvent, (group, pages) => this.#unlist(group, pages));
    this.#unwritten = new Set();
    const hasRecurrent = this.layout.groups.some(({ kind }) => kind === 'recurrent');
    this.#zeroLists = this.layout.groups.map(({ zeroed }) => (zeroed ? new ZeroList(config.pages) : null));
    this.#groups = this.layout.groups.map((layout, index) =>
      createGroup(
        {
          layout,
          onEvent,
          pool: this.#pool,
          copies: this.#copies,
          zeroList: this.#zeroLists[index],
          unwritten:
            this.layout.partialHits || (hasRecurrent && layout.kind === 'recurrent') ? this.#unwritten : null,
        },
        {
          onAnnounce:
            announceTails === 'no' ? null : (tail) => this.#announced.push({ ...tail, group: layout.id }),
          holdsAnnounced: announceTails === 'held',
        },
      ),
    );
    this.#coordinator = new Coordinator(this.layout, this.#groups, this.#pool);
  }

  /** Pages without a reference. Those that carry a key are among them. */
  get freePages(): number {
    return this.#pool.freeCount;
  }

  get statistics(): CacheStatistics {
    let pagesZeroed = 0;
    for (const list of this.#zeroLists) pagesZeroed += list?.drainedCount ?? 0;
    return {
      queriedTokens: this.#queriedTokens,
      hitTokens: this.#hitTokens,
      readmittedTokens: this.#readmittedTokens,
      readmittedHitTokens: this.#readmittedHitTokens,
      pagesAllocated: this.#pool.allocatedCount,
      pagesEvicted: this.#pool.evictedCount,
      pagesZeroed,
    };
  }

  /** Pages that a request of this length holds at most, over all groups, with nothing shared. */
  pagesNeeded(tokens: number, encoderTokens = 0): number {
    let pages = 0;
    for (const group of this.#groups) {
      pages += group.pagesNeeded(group.layout.kind === 'cross-attention' ? encoderTokens : tokens);
    }
    return pages;
  }

  /** The same, at any one time, for a request of which so much is in flight: windows move on. */
  pagesNeededAtOnce(tokens: number, inFlight: InFlight): number {
    let pages = 0;
    for (const group of this.#groups) pages += group.pagesNeeded(tokens, inFlight.tokens, inFlight.steps);
    return pages;
  }

  /** Pages by which such a request grows from one length to another. Windows let go of as many as they take. */
  pagesOfGrowth(from: number, to: number, inFlight: InFlight): number {
    let pages = 0;
    for (const group of this.#groups) {
      const needed = group.pagesNeeded(to, inFlight.tokens, inFlight.steps);
      pages += Math.max(0, needed - group.pagesNeeded(from));
    }
    return pages;
  }

  /** Pages that a request's tables lack for its first `tokens` tokens, at any one time. */
  pagesMissing(id: RequestId, tokens: number, inFlight: InFlight): number {
    let pages = 0;
    for (const group of this.#groups) {
      const { kind } = group.layout;
      const table = group.pageTable(id);
      const isDense = kind === 'full-attention' || kind === 'compressed';
      const held = isDense ? table.length : table.filter((page) => page !== NULL_PAGE).length;
      pages += Math.max(0, group.pagesNeeded(tokens, inFlight.tokens, inFlight.steps) - held);
    }
    return pages;
  }

  /** Begins a scheduling pass: what earlier steps computed may be copied and continued from here on. */
  beginStep(): void {
    this.#unwritten.clear();
  }

  /**
   * The longest beginning of the prompt that every group can serve from cached pages. The last token is never part of
   * it, since computing it is what gives the next one, and it ends at `tokensMax` at most. Changes nothing, and holds nothing: allocate before anything
   * else.
   */
  lookup(request: CacheRequest, tokensMax = Infinity): PrefixHit {
    this.#requireSequence(request);
    if (!this.#pool.caching || request.sequence.length === 0) return NO_HIT;
    return this.#coordinator.findHit(request.sequence, Math.min(tokensMax, request.sequence.length - 1));
  }

  /**
   * The page that a group has cached under the key of a sequence's first `tokens` tokens, or null. It may go with the
   * next allocation.
   */
  cachedPage(sequence: TokenSequence, tokens: number, group: GroupId): PageId | null {
    return this.#pool.caching ? this.#pool.lookup(sequence, tokens, group) : null;
  }

  /**
   * Room for the tokens of one step. Gives the pages added to each group's table, without those of the hit, or null if
   * they do not fit: then nothing has changed, but that windows have let go of what nobody reads any more. Full pages
   * are published at once, before they are computed: attention layers write their rows before any later request of the
   * step reads them. Work that is then cancelled must be `withdraw`n.
   *
   * Null as well for a hit that this very step makes and that cannot be used before it has run: a recurrent state, or
   * a page that the hit ends inside, which would be copied too early. The next step can have it.
   *
   * Throws `ConfigError` for amounts that make no sense, `InvariantError` for a hit that is no longer cached and for
   * hit or external tokens of a request that has a table.
   */
  allocate(request: CacheRequest, options: AllocateOptions): PagesByGroup | null {
    const { hit = NO_HIT, externalTokens = 0 } = options;
    this.#requireSequence(request);
    requireAmounts(request, options, this.layout);
    const isFirst = !this.#held.has(request.id);
    requirePlace(request, options, {
      isFirst,
      tokens: isFirst ? 0 : this.#tokensHeld(request.id),
      isHitValid: hit.tokens === 0 || this.#isHitValid(request, hit),
    });
    const amounts = amountsOf(options);
    if (!isFirst) this.#requirePages(request.id, options.computedTokens);
    if (!isFirst) this.#trim(request.id, Math.max(0, amounts.total - (options.inFlightTokens ?? 0)));
    if (!this.#fits(request, options, amounts)) return null;

    const added = this.#groups.map((): PageId[] => []);
    if (isFirst) {
      // Every hit is touched before anything is allocated: an allocation must not evict what was just found.
      for (const [i, group] of this.#groups.entries()) group.install(request, amounts, pagesOf(hit, i));
      this.#admit(request, hit);
      if (externalTokens > 0) {
        for (const [i, group] of this.#groups.entries()) group.extendExternal(request, amounts, added[i]);
      }
    }
    for (const [i, group] of this.#groups.entries()) group.extend(request, amounts, added[i]);
    this.#preserveTails(request, amounts, options.reservedPages ?? 0);
    // Drafts lie beyond the sequence's end and are not published: they may still be rejected.
    const { publish = true, seenTokens = request.sequence.length } = options;
    if (publish) this.publish(request, Math.min(amounts.main, seenTokens));
    // Where states stand behind drafts is known when the next step says so.
    if (amounts.main > request.sequence.length) this.#held.get(request.id)!.publishedUnits = NOTHING;
    return added;
  }

  /**
   * Publishes the full pages that cover the first `tokens` tokens, as after a load. Pages published already stay.
   * Throws `InvariantError` when the request holds no pages or too few.
   */
  publish(request: CacheRequest, tokens: number): void {
    if (!this.#pool.caching) return;
    const held = this.#held.get(request.id);
    invariant(held !== undefined, `request ${request.id} holds no pages; allocate before anything else`);
    // What a drafter computed for the last tokens depends on tokens that it only guessed.
    const finalTokens = Math.max(0, tokens - Math.max(0, this.#config.lookaheadTokens - 1));
    const units = Math.floor(finalTokens / this.layout.hashTokens);
    if (units === held.publishedUnits) return;
    held.publishedUnits = units;
    for (const group of this.#groups) {
      if (group.layout.cacheable) group.publish(request, this.#limitsOf(group, held, finalTokens));
    }
  }

  /**
   * Takes back what was published beyond `fromToken`, for work that is cancelled in the step that scheduled it, and
   * for a load or a forward pass that failed. The pages that hold tokens from `fromToken` on lose their keys, and get
   * them again when they are published anew. The pages stay in the table, and on the zero list: what this step
   * allocated is still to be zeroed while somebody holds it. `free` takes a page off the list once nobody does.
   *
   * Gives the other requests that hold one of these pages: they found it in the same step, so what they compute on
   * top is void too. Nothing happens for an unknown request.
   */
  withdraw(request: CacheRequest, fromToken: number): RequestId[] {
    requireCount('fromToken', fromToken, request.id);
    const held = this.#held.get(request.id);
    if (held) held.publishedUnits = NOTHING;
    const holders = new Set<RequestId>();
    for (const group of this.#groups) {
      const stripped = group.withdraw(request.id, fromToken);
      if (stripped.length > 0) for (const id of group.holdersOf(new Set(stripped))) holders.add(id);
    }
    holders.delete(request.id);
    return [...holders];
  }

  /** Gives a request's pages back, group by group, each tail first. Nothing happens for an unknown request. */
  free(request: CacheRequest): void {
    for (const [i, group] of this.#groups.entries()) this.#unlist(i, group.free(request.id));
    this.#held.delete(request.id);
  }

  /**
   * Gives `child` the first `computedTokens` tokens of `parent`, for parallel samples and beams: full pages are shared,
   * what both would go on writing to is copied. Both continue independently. False, with nothing changed, if there are
   * too few pages for the copies beside `reservedPages` that must stay free.
   *
   * Throws `ConfigError` if the child's tokens differ from the parent's up to there, `InvariantError` for a parent
   * without pages for them and a child that has some.
   */
  fork(parent: CacheRequest, child: CacheRequest, computedTokens: number, reservedPages = 0): boolean {
    this.#requireSequence(child);
    requireCount('computedTokens', computedTokens, child.id);
    const held = this.#held.get(parent.id);
    invariant(held !== undefined, `request ${parent.id} holds no pages; fork a request that has run`);
    invariant(!this.#held.has(child.id), `request ${child.id} holds pages already; fork into a new request`);
    invariant(
      computedTokens <= this.#tokensHeld(parent.id),
      `request ${parent.id} holds pages for ${this.#tokensHeld(parent.id)} tokens and cannot share ${computedTokens}`,
    );
    requireSameTokens(parent, child, computedTokens);
    this.#requirePages(parent.id, computedTokens);
    let needed = 0;
    for (const group of this.#groups) needed += group.pagesToFork(parent.id, computedTokens);
    if (needed > 0 && needed > this.#pool.freeCount - reservedPages) return false;
    for (const group of this.#groups) group.fork(parent.id, child, computedTokens);
    this.#held.set(child.id, {
      ...held,
      promptTokens: child.promptTokens ?? held.promptTokens,
      publishedUnits: NOTHING,
    });
    return true;
  }

  /**
   * Whether a fork could share the first `tokens` tokens of a request that has written `writtenTokens`: whether each
   * group still has what the token behind them reads. States and rings are overwritten, windows move on.
   */
  canFork(id: RequestId, tokens: number, writtenTokens: number): boolean {
    return this.#groups.every((group) => group.missingPage(id, tokens, writtenTokens) === null);
  }

  /** Whether the request has page tables. */
  holds(id: RequestId): boolean {
    return this.#held.has(id);
  }

  /** The request's pages in a group, empty if it holds none. A live view with null pages in it: copy it to keep it. */
  pageTable(id: RequestId, group: GroupId = groupId(0)): readonly PageId[] {
    return this.#group(group).pageTable(id);
  }

  /** The request's recurrent states at page ends, in every group. Empty where there are no recurrent groups. */
  boundaryStates(id: RequestId): BoundaryState[] {
    const states: BoundaryState[] = [];
    for (const group of this.#groups) {
      if (group instanceof RecurrentGroup) states.push(...group.boundaryStates(id));
    }
    return states;
  }

  /** The pages of the first `tokens` tokens by group. States stand where they stand, so recurrent groups are whole. */
  pagesForTokens(id: RequestId, tokens: number): PageId[][] {
    return this.#groups.map((group) => {
      const { layout } = group;
      const pages = group.pageTable(id);
      const isPaged =
        layout.kind !== 'recurrent' && layout.kind !== 'ring' && layout.kind !== 'cross-attention';
      return pages.slice(0, isPaged ? Math.ceil(tokens / layout.tokensPerPage) : pages.length);
    });
  }

  /** Tokens that every group has under a key: what another request with this prompt could find at most. */
  cachedTokens(id: RequestId): number {
    let tokens = Infinity;
    for (const group of this.#groups) {
      if (!group.layout.cacheable) continue;
      let keyed = 0;
      for (const page of group.pageTable(id)) {
        if (page !== NULL_PAGE) keyed = Math.max(keyed, this.#pool.keyedTokens(page) ?? 0);
      }
      tokens = Math.min(tokens, keyed);
    }
    return tokens === Infinity ? 0 : tokens;
  }

  /** By group: leading pages of this request that all requests with pages share. Only full attention has any. */
  commonPrefixPages(id: RequestId): number[] {
    return this.#groups.map((group) => group.commonPrefixPages(id));
  }

  /** Pages allocated since the last call and still held, by group in the order of allocation. Call it once a step. */
  takeNewPageIdsToZero(): GroupPages[] {
    const lists = this.#listed((list) => list.drain());
    for (const { group, pages } of lists) this.#onEvent?.({ type: 'zeroed', group, pages });
    return lists;
  }

  /** What `takeNewPageIdsToZero` would give now; the lists stay. */
  pendingPageIdsToZero(): GroupPages[] {
    return this.#listed((list) => list.pending());
  }

  /**
   * Takes pages off the pending list that a load of this very step overwrites in full. It cannot recall a zeroing
   * that an earlier step has sent: the load must be ordered behind that one.
   */
  exemptFromZeroing(pages: PagesByGroup): void {
    for (const [i, list] of this.#zeroLists.entries())
      if (list) for (const page of pages[i]) list.remove(page);
  }

  /** Lists pages again, when the load that was to overwrite them failed. Free ones are left to their next owner. */
  relistForZeroing(pages: PagesByGroup): void {
    for (const [i, list] of this.#zeroLists.entries()) {
      if (list) for (const page of pages[i]) if (this.#pool.refCount(page) > 0) list.add(page);
    }
  }

  /** Copies listed since the last call. Their ends stay held until the batch is released, after the step has run. */
  takePageCopies(): PageCopyBatch {
    return this.#copies.take();
  }

  /** What `takePageCopies` would give now, for inspection; the list stays. */
  pendingPageCopies(): readonly PageCopy[] {
    return this.#copies.pending();
  }

  releasePageCopies(batch: PageCopyBatch): void {
    this.#copies.release(batch);
  }

  /** States inside a page that got a page of their own since the last call. Only with `announceTails`. */
  takeAnnouncedTails(): GroupTail[] {
    return this.#announced.splice(0);
  }

  /** Forgets every prefix key, if no request holds a page: true. Otherwise false, and nothing changes. */
  resetPrefixCache(): boolean {
    return this.#pool.resetPrefixCache();
  }

  /** Free pages in the order in which they will be allocated. */
  freeOrder(): PageId[] {
    return this.#pool.freeOrder();
  }

  /** Tables and copies that hold this page. */
  refCount(page: PageId): number {
    return this.#pool.refCount(page);
  }

  /** The page's first key, or null. */
  keyOf(page: PageId): PrefixKey | null {
    return this.#pool.keyOf(page);
  }

  /** Tokens that the page's first key stands for, or null. */
  keyedTokens(page: PageId): number | null {
    return this.#pool.keyedTokens(page);
  }

  /** Throws `InvariantError` if pool, tables, copies and zero lists do not fit together. */
  checkIntegrity(): void {
    this.#pool.checkIntegrity();
    const references = new Int32Array(this.#pool.pages);
    const groupOfPage = new Map<PageId, GroupId>();
    for (const group of this.#groups) {
      const before = references.slice();
      group.checkIntegrity(references);
      for (let i = NULL_PAGE + 1; i < references.length; i++) {
        if (references[i] === before[i]) continue;
        invariant(
          !groupOfPage.has(pageId(i)),
          `page ${i} is held in groups ${groupOfPage.get(pageId(i))} and ${group.layout.id}`,
        );
        groupOfPage.set(pageId(i), group.layout.id);
      }
    }
    this.#copies.countReferences(references);
    for (let i = NULL_PAGE + 1; i < references.length; i++) {
      const counted = this.#pool.refCount(pageId(i));
      invariant(
        counted === references[i],
        `page ${i}: ${counted} references, ${references[i]} places in tables and copies`,
      );
    }
    for (const { group, pages } of this.pendingPageIdsToZero()) {
      for (const page of pages) {
        invariant(page !== NULL_PAGE, `the null page is listed for zeroing in group ${group}`);
        invariant(this.#pool.refCount(page) > 0, `page ${page} is listed for zeroing and nobody holds it`);
        const owner = groupOfPage.get(page);
        invariant(
          owner === undefined || owner === group,
          `page ${page} is listed for zeroing in group ${group}, and group ${owner} holds it`,
        );
      }
    }
    for (const group of this.#groups) {
      for (const id of this.#held.keys()) {
        invariant(group.has(id), `request ${id} holds pages, but none in group ${group.layout.id}`);
      }
    }
  }

  /** Nothing of these fits: the pages, those reserved for others, the watermark, or the request as a whole. */
  #fits(request: CacheRequest, options: AllocateOptions, amounts: Amounts): boolean {
    const { hit = NO_HIT, reservedPages = 0, useWatermark = false, fullSequence } = options;
    const watermark = useWatermark ? Math.floor(this.#config.watermark * this.#config.pages) : 0;
    if (fullSequence) {
      let whole = 0;
      for (const group of this.#groups) {
        const isCross = group.layout.kind === 'cross-attention';
        const tokens = isCross ? (request.encoderTokens ?? 0) : fullSequence.tokens;
        whole += group.pagesNeeded(tokens, fullSequence.inFlightTokens);
      }
      if (whole + watermark > this.#pool.freeCount) return false;
    }
    if (this.#isUnwritten(hit)) return false;
    let taken = 0;
    for (const [i, group] of this.#groups.entries())
      taken += group.pagesToTake(request, amounts, pagesOf(hit, i));
    // What takes no page cannot make a reservation worse, so it passes even where one is short already.
    return taken <= Math.max(0, this.#pool.freeCount - reservedPages - watermark);
  }

  /** True if the hit continues or copies from a page that only this step fills. */
  #isUnwritten(hit: PrefixHit): boolean {
    if (this.#unwritten.size === 0 || hit.tokens === 0) return false;
    return this.#groups.some(({ layout }, i) => {
      const pages = pagesOf(hit, i);
      const depends = layout.kind === 'recurrent' || hit.tokens % layout.tokensPerPage !== 0;
      return depends && pages.length > 0 && this.#unwritten.has(pages[pages.length - 1]);
    });
  }

  #isHitValid({ sequence }: CacheRequest, hit: PrefixHit): boolean {
    return hit.tokens < sequence.length && this.#coordinator.isValid(sequence, hit);
  }

  #trim(id: RequestId, processedTokens: number): void {
    for (const [i, group] of this.#groups.entries()) this.#unlist(i, group.trim(id, processedTokens));
  }

  /** Nobody reads these pages now, and whoever claims one lists it again. */
  #unlist(index: number, pages: readonly PageId[]): void {
    const list = this.#zeroLists[index];
    if (!list) return;
    for (let i = 0; i < pages.length; i++) if (this.#pool.refCount(pages[i]) === 0) list.remove(pages[i]);
  }

  #preserveTails(request: CacheRequest, amounts: Amounts, reservedPages: number): void {
    if (!this.layout.partialHits) return;
    for (const group of this.#groups) {
      if (group instanceof AlignedRecurrentGroup) {
        group.preserveTail(request, amounts, this.#pool.freeCount - reservedPages);
      }
    }
  }

  #limitsOf(group: CacheGroup, held: Held, finalTokens: number): PublishLimits {
    const { unitTokens, hitTokens, hashTokens, partialHits, groups } = this.layout;
    const { layout } = group;
    const replayed = floorTo(Math.max(0, held.promptTokens - 1), hitTokens);
    const retention = this.#config.retentionTokens;
    const masked = unreachablePages(layout, {
      interval: retention ?? (layout.kind === 'recurrent' ? null : unitTokens),
      extra: [replayed, held.sharedPrefixTokens],
    });
    let tokens = finalTokens;
    if (groups.length > 1 && !partialHits) {
      // Behind the last unit no hit can end, but a drafter's hit at it needs one page more.
      tokens = floorTo(finalTokens, unitTokens);
      if (layout.draft) tokens = Math.min(finalTokens, tokens + layout.tokensPerPage);
    }
    const tail = partialHits ? floorTo(held.promptTokens, hashTokens) : null;
    return { tokens, finalTokens, tail, masked };
  }

  #admit(request: CacheRequest, hit: PrefixHit): void {
    const { sequence } = request;
    this.#held.set(request.id, {
      promptTokens: request.promptTokens ?? sequence.length,
      sharedPrefixTokens: hit.sharedPrefixTokens,
      publishedUnits: NOTHING,
    });
    if (!this.#pool.caching) return;
    if (this.#admitted.has(sequence)) {
      this.#readmittedTokens += sequence.length;
      this.#readmittedHitTokens += hit.tokens;
      return;
    }
    this.#admitted.add(sequence);
    this.#queriedTokens += sequence.length;
    this.#hitTokens += hit.tokens;
  }

  #listed(read: (list: ZeroList) => PageId[]): GroupPages[] {
    const lists: GroupPages[] = [];
    for (const [i, list] of this.#zeroLists.entries()) {
      const pages = list ? read(list) : [];
      if (pages.length > 0) lists.push({ group: groupId(i), pages });
    }
    return lists;
  }

  /** Tokens for which every paged group has positions. */
  #tokensHeld(id: RequestId): number {
    let tokens = Infinity;
    for (const group of this.#groups) {
      const { kind, tokensPerPage } = group.layout;
      if (kind === 'ring' || kind === 'cross-attention') continue;
      tokens = Math.min(tokens, group.pageTable(id).length * tokensPerPage);
    }
    return tokens;
  }

  /** Throws unless every group has what the next token reads. */
  #requirePages(id: RequestId, computedTokens: number): void {
    for (const group of this.#groups) {
      const missing = group.missingPage(id, computedTokens);
      if (missing === null) continue;
      invariant(
        false,
        `request ${id}: token ${computedTokens} reads page ${missing} of its table in group ${group.layout.id}, ` +
          'which does not hold that; free the request and look it up again',
      );
    }
  }

  #group(id: GroupId): CacheGroup {
    const group = this.#groups[id] as CacheGroup | undefined;
    if (group === undefined) {
      throw new ConfigError(`there is no group ${id}; this cache has groups 0 to ${this.#groups.length - 1}`);
    }
    return group;
  }

  #requireSequence({ id, sequence }: CacheRequest): void {
    if (sequence.unitTokens === this.layout.hashTokens) return;
    throw new ConfigError(
      `request ${id}: tokens hashed by ${sequence.unitTokens}; this cache hashes by ${this.layout.hashTokens}`,
    );
  }
}

function amountsOf(options: AllocateOptions): Amounts {
  const { hit = NO_HIT, externalTokens = 0, computedTokens, newTokens, lookaheadTokens = 0 } = options;
  const local = computedTokens + hit.tokens;
  const total = local + externalTokens;
  const main = total + newTokens;
  const ahead = main + lookaheadTokens;
  return { local, total, main, need: Math.max(main, Math.min(ahead, options.tokensMax ?? ahead)) };
}

function pagesOf(hit: PrefixHit, group: number): readonly PageId[] {
  return hit.tokens === 0 ? NO_PAGES : hit.pages[group];
}

/** Fewer units than any request has. */
const NOTHING = -1;
const NO_PAGES: readonly PageId[] = Object.freeze([]);

function requireSameTokens(parent: CacheRequest, child: CacheRequest, count: number): void {
  const available = Math.min(parent.sequence.length, child.sequence.length);
  const [a, b] = [parent, child].map(({ sequence }) => sequence.tokens(Math.min(count, available)));
  const differs = count > available || a.some((token, i) => token !== b[i]);
  if (differs) {
    throw new ConfigError(
      `request ${child.id} does not begin with the ${count} tokens of ${parent.id} that it is to share`,
    );
  }
}
