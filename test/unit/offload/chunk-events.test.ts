/** Cases J1 to J4: what is told of chunks that come into the tier and leave it. */
import { describe, expect, it } from 'vitest';
import { createPrefixHasher, makePrefixKey } from '../../../src/cache/prefix-key.ts';
import { TokenSequence } from '../../../src/cache/token-sequence.ts';
import { cacheConfigSchema, type CacheConfigInput } from '../../../src/config.ts';
import { resolveLayout } from '../../../src/config/layout.ts';
import { ChunkEvents, type ChunkEvent } from '../../../src/offload/chunk-events.ts';
import type { OffloadEvent } from '../../../src/offload/events.ts';
import { chunkKey, offloadGroups } from '../../../src/offload/groups.ts';
import { groupId } from '../../../src/units.ts';
import { makeConnector, makeRequest, pages, range, run, Steps } from './support/requests.ts';

function setUp(cache: Partial<CacheConfigInput>, tokens: readonly number[], pagesPerSlot = 1) {
  const layout = resolveLayout(cacheConfigSchema.parse({ pages: 8, ...cache }));
  const [group] = offloadGroups(layout, pagesPerSlot);
  const sequence = new TokenSequence({ tokens, unitTokens: layout.hashTokens, hasher: createPrefixHasher() });
  const told: ChunkEvent[] = [];
  const events = new ChunkEvents(pagesPerSlot, (event) => told.push(event));
  return { group, sequence, told, events, key: (chunk: number) => chunkKey(sequence, group, chunk) };
}

describe('chunks of full attention', () => {
  it.each([
    [[[0, 1, 2, 3, 4, 5]]],
    [
      [
        [0, 1, 2],
        [3, 4, 5],
      ],
    ],
  ])('J1: stored in batches %j, each with its tokens and the key before it', (batches) => {
    const { group, sequence, told, events, key } = setUp({ tokensPerPage: 4, pageBytes: 64 }, range(24, 1));
    for (const batch of batches) {
      for (const chunk of batch) events.note(sequence, group, chunk);
      events.stored(batch.map(key));
    }
    expect(told).toEqual(
      range(6).map((chunk) => ({
        type: 'chunk-stored',
        group: 0,
        pageKeys: [key(chunk)],
        parent: chunk === 0 ? null : key(chunk - 1),
        tokens: range(4, 4 * chunk + 1),
        pageTokens: 4,
      })),
    );
  });

  it.each([1, 2])('J2: units of 4 in pages of 256, %d pages a slot: one key a page', (pagesPerSlot) => {
    const length = 256 * pagesPerSlot;
    const common = { tokensPerPage: 256, pageBytes: 64 };
    const cache = {
      matchTokens: 4,
      groups: [
        { kind: 'full-attention' as const, ...common },
        { kind: 'recurrent' as const, ...common },
      ],
    };
    const { group, sequence, told, events, key } = setUp(cache, range(length), pagesPerSlot);
    events.note(sequence, group, 0);
    events.stored([key(0)]);
    const pageEnds = range(pagesPerSlot).map((page) => 256 * (page + 1));
    expect(pageEnds.map((end) => end / 4 - 1)).toEqual([63, 127].slice(0, pagesPerSlot));
    expect(told).toMatchObject([
      { pageKeys: pageEnds.map((end) => sequence.prefixKey(end, groupId(0))), pageTokens: 256 },
    ]);
    expect(told[0]).toHaveProperty('tokens.length', length);
  });

  it('J3: two pages a slot: the second follows the first, and their removal is one event that forgets them', () => {
    const { group, sequence, told, events, key } = setUp({ tokensPerPage: 4, pageBytes: 64 }, range(16), 2);
    for (const chunk of [0, 1]) events.note(sequence, group, chunk);
    events.stored([key(0), key(1)]);
    const pageKeys = range(4).map((page) => sequence.prefixKey(4 * (page + 1), groupId(0)));
    expect(told).toMatchObject([
      { pageKeys: pageKeys.slice(0, 2), parent: null },
      { pageKeys: pageKeys.slice(2), parent: pageKeys[1] },
    ]);
    events.removed([key(0), key(1)]);
    expect(told.slice(2)).toEqual([{ type: 'chunks-removed', group: 0, pageKeys }]);
    expect(events.size).toBe(0);
  });

  it('J4: a key that nobody noted is told bare, in its place', () => {
    const { group, sequence, told, events, key } = setUp({ tokensPerPage: 4, pageBytes: 64 }, range(24), 3);
    for (const chunk of [0, 1]) events.note(sequence, group, chunk);
    const unknown = makePrefixKey(new Uint8Array(32).fill(7), groupId(0));
    events.stored([key(1), unknown, key(0)]);
    const stored = told.filter((event) => event.type === 'chunk-stored');
    expect(stored.map(({ pageKeys }) => pageKeys.length)).toEqual([3, 1, 3]);
    expect(stored[1]).toMatchObject({ pageKeys: [unknown], parent: null, tokens: [], pageTokens: 0 });
    expect(stored[0].parent).toBe(stored[2].pageKeys.at(-1));
  });

  it('windows and states are told bare: they say nothing about the tokens before them', () => {
    const { group, sequence, told, events, key } = setUp(
      { groups: [{ kind: 'sliding-window', tokensPerPage: 4, pageBytes: 64, windowTokens: 4 }] },
      range(8),
    );
    events.note(sequence, group, 1);
    events.stored([key(1)]);
    expect(told).toMatchObject([{ pageKeys: [key(1)], tokens: [], pageTokens: 0 }]);
  });
});

describe('a connector', () => {
  it('tells of a chunk when its store is complete, and of its removal', () => {
    const told: OffloadEvent[] = [];
    const chunks = () => told.filter(({ type }) => type === 'chunk-stored' || type === 'chunks-removed');
    const steps = new Steps(makeConnector({ slots: 1 }, { onEvent: (event) => told.push(event) }));
    const request = makeRequest('r', range(4));
    const scheduled = [run(request, pages(1), { tokens: 4, newPages: pages(1) })];
    const [store] = steps.build({ scheduled }).stores;
    expect(chunks()).toEqual([]);
    steps.acknowledge(store.id);
    expect(chunks()).toMatchObject([{ type: 'chunk-stored', tokens: range(4), parent: null }]);
    steps.finish(request, pages(1));
    steps.putOnHost(range(4, 50), pages(2), 'other');
    expect(chunks().map(({ type }) => type)).toEqual(['chunk-stored', 'chunks-removed', 'chunk-stored']);
  });

  it('says nothing of a store that failed', () => {
    const told: OffloadEvent[] = [];
    const steps = new Steps(makeConnector({ slots: 4 }, { onEvent: (event) => told.push(event) }));
    const request = makeRequest('r', range(4));
    const [store] = steps.build({
      scheduled: [run(request, pages(1), { tokens: 4, newPages: pages(1) })],
    }).stores;
    steps.fail(store.id);
    expect(told.map(({ type }) => type)).toEqual(['store-prepared', 'store-ended']);
  });
});
