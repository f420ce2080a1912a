/**
 * Recurrent layers: a page holds the state after some number of tokens, and a hit of h tokens needs the state at
 * exactly h.
 *
 * With aligned states, only the ends of chunks of work have one. A table looks like this (bs = tokens of a page):
 *
 *   position        0 .. k-1     k                 k+1 .. n-2   n-1             n ..
 *                   null         state before      null         running state   drafted states
 *
 * The running state stands where its last token belongs. Inside a page it is overwritten in place; the first token of
 * a further page gets a new page, and the one before becomes the source it starts from.
 */
import type { RecurrentConfig } from '../../config/groups.ts';
import { invariant } from '../../errors.ts';
import { floorTo, ceilDiv, NULL_PAGE, type GroupId, type PageId, type RequestId } from '../../units.ts';
import type { CacheEventHandler } from '../events.ts';
import type { PageTable } from '../page-table.ts';
import type { Amounts, CachedAt, CacheRequest, HitBounds, HitPages, PublishLimits } from './group.ts';
import { PagedGroup, type GroupOptions } from './paged-group.ts';

/** What the aligned form knows of a request besides its table. */
interface Running {
  /** Positions that hold a page, ascending: all others are null. */
  positions: number[];
  /** Tokens that the state at a position stands for; positions that are not here hold no finished state. */
  readonly tokensAt: Map<number, number>;
  /** Whether the pages for drafted states have been allocated. */
  hasDrafted: boolean;
  /** Copies of states under keys that others were told of: one reference each until the request is freed. */
  readonly announced: PageId[];
}

/** A state inside a page that others may find, once its copy has been made. */
export interface AnnouncedTail {
  readonly request: RequestId;
  readonly page: PageId;
  readonly tokens: number;
}

/** A state for every page's worth of tokens: paged like attention, and only the last state is read. */
export class RecurrentGroup extends PagedGroup {
  longestHit(cachedAt: CachedAt, { tokensMax, cachedMax, step }: HitBounds): number {
    for (let tokens = floorTo(Math.min(tokensMax, cachedMax), step); tokens > 0; tokens -= step) {
      if (cachedAt(tokens)) return tokens;
    }
    return 0;
  }

  firstPageOfHit(tokens: number): number {
    return ceilDiv(tokens, this.layout.tokensPerPage) - 1;
  }

  skippedTokens(tokens: number): number {
    return Math.max(0, tokens - 1);
  }

  /** Inside a page there is one state, that of the last token. */
  override missingPage(id: RequestId, tokens: number, writtenTokens = tokens): number | null {
    if (writtenTokens > tokens && this.endsInside(tokens)) return this.positions(tokens) - 1;
    return super.missingPage(id, tokens);
  }

  /** States that stand exactly at the end of their page. */
  boundaryStates(id: RequestId): { group: GroupId; page: PageId; tokens: number }[] {
    const { tokensPerPage, id: group } = this.layout;
    const states = [];
    for (const [position, page] of this.pageTable(id).entries()) {
      const tokens = (position + 1) * tokensPerPage;
      if (page !== NULL_PAGE) states.push({ group, page, tokens });
    }
    return states;
  }
}

export interface Announcing {
  /** Told of each state inside a page that moves to a page of its own; null if nobody asks. */
  readonly onAnnounce: ((tail: AnnouncedTail) => void) | null;
  /** Whether that page stays until the request is freed. */
  readonly holdsAnnounced: boolean;
}

export interface AlignedRecurrentOptions extends GroupOptions, Announcing {
  readonly config: RecurrentConfig;
}

export class AlignedRecurrentGroup extends RecurrentGroup {
  readonly #draftedPages: number;
  readonly #onEvent: CacheEventHandler | undefined;
  readonly #onAnnounce: ((tail: AnnouncedTail) => void) | null;
  readonly #holdsAnnounced: boolean;
  readonly #running = new Map<RequestId, Running>();

  constructor(options: AlignedRecurrentOptions) {
    super(options);
    this.#onEvent = options.onEvent;
    this.#draftedPages = options.config.speculativePages;
    this.#onAnnounce = options.onAnnounce;
    this.#holdsAnnounced = options.holdsAnnounced;
  }

  /** The running state of each step in flight, the one before them, and the drafted ones. */
  override pagesNeeded(tokens: number, _inFlightTokens?: number, stepsInFlight = 1): number {
    return Math.min(super.pagesNeeded(tokens), stepsInFlight + 1) + this.#draftedPages;
  }

  override pagesToTake(request: CacheRequest, { local, total, main }: Amounts, hit: HitPages): number {
    const table = this.tables.get(request.id);
    const steps = total > local ? [total, main] : [main];
    if (table === undefined) {
      let length = hit.length;
      let taken = this.#draftedPages;
      for (const tokens of steps) {
        if (this.positions(tokens) <= length) continue;
        length = this.positions(tokens);
        taken++;
      }
      return taken + this.pagesOfInstall({ local, total, main, need: main }, hit);
    }
    const { hasDrafted } = this.#runningOf(request.id);
    const length = table.length - (hasDrafted ? this.#draftedPages : 0);
    return (this.positions(main) > length ? 1 : 0) + (hasDrafted ? 0 : this.#draftedPages);
  }

  override install(request: CacheRequest, amounts: Amounts, hit: HitPages): void {
    super.install(request, amounts, hit);
    this.#start(request.id, amounts.local);
  }

  override extendExternal(request: CacheRequest, { total }: Amounts, added: PageId[]): void {
    const table = this.table(request);
    this.copySharedTail(table, added);
    this.#grow(table, total, added);
    const { tokensAt } = this.#runningOf(request.id);
    tokensAt.set(this.positions(total) - 1, total);
  }

  override extend(request: CacheRequest, { total, main }: Amounts, added: PageId[]): void {
    const table = this.table(request);
    this.copySharedTail(table, added);
    const { tokensAt } = this.#runningOf(request.id);
    // What ran before has left its state where its last token belongs.
    if (total > 0) tokensAt.set(this.positions(total) - 1, total);
    this.#grow(table, main, added);
    if (main === total) return;
    const position = this.positions(main) - 1;
    // Drafts may be rejected: where the state stands then is known when the next step says so.
    if (main > request.sequence.length) tokensAt.delete(position);
    else tokensAt.set(position, main);
    if (this.#mayOverwrite(request, total, main) && this.positions(total) - 1 !== position) {
      tokensAt.delete(this.positions(total) - 1);
    }
  }

  /** The skipped states, wherever they stand: null pages lie between them. */
  override trim(id: RequestId, tokens: number): readonly PageId[] {
    const table = this.tables.get(id);
    if (table === undefined) return [];
    const running = this.#runningOf(id);
    const skipped = this.skippedPages(tokens);
    const trimmed: PageId[] = [];
    for (const position of running.positions.toReversed()) {
      if (position >= skipped) continue;
      running.tokensAt.delete(position);
      trimmed.push(table.replace(position, NULL_PAGE));
    }
    if (trimmed.length === 0) return trimmed;
    running.positions = running.positions.filter((position) => position >= skipped);
    this.pool.free(trimmed, table.owner);
    return trimmed;
  }

  /** A state that stands for other tokens is none. Behind drafts it may be at no position: only a worker knows. */
  override missingPage(id: RequestId, tokens: number, writtenTokens?: number): number | null {
    const position = this.positions(tokens) - 1;
    const standsAt = this.#running.get(id)?.tokensAt.get(position);
    if (standsAt !== undefined && standsAt !== tokens) return position;
    return this.#draftedPages > 0 ? null : super.missingPage(id, tokens, writtenTokens);
  }

  /** Publishes the states that stand exactly at the end of their page, or of the prompt. */
  override publish(request: CacheRequest, limits: PublishLimits): void {
    const { tokensPerPage } = this.layout;
    const table = this.table(request);
    const { tokensAt } = this.#runningOf(request.id);
    for (const [position, tokens] of tokensAt) {
      const page = table.pages[position];
      if (page === NULL_PAGE || tokens > limits.finalTokens) continue;
      if (this.pool.carries(page, table.sequence, tokens, this.layout.id)) continue;
      if (tokens === (position + 1) * tokensPerPage) {
        if (tokens > limits.tokens || limits.masked?.(position)) continue;
        this.publishPages(table, position, position + 1);
      } else if (tokens === limits.tail) {
        const { owner, sequence } = table;
        this.pool.publishPartial({ owner, page, index: position, sequence, tokens });
        this.unwritten?.add(page);
      }
    }
    table.publishedPages = Math.min(table.length, Math.floor(limits.tokens / tokensPerPage));
  }

  override boundaryStates(id: RequestId): { group: GroupId; page: PageId; tokens: number }[] {
    const { tokensPerPage, id: group } = this.layout;
    const pages = this.pageTable(id);
    const states = [];
    for (const [position, tokens] of this.#running.get(id)?.tokensAt ?? []) {
      const page = pages[position];
      if (tokens === (position + 1) * tokensPerPage && page !== NULL_PAGE)
        states.push({ group, page, tokens });
    }
    return states;
  }

  override withdraw(id: RequestId, fromToken: number): PageId[] {
    const running = this.#running.get(id);
    if (running)
      for (const [at, tokens] of running.tokensAt) if (tokens > fromToken) running.tokensAt.delete(at);
    return super.withdraw(id, fromToken);
  }

  override free(id: RequestId): readonly PageId[] {
    const running = this.#running.get(id);
    this.#running.delete(id);
    if (running && running.announced.length > 0) this.pool.free(running.announced);
    return super.free(id);
  }

  override fork(parent: RequestId, child: CacheRequest, tokens: number): void {
    super.fork(parent, child, tokens);
    this.#start(child.id, tokens);
  }

  override checkIntegrity(references: Int32Array): void {
    super.checkIntegrity(references);
    for (const [id, table] of this.tables) {
      const { positions, announced } = this.#runningOf(id);
      const held = [...table.pages.keys()].filter((position) => table.pages[position] !== NULL_PAGE);
      invariant(
        held.length === positions.length && held.every((position, i) => position === positions[i]),
        `request ${id}: states at ${held.join(', ')} of its table, listed are ${positions.join(', ')}`,
      );
      for (const page of announced) references[page]++;
    }
    invariant(this.#running.size === this.tables.size, 'a running state has no table');
  }

  /**
   * Before a state under a key is overwritten in place, the key moves to a copy. The table of the owner stays as it
   * is, since a worker may know it already. Without a free page the key is given up.
   */
  preserveTail(request: CacheRequest, { total, main }: Amounts, sparePages: number): number {
    if (!this.#mayOverwrite(request, total, main)) return 0;
    const page = this.table(request).pages[this.positions(total) - 1];
    const keyed = page === NULL_PAGE ? null : this.pool.keyedTokens(page);
    if (keyed === null || keyed === main) return 0;
    if (sparePages < 1) {
      this.pool.withdrawKeys(page);
      return 0;
    }
    const [copy] = this.pool.allocate(1);
    this.pool.moveKeys(page, copy);
    this.pool.touch([page]);
    this.copies.add({ group: this.layout.id, source: page, destination: copy });
    this.unwritten?.add(copy);
    if (this.#onAnnounce && this.#holdsAnnounced) {
      this.pool.touch([copy]);
      this.#runningOf(request.id).announced.push(copy);
    }
    this.#onAnnounce?.({ request: request.id, page: copy, tokens: keyed });
    return 1;
  }

  /**
   * Whether work up to `main` may leave another state where the one after `total` tokens stands. Drafts may reach into
   * the next page and all be rejected, so only the request's own tokens tell.
   */
  #mayOverwrite({ sequence }: CacheRequest, total: number, main: number): boolean {
    const atLeast = Math.min(main, sequence.length);
    return main > total && this.endsInside(total) && this.positions(atLeast) <= this.positions(total);
  }

  /** Makes the running state stand where token `tokens` belongs, with the drafted ones behind it. */
  #grow(table: PageTable, tokens: number, added: PageId[]): void {
    const running = this.#runningOf(table.owner.request);
    const drafted = running.hasDrafted ? this.#draftedPages : 0;
    const positions = table.length - drafted;
    const target = this.positions(tokens);
    if (target > positions) {
      const moved: PageId[] = [];
      for (let i = positions; i < table.length; i++) moved.push(table.replace(i, NULL_PAGE));
      table.pad(target + moved.length);
      const [state] = this.pool.allocate(1, table.owner, target - 1);
      added.push(state);
      table.replace(target - 1, state);
      for (const [i, page] of moved.entries()) table.replace(target + i, page);
      this.#reportMoved(table, positions, positions + moved.length, target);
    }
    if (!running.hasDrafted) {
      running.hasDrafted = true;
      this.append(table, this.#draftedPages, added);
    }
    running.positions = this.#heldPositions(table, running.positions);
  }

  /** Tells what stands now where drafted states stood, from `start` to `end`, and where they stand, from `target` on. */
  #reportMoved(table: PageTable, start: number, end: number, target: number): void {
    if (!this.#onEvent) return;
    const { owner, pages } = table;
    for (let i = start; i < end; i++) {
      if (pages[i] === NULL_PAGE) this.#onEvent({ type: 'replaced', owner, position: i, page: NULL_PAGE });
    }
    for (let i = target; i < target + end - start; i++) {
      this.#onEvent({ type: 'replaced', owner, position: i, page: pages[i] });
    }
  }

  /** Positions with a page: those that were, and what stands at the end of the table. */
  #heldPositions(table: PageTable, former: readonly number[]): number[] {
    const end = Math.max(0, table.length - 1 - this.#draftedPages);
    const held = former.filter((position) => position < end && table.pages[position] !== NULL_PAGE);
    for (let i = end; i < table.length; i++) if (table.pages[i] !== NULL_PAGE) held.push(i);
    return held;
  }

  /** For a new table, whose last page is the state after `tokens` tokens, if it has one. */
  #start(id: RequestId, tokens: number): void {
    const { pages } = this.tables.get(id)!;
    const positions = [...pages.keys()].filter((position) => pages[position] !== NULL_PAGE);
    const last = pages.length - 1;
    this.#running.set(id, {
      positions,
      tokensAt: new Map(positions.includes(last) ? [[last, tokens]] : []),
      hasDrafted: false,
      announced: [],
    });
  }

  #runningOf(id: RequestId): Running {
    const running = this.#running.get(id);
    invariant(running !== undefined, `request ${id} has no running state; allocate before anything else`);
    return running;
  }
}
