/** The connector over several groups: which pages of which group go where. Page names: (group, position). */
import { describe, expect, it } from 'vitest';
import { cacheConfigSchema, offloadConfigSchema, type OffloadConfig } from '../../../src/config.ts';
import type { GroupConfigInput } from '../../../src/config/groups.ts';
import { resolveLayout, type CacheLayout } from '../../../src/config/layout.ts';
import { OffloadConnector } from '../../../src/offload/connector.ts';
import type { ConnectorMeta, Holdings } from '../../../src/schedule/connector-interface.ts';
import type { Request } from '../../../src/schedule/request.ts';
import { groupId, NULL_PAGE, pageId, type JobId, type PageId } from '../../../src/units.ts';
import { zeroed } from '../../support/one-group.ts';
import { makeRequest, range } from './support/requests.ts';

const BYTES = 16;
const full = (tokensPerPage: number, draft = false): GroupConfigInput => ({
  kind: 'full-attention',
  tokensPerPage,
  pageBytes: BYTES,
  draft,
});
const window = (tokensPerPage: number, windowTokens: number): GroupConfigInput => ({
  kind: 'sliding-window',
  tokensPerPage,
  windowTokens,
  pageBytes: BYTES,
});
const state = (tokensPerPage: number): GroupConfigInput => ({
  kind: 'recurrent',
  tokensPerPage,
  pageBytes: BYTES,
});
const ring: GroupConfigInput = { kind: 'ring', capacityTokens: 2, after: 'tail', pageBytes: BYTES };

/** Pages by group: position i of group g is page 100 * (g + 1) + i. */
const named = (group: number, position: number): PageId => pageId(100 * (group + 1) + position);
const nameOf = (page: PageId): string => `(${Math.floor(page / 100) - 1},${page % 100})`;

class World {
  readonly layout: CacheLayout;
  readonly connector: OffloadConnector;
  #step = 0;
  #count = 0;

  constructor(
    groups: GroupConfigInput[],
    config: Partial<OffloadConfig> = {},
    matchTokens: number | null = null,
  ) {
    this.layout = resolveLayout(cacheConfigSchema.parse({ pages: 1000, groups, matchTokens }));
    const offload = offloadConfigSchema.parse({ slots: 64, ...config });
    this.connector = new OffloadConnector({ config: offload, layout: this.layout });
  }

  request(tokens: readonly number[]): Request {
    this.#count += 1;
    return makeRequest(`r${this.#count}`, tokens, this.layout.hashTokens);
  }

  /** Tables for so many tokens, without what lies before `from` in windows, and with a state at the end. */
  holdings(tokens: number, skipped = 0): Holdings {
    const states: Holdings['states'][number][] = [];
    const tables = this.layout.groups.map(({ id, kind, tokensPerPage }) => {
      if (kind === 'ring') return [named(id, 0)];
      const length = Math.ceil(tokens / tokensPerPage);
      if (kind === 'recurrent' && tokens % tokensPerPage === 0) {
        states.push({ group: id, page: named(id, length - 1), tokens });
      }
      return Array.from({ length }, (_, i) => {
        const isSkipped =
          kind === 'recurrent'
            ? i < length - 1
            : kind === 'sliding-window' && (i + 1) * tokensPerPage <= skipped;
        return isSkipped ? NULL_PAGE : named(id, i);
      });
    });
    return { tables, states };
  }

  /** Computes `tokens` more. Gives what is stored, job by job. */
  run(
    request: Request,
    tokens: number,
    holdings = this.holdings(request.computedTokens + tokens),
  ): ConnectorMeta {
    const computedBefore = request.computedTokens;
    request.computedTokens += tokens;
    return this.build({
      request,
      holdings,
      newPages: [],
      resumed: false,
      computedBefore,
      scheduledTokens: tokens,
    });
  }

  build(
    scheduled?: Parameters<OffloadConnector['buildConnectorMeta']>[0]['scheduled'][number],
    zero: PageId[] = [],
  ): ConnectorMeta {
    const meta = this.connector.buildConnectorMeta({
      step: this.#step++,
      scheduled: scheduled ? [scheduled] : [],
      preempted: [],
      newPageIdsToZero: zeroed(zero, groupId(0)),
      copies: { copies: [] },
      tails: [],
    });
    this.connector.checkIntegrity();
    return meta;
  }

  acknowledge(jobs: readonly { readonly id: JobId }[]): void {
    this.connector.updateFromAcknowledgements(jobs.map(({ id }) => ({ job: id, ok: true })));
    this.connector.checkIntegrity();
  }

  /** Computes and stores a whole prompt. */
  fill(tokens: readonly number[], chunk = tokens.length): void {
    const request = this.request(tokens);
    for (let at = 0; at < tokens.length; at += chunk) {
      this.acknowledge(this.run(request, Math.min(chunk, tokens.length - at)).stores);
    }
    request.sequence.append(7);
    request.finishReason = 'length';
    this.connector.requestFinished(request, this.holdings(tokens.length));
    this.acknowledge(this.build().stores);
  }

  /** Looks a prompt up and loads what there is. Gives the external tokens and the pages. */
  load(
    tokens: readonly number[],
    localTokens = 0,
    skippedOf: (end: number) => number = () => 0,
  ): { external: number; pages: string[] } {
    const request = this.request(tokens);
    const external = this.connector.matchedTokens(request, localTokens);
    if (typeof external === 'string') throw new Error('ask again');
    const end = localTokens + external;
    const { tables } = this.holdings(end, skippedOf(end));
    this.connector.updateStateAfterAllocation(request, { tables, localTokens, externalTokens: external });
    const { loads } = this.build();
    this.acknowledge(loads);
    return { external, pages: loads.flatMap(({ pages }) => pages.map(nameOf)) };
  }
}

const stored = ({ stores }: ConnectorMeta): string[] => stores.flatMap(({ pages }) => pages.map(nameOf));

describe('loads', () => {
  it('D1, D2: a window group loads its window and no more, behind what the device has', () => {
    const world = new World([full(4), window(4, 8)]);
    world.fill(range(17));
    const before = (end: number) => end - 7;
    expect(world.load(range(13), 0, before)).toEqual({
      external: 12,
      pages: ['(0,0)', '(0,1)', '(0,2)', '(1,1)', '(1,2)'],
    });
    expect(world.load(range(17), 12, before)).toEqual({ external: 4, pages: ['(0,3)', '(1,3)'] });
  });

  it('D4: pages of 12 and of 16 tokens end together every 48; the last token is computed', () => {
    const world = new World([full(12), full(16)]);
    world.fill(range(49));
    expect(world.load(range(49))).toEqual({
      external: 48,
      pages: ['(0,0)', '(0,1)', '(0,2)', '(0,3)', '(1,0)', '(1,1)', '(1,2)'],
    });
    expect(world.load(range(48)).external).toBe(0);
  });

  it('a state is loaded for the end of the hit alone', () => {
    const world = new World([full(4), state(4), ring]);
    world.fill(range(12), 4);
    const request = world.request(range(13));
    expect(world.connector.matchedTokens(request, 0)).toBe(12);
    expect(world.load(range(13)).pages).toEqual(['(0,0)', '(0,1)', '(0,2)', '(1,2)']);
  });

  it('chunks of two pages: a hit ends with a chunk, and begins inside one', () => {
    const world = new World([full(4)], { pagesPerSlot: 2 });
    world.fill(range(20));
    expect(world.load(range(17)).external).toBe(16);
    const request = world.request(range(17));
    expect(world.connector.matchedTokens(request, 4)).toBe(12);
    const { tables } = world.holdings(16);
    world.connector.updateStateAfterAllocation(request, { tables, localTokens: 4, externalTokens: 12 });
    const [load] = world.build().loads;
    // The first slot's first place belongs to the page that the device has.
    expect(load.pages.map(nameOf)).toEqual(['(0,1)', '(0,2)', '(0,3)']);
    expect(load.slots).toEqual([1, 2, 3]);
  });
});

describe('stores', () => {
  it('D3: each group stores as its own pages fill', () => {
    const world = new World([full(12), full(16)]);
    const request = world.request(range(25));
    expect(stored(world.run(request, 25))).toEqual(['(0,0)', '(0,1)', '(1,0)']);
    const grow = (to: number): string[] => {
      while (request.sequence.length < to) request.sequence.append(request.sequence.length);
      return stored(world.run(request, to - request.computedTokens));
    };
    expect(grow(31)).toEqual([]);
    expect(grow(32)).toEqual(['(1,1)']);
    expect(grow(36)).toEqual(['(0,2)']);
    expect(grow(48)).toEqual(['(0,3)', '(1,2)']);
    expect(grow(96)).toEqual(['(0,4)', '(0,5)', '(0,6)', '(0,7)', '(1,3)', '(1,4)', '(1,5)']);
  });

  it('E2: of a window with smaller pages, only what a hit can need', () => {
    const world = new World([full(16), window(4, 8)]);
    const request = world.request(range(33));
    expect(stored(world.run(request, 32))).toEqual(['(0,0)', '(0,1)', '(1,2)', '(1,3)', '(1,6)', '(1,7)']);
  });

  it.each([
    [null, 9],
    [0, 0],
    [24, 6],
  ])('E4: at most %s tokens of a request: %i pages', (storeTokensMax, count) => {
    const world = new World([full(4)], { storeTokensMax });
    expect(stored(world.run(world.request(range(37)), 36))).toHaveLength(count);
  });

  it('E5: prompts alone', () => {
    const world = new World([full(4)], { storePromptsOnly: true });
    const request = world.request(range(24));
    expect(stored(world.run(request, 24))).toHaveLength(6);
    for (let token = 24; token < 40; token += 1) request.sequence.append(token);
    expect(stored(world.run(request, 16))).toEqual([]);
  });

  it('E7: a drafter keeps its last page back while it decodes, and only then', () => {
    const world = new World([full(4), full(4, true)]);
    const request = world.request(range(12));
    expect(stored(world.run(request, 12))).toEqual(['(0,0)', '(0,1)', '(0,2)', '(1,0)', '(1,1)', '(1,2)']);
    for (let token = 12; token < 16; token += 1) request.sequence.append(token);
    expect(stored(world.run(request, 4))).toEqual(['(0,3)']);
  });

  it('E12, E14: a state is stored from the page that holds it, in a job of its own', () => {
    const world = new World([full(4), state(4)]);
    const request = world.request(range(9));
    const { stores } = world.run(request, 8);
    expect(stores.map(({ pages }) => pages.map(nameOf))).toEqual([['(1,1)'], ['(0,0)', '(0,1)']]);
  });

  it('a state that stands inside a page is not stored', () => {
    const world = new World([full(4), state(4)]);
    expect(stored(world.run(world.request(range(9)), 6))).toEqual(['(0,0)']);
  });

  it('O-I25: rings are never stored, loaded or fenced', () => {
    const world = new World([full(4), ring]);
    const request = world.request(range(9));
    expect(stored(world.run(request, 8))).toEqual(['(0,0)', '(0,1)']);
    expect(world.connector.snapshot().fence.size).toBe(0);
  });
});

describe('the fence', () => {
  it('F5: windows are fenced from the start, full attention from the end; the job is flushed as a whole', () => {
    const world = new World([full(4), window(4, 8)]);
    const request = world.request(range(4));
    const { stores } = world.run(request, 4);
    const [job] = stores;
    const fenced = () => [...world.connector.snapshot().fence.keys()].map(nameOf);
    expect(fenced()).toEqual(['(1,0)']);
    request.sequence.append(9);
    request.finishReason = 'length';
    world.connector.requestFinished(request, world.holdings(4));
    expect(fenced().sort()).toEqual(['(0,0)', '(1,0)']);
    expect(world.build(undefined, [named(0, 0)]).jobsToFlush).toEqual([job.id]);
    world.acknowledge(stores);
    expect(fenced()).toEqual([]);
    expect(world.connector.snapshot().jobs).toEqual([]);
  });

  it('F16: a state page that a parked request’s ring gets is flushed; what this step fills is not', () => {
    const world = new World([full(4), state(4), ring]);
    const request = world.request(range(8));
    const first = world.run(request, 4, {
      tables: [[11], [21], [31]].map((ids) => ids.map(pageId)),
      states: [{ group: groupId(1), page: pageId(21), tokens: 4 }],
    });
    const [stateJob] = first.stores;
    expect(stateJob.pages).toEqual([21]);
    expect([...world.connector.snapshot().fence.keys()]).toEqual([21]);
    request.computedTokens = 8;
    const meta = world.build(
      {
        request,
        holdings: {
          tables: [[11, 12], [0, 22], [31]].map((ids) => ids.map(pageId)),
          states: [{ group: groupId(1), page: pageId(22), tokens: 8 }],
        },
        newPages: [12, 22].map(pageId),
        resumed: false,
        computedBefore: 4,
        scheduledTokens: 4,
      },
      [12, 22, 21].map(pageId),
    );
    expect(meta.jobsToFlush).toEqual([stateJob.id]);
    expect(meta.stores.flatMap(({ pages }) => pages)).toEqual([22, 12]);
  });

  it('E13: a page that is copied onto is flushed', () => {
    const world = new World([full(4), state(4)]);
    const request = world.request(range(9));
    const { stores } = world.run(request, 4);
    const [page] = stores[0].pages;
    const { jobsToFlush } = world.connector.buildConnectorMeta({
      step: 9,
      scheduled: [],
      preempted: [],
      newPageIdsToZero: [],
      copies: { copies: [{ group: groupId(1), source: pageId(50), destination: page }] },
      tails: [],
    });
    expect(jobsToFlush).toEqual([stores[0].id]);
  });
});
