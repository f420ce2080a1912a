/**
 * Takes the forward part of a step plan apart into work on single pages: words to fill, and words to check. Both
 * workers run the same lists, group by group.
 *
 * What a step reads of a request, and so what is checked, depends on the kind of the group:
 *
 *   full attention, compressed   all rows
 *   sliding window               the rows of the window of its first token, and what comes after
 *   chunked local                the rows of the chunk of its first token, and what comes after
 *   ring                         what the request itself wrote, as far back as the ring goes
 *   recurrent                    the state that the step starts from; before it may be overwritten in place
 */
import type { GroupConfig } from '../config/groups.ts';
import type { CacheLayout, GroupLayout } from '../config/layout.ts';
import { InvariantError } from '../errors.ts';
import type { ForwardRequest } from '../schedule/step-plan.ts';
import { ceilDiv, NULL_PAGE } from '../units.ts';
import { OpList, type PageOps } from './page-ops.ts';
import { pageShape, rowsBefore, wordsOfRows, type PageShape } from './page-shape.ts';
import { pageSeed, stateSeed } from './pattern.ts';

export interface GroupOps {
  readonly shape: PageShape;
  /** Checked before anything is filled. */
  readonly before: PageOps;
  readonly fill: PageOps;
  /** Checked once everything is filled. */
  readonly check: PageOps;
}

export interface WitnessOps {
  /** Token ids of all requests of the step, one after the other. */
  readonly tokens: Uint32Array;
  /** By group of the layout. */
  readonly groups: readonly GroupOps[];
}

/** The work of one rank. Throws `InvariantError` where a request would read or write the null page. */
export function witnessOps(
  forward: readonly ForwardRequest[],
  layout: CacheLayout,
  rank: number,
): WitnessOps {
  let tokenCount = 0;
  for (const { end } of forward) tokenCount += end;
  const tokens = new Uint32Array(tokenCount);
  const groups = layout.groups.map((group) => new GroupLists(layout, group, rank));
  let firstToken = 0;
  for (const request of forward) {
    tokens.set(request.tokens.subarray(0, request.end), firstToken);
    for (const group of groups) group.add(request, firstToken);
    firstToken += request.end;
  }
  return { tokens, groups };
}

class GroupLists implements GroupOps {
  readonly shape: PageShape;
  readonly before = new OpList();
  readonly fill = new OpList();
  readonly check = new OpList();
  private readonly group: GroupLayout;
  private readonly unitTokens: number;
  private readonly rank: number;

  constructor(layout: CacheLayout, group: GroupLayout, rank: number) {
    this.shape = pageShape(layout, group, rank);
    this.group = group;
    this.unitTokens = layout.hashTokens;
    this.rank = rank;
  }

  /** `firstToken`: where the request's token 0 stands in the tokens of the step. */
  add(request: ForwardRequest, firstToken: number): void {
    const { start, end } = request;
    const { config } = this.group;
    if (config.kind === 'recurrent') {
      this.addStates(request, firstToken);
    } else if (config.kind === 'ring') {
      this.addTurns(this.fill, request, firstToken, Math.max(start, end - config.capacityTokens));
      this.addTurns(
        this.check,
        request,
        firstToken,
        Math.max(request.computedFrom, end - config.capacityTokens),
      );
    } else {
      this.addRows(this.fill, request, firstToken, start);
      this.addRows(this.check, request, firstToken, firstTokenRead(config, start));
    }
  }

  /** The rows that tokens `from` to the end of the step complete. */
  private addRows(list: OpList, request: ForwardRequest, firstToken: number, from: number): void {
    const { shape, group } = this;
    const first = rowsBefore(from, shape);
    const last = rowsBefore(request.end, shape);
    for (let index = Math.floor(first / shape.rows); index * shape.rows < last; index += 1) {
      const pageStart = index * group.tokensPerPage;
      list.push(
        this.pageAt(request, index),
        this.seedAt(request, pageStart),
        firstToken + pageStart,
        wordsOfRows(Math.max(first - index * shape.rows, 0), shape),
        wordsOfRows(Math.min(last - index * shape.rows, shape.rows), shape),
      );
    }
  }

  /** A ring's page, one operation for each time that tokens `from` to the end of the step go round it. */
  private addTurns(list: OpList, request: ForwardRequest, firstToken: number, from: number): void {
    const { shape } = this;
    for (let turn = Math.floor(from / shape.rows); turn * shape.rows < request.end; turn += 1) {
      const turnStart = turn * shape.rows;
      list.push(
        this.pageAt(request, 0),
        this.seedAt(request, turnStart),
        firstToken + turnStart,
        wordsOfRows(Math.max(from - turnStart, 0), shape),
        wordsOfRows(Math.min(request.end - turnStart, shape.rows), shape),
      );
    }
  }

  private addStates(request: ForwardRequest, firstToken: number): void {
    const { start, end } = request;
    const { config, tokensPerPage } = this.group;
    if (start > 0) this.addState(this.before, request, firstToken, start);
    if (config.kind === 'recurrent' && config.states === 'all') {
      const first = Math.floor(start / tokensPerPage) + 1;
      for (let at = first * tokensPerPage; at < end; at += tokensPerPage)
        this.addState(this.fill, request, firstToken, at);
    }
    this.addState(this.fill, request, firstToken, end);
  }

  /** The state after `tokens` tokens, which stands where the last of them belongs. */
  private addState(list: OpList, request: ForwardRequest, firstToken: number, tokens: number): void {
    const unitStart = tokens - (tokens % this.unitTokens);
    const unitSeed = this.seedAt(request, unitStart);
    list.push(
      this.pageAt(request, ceilDiv(tokens, this.group.tokensPerPage) - 1),
      stateSeed(unitSeed, request.tokens.subarray(unitStart, tokens)),
      firstToken + tokens - 1,
      0,
      this.shape.pageWords,
    );
  }

  private pageAt({ requestId, tables }: ForwardRequest, position: number): number {
    const page = tables[this.group.id][position] as number | undefined;
    if (page !== undefined && page !== (NULL_PAGE as number)) return page;
    throw new InvariantError(
      `request ${requestId} reads or writes position ${position} of group ${this.group.id}, where it has no page`,
    );
  }

  private seedAt({ unitSeeds }: ForwardRequest, tokens: number): number {
    return pageSeed(unitSeeds[Math.floor(tokens / this.unitTokens)], this.group.id, this.rank);
  }
}

/** The first token that the rows of a step beginning at `start` attend to. */
function firstTokenRead(config: GroupConfig, start: number): number {
  if (config.kind === 'sliding-window') return Math.max(0, start - config.windowTokens + 1);
  if (config.kind === 'chunked-local') return start - (start % config.chunkTokens);
  return 0;
}
