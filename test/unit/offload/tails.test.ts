/** Cases D12, D13, E11 and J5: hits that end inside a page, in the host tier. Pages of 16 tokens, hashed by 4. */
import { describe, expect, it } from 'vitest';
import { cacheConfigSchema, offloadConfigSchema } from '../../../src/config.ts';
import { resolveLayout } from '../../../src/config/layout.ts';
import { OffloadConnector } from '../../../src/offload/connector.ts';
import type { OffloadEvent } from '../../../src/offload/events.ts';
import type { Holdings } from '../../../src/schedule/connector-interface.ts';
import { groupId, NULL_PAGE, pageId, type PageId, type PrefixKey } from '../../../src/units.ts';
import { makeWorld, prompt } from '../../support/worlds.ts';
import { makeRequest, pages, range } from './support/requests.ts';

const layout = resolveLayout(
  cacheConfigSchema.parse({
    pages: 128,
    matchTokens: 4,
    groups: [
      { kind: 'full-attention', tokensPerPage: 16, pageBytes: 64 },
      { kind: 'recurrent', tokensPerPage: 16, pageBytes: 64 },
    ],
  }),
);

function setUp() {
  const told: OffloadEvent[] = [];
  const connector = new OffloadConnector({
    config: offloadConfigSchema.parse({ slots: 32 }),
    layout,
    onEvent: (event) => told.push(event),
  });
  const put = (keys: readonly PrefixKey[]) => {
    connector.manager.completeStore(connector.manager.prepareStore(keys)!.keys);
  };
  return { connector, told, put };
}

const thirty = () => makeRequest('r', range(30), 4);

describe('lookup', () => {
  it('D12: with every key there, 28 of 30 tokens, loaded by one job into the pages that hold them', () => {
    const { connector, put } = setUp();
    const request = thirty();
    const { sequence } = request;
    put([16, 28].map((tokens) => sequence.prefixKey(tokens, groupId(0))));
    put([16, 28].map((tokens) => sequence.prefixKey(tokens, groupId(1))));
    expect(connector.matchedTokens(request, 0)).toBe(28);
    const tables = [pages(31, 32), [NULL_PAGE, pageId(41)]];
    expect(
      connector.updateStateAfterAllocation(request, { tables, localTokens: 0, externalTokens: 28 }),
    ).toEqual([31, 32, 41]);
    connector.checkIntegrity();
  });

  it('D13: without the state of 28 tokens, those of 16', () => {
    const { connector, put } = setUp();
    const request = thirty();
    const { sequence } = request;
    put([16, 28].map((tokens) => sequence.prefixKey(tokens, groupId(0))));
    put([sequence.prefixKey(16, groupId(1))]);
    expect(connector.matchedTokens(request, 0)).toBe(16);
  });

  it('a tail that is being written is asked for again', () => {
    const { connector, put } = setUp();
    const request = thirty();
    const { sequence } = request;
    put([16, 28].map((tokens) => sequence.prefixKey(tokens, groupId(0))));
    put([sequence.prefixKey(16, groupId(1))]);
    connector.manager.prepareStore([sequence.prefixKey(28, groupId(1))]);
    expect(connector.matchedTokens(request, 0)).toBe('ask again');
  });

  it('never covers the last token', () => {
    const { connector, put } = setUp();
    const request = makeRequest('r', range(28), 4);
    const { sequence } = request;
    for (const group of [0, 1].map(groupId)) {
      put([16, 24, 28].map((tokens) => sequence.prefixKey(tokens, group)));
    }
    expect(connector.matchedTokens(request, 0)).toBe(24);
  });
});

describe('store', () => {
  const tail = { request: thirty().id, group: groupId(1), page: pageId(99), tokens: 28 };

  function storeTail(states = [tail]) {
    const world = setUp();
    const { connector } = world;
    const request = thirty();
    const holdings = (tables: PageId[][]): Holdings => ({ tables, states: [] });
    const tables = [pages(11, 12), [NULL_PAGE, pageId(21)]];
    const step = (from: number, tokens: number, tails: typeof states) => {
      request.computedTokens = from + tokens;
      return connector.buildConnectorMeta({
        step: from,
        scheduled: [
          {
            request,
            holdings: holdings(tables),
            newPages: [],
            resumed: false,
            computedBefore: from,
            scheduledTokens: tokens,
          },
        ],
        preempted: [],
        newPageIdsToZero: [],
        copies: { copies: [] },
        tails,
      });
    };
    const first = step(0, 28, []);
    connector.updateFromAcknowledgements(first.stores.map(({ id }) => ({ job: id, ok: true })));
    return { ...world, request, meta: step(28, 2, states) };
  }

  it('E11: the page that the tail ends in and the page of its state, fenced from the start', () => {
    const { connector, meta } = storeTail();
    expect(meta.stores.map((store) => store.pages)).toEqual([pages(12, 99)]);
    expect([...connector.snapshot().fence]).toEqual([
      [12, [meta.stores[0].id]],
      [99, [meta.stores[0].id]],
    ]);
    connector.checkIntegrity();
  });

  it('J5: its event has the keys of the units in the page, and the one before them', () => {
    const { connector, told, request, meta } = storeTail();
    told.length = 0;
    connector.updateFromAcknowledgements(meta.stores.map(({ id }) => ({ job: id, ok: true })));
    const { sequence } = request;
    const key = (tokens: number, group = 0) => sequence.prefixKey(tokens, groupId(group));
    expect(told.filter(({ type }) => type === 'chunk-stored')).toEqual(
      expect.arrayContaining([
        {
          type: 'chunk-stored',
          group: 0,
          pageKeys: [key(20), key(24), key(28)],
          parent: key(16),
          tokens: range(12, 16),
          pageTokens: 4,
        },
        { type: 'chunk-stored', group: 1, pageKeys: [key(28, 1)], parent: null, tokens: [], pageTokens: 0 },
      ]),
    );
  });

  it('nothing of a tail whose page of rows is gone', () => {
    const gone = { ...tail, tokens: 44 };
    expect(storeTail([gone]).meta.stores).toEqual([]);
  });
});

it('a tail comes back from the tier with its bytes, and is used to its end', async () => {
  const world = await makeWorld({
    cache: {
      pages: 12,
      matchTokens: 2,
      groups: [
        { kind: 'full-attention', tokensPerPage: 4, pageBytes: 32 },
        { kind: 'recurrent', tokensPerPage: 4, pageBytes: 16 },
      ],
    },
    offload: { slots: 32 },
  });
  const { engine, worker } = world;
  engine.add({ id: 'first', tokens: prompt(0, 7), maxOutputTokens: 4 });
  await engine.drain();
  engine.add({ id: 'pushes it out', tokens: prompt(500, 36) });
  await engine.drain();
  engine.add({ id: 'again', tokens: prompt(0, 7) });
  const [again] = await engine.drain();
  expect(again.hitTokens).toEqual({ device: 0, host: 6 });
  expect((await worker.readWitness()).mismatches).toBe(0);
  engine.checkIntegrity();
});
