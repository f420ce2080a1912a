/** Section H of the cases: several groups over one pool. */
import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../../src/errors.ts';
import { ringSlot } from '../../../src/cache/groups/ring.ts';
import { unreachablePages } from '../../../src/cache/reachability.ts';
import { resolveLayout } from '../../../src/config/layout.ts';
import { cacheConfigSchema } from '../../../src/config.ts';
import { pageId } from '../../../src/units.ts';
import { range } from './support/fixtures.ts';
import { full, recurrent, sliding, World } from './support/worlds.ts';

/** `shared` tokens that all prompts begin with, then `own` tokens of this one. */
const prompt = (shared: number, own: number, start = 5000): number[] => [
  ...range(0, shared),
  ...range(start, start + own),
];
const zeros = (count: number): number[] => Array.from({ length: count }, () => 0);

describe('full attention and two sliding windows', () => {
  const groups = [full(16), sliding(16, 32), sliding(16, 32)];

  it('H1: a prompt that shares three units takes the pages that its windows need', () => {
    const world = new World(21, groups);
    const a = world.request('a', prompt(48, 7));
    world.admit(a);
    expect(world.tables(a)).toEqual([range(1, 5), range(5, 9), range(9, 13)]);
    const b = world.request('b', prompt(48, 5, 6000));
    const { hit, pages, added } = world.admit(b);
    expect(hit).toBe(48);
    expect(pages).toEqual([
      [1, 2, 3],
      [0, 6, 7],
      [0, 10, 11],
    ]);
    expect(added).toEqual([[13], [14], [15]]);

    // H2: groups are freed one after the other, each tail first, pages without a key to the front.
    world.free(a);
    world.free(b);
    expect(world.manager.freeOrder()).toEqual([
      15, 14, 13, 12, 8, 4, 16, 17, 18, 19, 20, 5, 9, 3, 2, 1, 7, 6, 11, 10,
    ]);
  });

  it.each([
    ['none', [], 48, 0],
    [
      '(0,1), (0,2)',
      [
        [0, 1],
        [0, 2],
      ],
      48,
      0,
    ],
    ['(0,0)', [[0, 0]], 0, 48],
    [
      'unit 2 of all',
      [
        [2, 0],
        [2, 1],
        [2, 2],
      ],
      32,
      0,
    ],
    ['(2,0)', [[2, 0]], 32, 48],
    ['(2,1)', [[2, 1]], 32, 48],
    ['(2,2)', [[2, 2]], 32, 48],
    [
      '(2,0), (0,1), (0,2)',
      [
        [2, 0],
        [0, 1],
        [0, 2],
      ],
      0,
      48,
    ],
    ['(1,1)', [[1, 1]], 16, 48],
    ['(1,0)', [[1, 0]], 16, 48],
  ])('H3, H4: without the key of %s', (_, gone, hit, boundary) => {
    const world = new World(21, groups);
    const a = world.request('a', prompt(48, 7));
    world.admit(a);
    for (const [unit, group] of gone) world.evict(a, unit, group);
    const found = world.manager.lookup(world.request('b', prompt(48, 5, 6000)));
    expect({ hit: found.tokens, boundary: found.sharedPrefixTokens }).toEqual({ hit, boundary });
  });
});

describe('H5: a drafter drops the last unit', () => {
  const groups = [full(16, true), sliding(16, 48, true), sliding(16, 48, true)];
  const found = (gone: readonly (readonly [number, number])[]) => {
    const world = new World(31, groups);
    const a = world.request('a', prompt(96, 7));
    world.admit(a);
    for (const [unit, group] of gone) world.evict(a, unit, group);
    const b = world.request('b', prompt(96, 5, 6000));
    return { world, a, b, hit: world.manager.lookup(b) };
  };

  it('takes five of six units', () => {
    const { world, b, hit } = found([]);
    expect(hit.tokens).toBe(80);
    expect(hit.pages).toEqual([range(1, 6), [0, 0, 10, 11, 12], [0, 0, 17, 18, 19]]);
    expect(world.admit(b).added).toEqual([
      [22, 23],
      [24, 25],
      [26, 27],
    ]);
  });

  it.each([
    [[[0, 0]], 0, 80],
    [
      [
        [5, 0],
        [5, 1],
        [5, 2],
      ],
      64,
      0,
    ],
    [[[4, 1]], 48, 80],
    [[[5, 1]], 64, 80],
    [[[3, 1]], 32, 80],
    [[[2, 1]], 16, 80],
  ] as const)('without %j', (gone, tokens, boundary) => {
    const { hit } = found(gone);
    expect({ tokens: hit.tokens, boundary: hit.sharedPrefixTokens }).toEqual({ tokens, boundary });
  });
});

describe('pages of different sizes', () => {
  it('H6, H7: full attention of 32 tokens, a window of 32 in pages of 16', () => {
    const world = new World(40, [full(32), sliding(16, 32)]);
    const a = world.request('a', range(0, 112));
    world.admit(a);
    expect(world.tables(a)).toEqual([range(1, 5), range(5, 12)]);
    expect(world.published(a, 1)).toEqual(range(0, 6));
    const hits = [113, 97, 96, 81, 65, 33, 32].map((count) => {
      const tokens = count === 113 ? [...range(0, 112), 1] : range(0, count);
      return world.manager.lookup(world.request(`r${count}`, tokens)).tokens;
    });
    expect(hits).toEqual([96, 96, 64, 64, 64, 32, 0]);
    expect(world.manager.lookup(world.request('b', [...range(0, 112), 1])).pages).toEqual([
      [1, 2, 3],
      [0, 0, 0, 0, 9, 10],
    ]);
    world.decode(a, 16);
    // Upstream has one more: the prompt's end inside page 4, which no hit could use here (defect U5).
    expect(world.pool.keyCount).toBe(12);
    world.evict(a, 5, 1);
    expect(world.manager.lookup(world.request('c', range(0, 112))).tokens).toBe(64);
  });

  it('H8: a window of one page is kept where hits can end', () => {
    const world = new World(40, [full(8), sliding(4, 4)]);
    const a = world.request('a', range(0, 30));
    world.admit(a);
    expect(world.published(a, 1)).toEqual([1, 3, 5]);
    const hit = world.manager.lookup(world.request('b', range(0, 31)));
    expect(hit.tokens).toBe(24);
    expect(hit.pages).toEqual([
      [1, 2, 3],
      [0, 0, 0, 0, 0, 10],
    ]);
  });

  it.each([
    [8, [3, 7]],
    [17, [2, 3, 6, 7]],
    [26, range(0, 8)],
  ])('H9: full attention of 32, a window of %i in pages of 8', (window, published) => {
    const world = new World(40, [full(32), sliding(8, window)]);
    const a = world.request('a', range(0, 64));
    world.admit(a);
    expect(world.published(a, 1)).toEqual(published);
  });

  it('H10: a drafter keeps one page more, never past what is final', () => {
    const world = new World(40, [full(32), sliding(8, 8, true)]);
    const a = world.request('a', range(0, 40));
    world.admit(a);
    expect(world.published(a, 1)).toEqual([3, 4]);
    expect(world.manager.lookup(world.request('b', range(0, 41))).tokens).toBe(32);
  });

  it('H11: and over a longer prompt', () => {
    const world = new World(60, [full(32), sliding(8, 8, true)]);
    const a = world.request('a', range(0, 128));
    world.admit(a);
    expect(world.published(a, 1)).toEqual([3, 4, 7, 8, 11, 12, 15]);
    expect(world.manager.lookup(world.request('b', range(0, 129))).tokens).toBe(96);
  });
});

describe('retention', () => {
  const groups = [full(32), sliding(8, 8)];

  it('H12: one tail an interval, and the end of the prompt', () => {
    const world = new World(60, groups, { retentionTokens: 64 });
    const a = world.request('a', range(0, 128));
    world.admit(a);
    expect(world.published(a, 1)).toEqual([7, 11, 15]);
  });

  it('H13: none but the end of the prompt', () => {
    const world = new World(60, groups, { retentionTokens: 0 });
    const a = world.request('a', range(0, 128));
    world.admit(a);
    expect(world.published(a, 1)).toEqual([11]);
    const hits = [128, 96, 112].map((count) => {
      const { tokens, sharedPrefixTokens } = world.manager.lookup(
        world.request(`r${count}`, range(0, count)),
      );
      return [tokens, sharedPrefixTokens];
    });
    expect(hits).toEqual([
      [96, 0],
      [0, 64],
      [96, 0],
    ]);
  });

  it.each([
    [64, [3, 7, 11, 14, 15]],
    [0, [14]],
  ])('H15: a window alone, every %i tokens', (retentionTokens, published) => {
    const world = new World(60, [sliding(16, 16)], { retentionTokens });
    const a = world.request('a', range(0, 256));
    world.admit(a);
    // The window has let go of nothing yet: the whole prompt was computed in one step.
    expect(world.published(a, 0)).toEqual(published);
    expect(world.manager.lookup(world.request('b', range(0, 256))).tokens).toBe(240);
  });

  it('H16: intervals that make no sense are refused with the reason', () => {
    const parse = (groups: unknown[], retentionTokens: number) =>
      cacheConfigSchema.parse({ pages: 9, groups, retentionTokens });
    expect(() => parse(groups, 33)).toThrow(/33 is no multiple of the unit of 32 tokens/);
    expect(() => parse(groups, -32)).toThrow(/retentionTokens/);
    expect(() => parse([full(16)], 16)).toThrow(
      /16 has no meaning without a sliding-window or recurrent group/,
    );
    expect(parse([full(16)], 0).retentionTokens).toBe(0);
  });

  const reachable = (config: Parameters<typeof resolveOne>[0], interval: number | null, extra: number[]) => {
    const masked = unreachablePages(resolveOne(config), { interval, extra });
    return range(0, 16).filter((position) => !masked?.(position));
  };
  const resolveOne = (config: ReturnType<typeof full>) =>
    resolveLayout(cacheConfigSchema.parse({ pages: 9, groups: [config] })).groups[0];

  it.each([
    [null, [240], range(0, 16)],
    [16, [240], range(0, 16)],
    [64, [240], [3, 7, 11, 14, 15]],
    [0, [240], [14]],
    [0, [240, 96], [5, 14]],
    [64, [240, 96], [3, 5, 7, 11, 14, 15]],
    [0, [240, 512], [14]],
  ])('H17: recurrent states every %j tokens, besides %j', (interval, extra, expected) => {
    expect(reachable(recurrent(16), interval, extra)).toEqual(expected);
  });

  it.each([
    [16, false, 0, [240, 96], [5, 14]],
    [48, false, 0, [240, 96], [3, 4, 5, 12, 13, 14]],
    [48, false, 64, [240], [1, 2, 3, 5, 6, 7, ...range(9, 16)]],
    [48, true, 64, [240], range(0, 16)],
    [16, true, 0, [240], [14, 15]],
  ])(
    'H18: a window of %i (drafter: %s) every %i tokens, besides %j',
    (window, draft, interval, extra, expected) => {
      expect(reachable(sliding(16, window, draft), interval, extra)).toEqual(expected);
    },
  );
});

describe('recurrent states', () => {
  it('H20: stand at the end of what was computed, the one before stays as a source', () => {
    const world = new World(30, [full(4), recurrent(4)]);
    const a = world.request('a', range(0, 14));
    world.admit(a);
    expect(world.tables(a)).toEqual([
      [1, 2, 3, 4],
      [0, 0, 0, 5],
    ]);
    const tables = new Map<number, number[]>();
    for (let length = 15; length <= 25; length++) {
      world.decode(a, 1);
      tables.set(length, world.tables(a)[1]);
    }
    expect([17, 18, 21, 22, 25].map((length) => tables.get(length))).toEqual([
      [0, 0, 0, 5, 7],
      [0, 0, 0, 0, 7],
      [0, 0, 0, 0, 7, 9],
      [...zeros(5), 9],
      [...zeros(5), 9, 11],
    ]);
  });

  it('H21: chunks of 8, 8 and 2 leave states for units 1 and 3', () => {
    const world = new World(30, [full(4), recurrent(4)]);
    const a = world.request('a', range(0, 18));
    world.admit(a, { newTokens: 8 });
    expect(world.tables(a)[1]).toEqual([0, 3]);
    world.run(a, 8);
    expect(world.tables(a)[1]).toEqual([0, 3, 0, 6]);
    expect(world.published(a, 1)).toEqual([1, 3]);
    world.run(a, 2);
    expect(world.tables(a)[1]).toEqual([0, 0, 0, 6, 8]);
    const b = world.request('b', prompt(16, 4));
    expect(world.admit(b)).toMatchObject({ hit: 16, pages: [expect.anything(), [0, 0, 0, 6]] });
    expect(world.tables(b)[1].slice(4)).toEqual([10]);
    expect(world.manager.lookup(world.request('c', prompt(8, 5, 7000))).tokens).toBe(8);
  });

  it('H23: a state of this very step is not there yet; the next step has it', () => {
    const world = new World(30, [full(4), recurrent(4)]);
    world.admit(world.request('a', range(0, 8)));
    const b = world.request('b', prompt(8, 2));
    expect(world.admit(b)).toMatchObject({ hit: 8, added: null });
    world.manager.beginStep();
    expect(world.admit(b)).toMatchObject({ hit: 8, added: [[4], [5]] });
  });

  it('H31: a state for every page is paged like attention', () => {
    const world = new World(30, [full(4), recurrent(4, 'all')]);
    const a = world.request('a', range(0, 14));
    world.admit(a);
    expect(world.published(a, 1)).toEqual([0, 1, 2]);
    world.manager.beginStep();
    const { hit, pages } = world.admit(world.request('b', prompt(12, 3)));
    expect(hit).toBe(12);
    expect(pages[1]).toEqual([0, 0, 7]);
  });

  it('H26 (defect U2): a synchronous load takes a page for its state and one for the work', () => {
    const load = { externalTokens: 8, newTokens: 4 };
    const six = new World(6, [full(4), recurrent(4)]);
    const a = six.request('a', range(0, 12));
    six.admit(a, load);
    expect(six.tables(a)).toEqual([
      [1, 2, 4],
      [0, 3, 5],
    ]);
    const five = new World(5, [full(4), recurrent(4)]);
    expect(five.admit(five.request('a', range(0, 12)), load).added).toBeNull();
    expect(five.manager.freeOrder()).toEqual([1, 2, 3, 4]);
    const parked = new World(6, [full(4), recurrent(4)]);
    const c = parked.request('c', range(0, 12));
    parked.admit(c, { externalTokens: 8, newTokens: 0, publish: false });
    expect(parked.tables(c)).toEqual([
      [1, 2],
      [0, 3],
    ]);
  });

  it('H30: states that were never kept make no hit, and say up to where one would have helped', () => {
    const world = new World(30, [full(16), recurrent(16)]);
    const a = world.request('a', range(0, 48));
    world.admit(a);
    world.manager.beginStep();
    const r1 = world.request('r1', prompt(48, 7));
    expect(world.admit(r1)).toMatchObject({ hit: 48, added: [[5], [6]] });
    const r2 = world.request('r2', prompt(47, 8, 6000));
    const hit = world.manager.lookup(r2);
    expect([hit.tokens, hit.sharedPrefixTokens]).toEqual([0, 32]);
  });

  it('H34: cached tokens, and the pages of some of them', () => {
    const world = new World(30, [full(4), recurrent(4)]);
    const a = world.request('a', range(0, 18));
    world.admit(a, { newTokens: 8 });
    world.run(a, 8);
    expect(world.manager.cachedTokens(a.id)).toBe(16);
    expect(world.manager.pagesForTokens(a.id, 9)).toEqual([
      [1, 2, 4],
      [0, 3, 0, 6],
    ]);
    expect(world.manager.pagesForTokens(a.id, 8)).toEqual([
      [1, 2],
      [0, 3, 0, 6],
    ]);
  });
});

describe('hits that end inside a page', () => {
  it('H24: take a copy before they write', () => {
    const world = new World(30, [full(2), recurrent(4)]);
    const a = world.request('a', range(0, 6));
    world.admit(a);
    expect(world.tables(a)).toEqual([
      [1, 2, 3],
      [0, 4],
    ]);
    expect(world.keyed(a, 1)).toEqual([null, 6]);
    const first = world.step();
    world.manager.beginStep();
    const b = world.request('b', prompt(6, 2));
    expect(world.admit(b).hit).toBe(6);
    expect(world.tables(b)).toEqual([
      [1, 2, 3, 5],
      [0, 6],
    ]);
    world.free(a);
    const { batch, copies, zeroed } = world.step();
    expect(copies).toEqual(['4->6']);
    expect(world.refs(4, 6)).toEqual([1, 2]);
    expect([...first.zeroed, ...zeroed]).toEqual([1, 2, 3, 5]);
    world.manager.releasePageCopies(batch);
    expect(world.refs(4, 6)).toEqual([0, 1]);
    world.manager.releasePageCopies(batch);
    world.manager.checkIntegrity();
  });

  it('H25: who goes on from a state under a key leaves the key to a copy', () => {
    const world = new World(30, [full(2), recurrent(4)], {}, { announceTails: 'held' });
    const a = world.request('a', range(0, 6));
    world.admit(a);
    world.step();
    world.decode(a, 1);
    expect(world.tables(a)[1]).toEqual([0, 4]);
    expect([world.manager.keyedTokens(pageId(4)), world.manager.keyedTokens(pageId(6))]).toEqual([null, 6]);
    const { batch, copies } = world.step();
    expect(copies).toEqual(['4->6']);
    expect(world.refs(4, 6)).toEqual([2, 2]);
    expect(world.manager.takeAnnouncedTails()).toEqual([{ request: a.id, group: 1, page: 6, tokens: 6 }]);
    world.manager.releasePageCopies(batch);
    expect(world.refs(4, 6)).toEqual([1, 1]);
    expect(world.manager.lookup(world.request('b', prompt(6, 2))).pages[1]).toEqual([0, 6]);
    world.free(a);
    expect(world.manager.freePages).toBe(29);
  });

  it('H25: without a page to spare the key is given up, and the work goes on', () => {
    const world = new World(6, [full(2), recurrent(4)]);
    const a = world.request('a', range(0, 6));
    world.admit(a);
    expect(world.manager.freePages).toBe(1);
    world.decode(a, 1);
    expect(world.manager.freePages).toBe(0);
    expect(world.keyed(a, 1)).toEqual([null, null]);
    expect(world.step().copies).toEqual([]);
  });

  it('H27: copy a page of rows and a page of state', () => {
    const world = new World(30, [full(4), recurrent(4)], { matchTokens: 2 });
    const a = world.request('a', range(0, 6));
    world.admit(a);
    const first = world.step();
    world.manager.beginStep();
    const b = world.request('b', prompt(6, 2));
    expect(world.admit(b).hit).toBe(6);
    expect(world.tables(b)).toEqual([
      [1, 4],
      [0, 5],
    ]);
    const { copies, zeroed } = world.step();
    expect(copies).toEqual(['2->4', '3->5']);
    expect([...first.zeroed, ...zeroed]).toEqual([1, 2, 4]);
  });

  it('H29: full attention is cut to what the state allows', () => {
    const world = new World(30, [full(4), recurrent(4)], { matchTokens: 2 });
    const a = world.request('a', range(0, 10));
    world.admit(a, { newTokens: 6 });
    world.run(a, 4);
    world.manager.beginStep();
    // The state at 6 was inside the prompt and got no key; one that ends there has it.
    const c = world.request('c', range(0, 6));
    world.admit(c);
    world.manager.beginStep();
    const hit = world.manager.lookup(world.request('b', prompt(10, 2)));
    expect([hit.tokens, hit.sharedPrefixTokens]).toEqual([10, 0]);
  });

  it('H33: a page is known by more and more of its tokens', () => {
    const world = new World(30, [full(4), recurrent(4)], { matchTokens: 2 });
    const a = world.request('a', range(0, 6));
    world.admit(a);
    const keyed = () => [world.keyed(a, 0), world.keyed(a, 1)];
    expect(keyed()).toEqual([
      [4, 6],
      [null, 6],
    ]);
    world.decode(a, 1);
    expect(keyed()).toEqual([
      [4, 6],
      [null, null],
    ]);
    world.decode(a, 1);
    expect(keyed()).toEqual([
      [4, 8],
      [null, 8],
    ]);
    const before = world.tables(a);
    world.decode(a, 1);
    expect(world.tables(a).map((table) => table.length)).toEqual(before.map((table) => table.length + 1));
  });

  it('H32: two ranks', () => {
    const make = () => new World(30, [full(4), recurrent(4)], { contextParallel: 2, matchTokens: 4 });
    const once = make();
    const a = once.request('a', range(0, 14));
    once.admit(a);
    expect(once.keyed(a, 0)).toEqual([8, 12]);
    expect(once.published(a, 1)).toEqual([]);
    const missed = once.manager.lookup(once.request('b', prompt(12, 3)));
    expect([missed.tokens, missed.sharedPrefixTokens]).toEqual([0, 12]);

    const twice = make();
    const c = twice.request('c', range(0, 14));
    twice.admit(c, { newTokens: 12 });
    twice.run(c, 2);
    twice.step();
    twice.manager.beginStep();
    const d = twice.request('d', prompt(12, 3));
    expect(twice.admit(d).hit).toBe(12);
    expect(twice.tables(d)[0]).toHaveLength(2);
    expect(twice.tables(d)[1].slice(0, 2)).toEqual([0, 0]);
    expect(twice.step().copies).toHaveLength(1);
  });

  it('a page that gets its key in this step cannot be copied in it', () => {
    const world = new World(30, [full(4), recurrent(4)], { matchTokens: 2 });
    world.admit(world.request('a', range(0, 6)));
    const b = world.request('b', prompt(6, 2));
    expect(world.admit(b)).toMatchObject({ hit: 6, added: null });
    world.manager.beginStep();
    expect(world.admit(b).added).not.toBeNull();
  });
});

describe('admission', () => {
  it('H19: all hits are held before anything is allocated for a load', () => {
    const world = new World(31, [full(16), sliding(16, 1000)]);
    const a = world.request('a', range(0, 80));
    world.admit(a);
    world.free(a);
    const b = world.request('b', prompt(80, 33));
    world.admit(b, { externalTokens: 32, newTokens: 1 });
    const [first, second] = world.tables(b);
    expect([first.slice(0, 5), second.slice(0, 5)]).toEqual([range(1, 6), range(6, 11)]);
    expect([first.slice(5), second.slice(5)]).toEqual([
      [11, 12, 15],
      [13, 14, 16],
    ]);
    expect(world.refs(...first, ...second).every((count) => count === 1)).toBe(true);
  });

  it('W33: a whole prompt is counted by what its windows hold at once', () => {
    const admit = (pages: number, inFlightTokens: number) => {
      const world = new World(pages, [full(16), sliding(16, 64)]);
      const a = world.request('a', range(0, 512));
      return world.admit(a, { newTokens: 128, fullSequence: { tokens: 512, inFlightTokens } }).added !== null;
    };
    expect([admit(46, 128), admit(45, 128)]).toEqual([true, false]);
    expect([admit(65, 512), admit(64, 512)]).toEqual([true, false]);
  });

  it('W29: a load of 36 of 40 tokens brings only what the window reads', () => {
    const world = new World(30, [sliding(4, 8)]);
    const a = world.request('a', range(0, 40));
    world.admit(a, { externalTokens: 36, newTokens: 0, publish: false });
    expect(world.tables(a)).toEqual([[...zeros(7), 1, 2]]);
  });

  it('W22: chunks that were never seen need not be', () => {
    const world = new World(30, [{ kind: 'chunked-local', tokensPerPage: 4, chunkTokens: 8, pageBytes: 64 }]);
    const a = world.request('a', range(0, 18));
    expect(world.admit(a).hit).toBe(16);
    expect(world.tables(a)).toEqual([[0, 0, 0, 0, 1]]);
  });
});

describe('a window lets go', () => {
  it('W26: of pages that no later token reads', () => {
    const world = new World(30, [sliding(4, 8)]);
    const a = world.request('a', range(0, 12));
    world.admit(a);
    const tables = new Map<number, number[]>();
    for (let length = 13; length <= 25; length++) {
      world.decode(a, 1);
      tables.set(length, world.tables(a)[0]);
    }
    expect([13, 16, 17, 20, 21, 24, 25].map((length) => tables.get(length))).toEqual([
      [0, 2, 3, 4],
      [0, 0, 3, 4],
      [0, 0, 3, 4, 5],
      [0, 0, 0, 4, 5],
      [0, 0, 0, 4, 5, 6],
      [0, 0, 0, 0, 5, 6],
      [0, 0, 0, 0, 5, 6, 7],
    ]);
  });

  it('W27: not of what a step in flight still reads', () => {
    const world = new World(30, [sliding(4, 8)]);
    const a = world.request('a', range(0, 32));
    world.admit(a);
    a.sequence.append(1);
    world.run(a, 1, { inFlightTokens: 32 });
    expect(world.tables(a)).toEqual([range(1, 10)]);
    a.sequence.append(2);
    world.run(a, 1, { inFlightTokens: 1 });
    expect(world.tables(a)).toEqual([[...zeros(6), 7, 8, 9]]);
  });

  it('W31: by window and by chunk', () => {
    const trimmed = (group: ReturnType<typeof full>, computed: readonly number[]) => {
      // Without a cache: chunks that were never seen would be a hit.
      const world = new World(40, [group], { prefixCaching: false });
      const a = world.request('a', range(0, 30));
      world.admit(a, { newTokens: 22 });
      return computed.map((tokens) => {
        world.manager.allocate(a, { computedTokens: 22, newTokens: 1, inFlightTokens: 22 - tokens });
        return world.tables(a)[0].filter((page) => page === 0).length;
      });
    };
    expect(trimmed(sliding(2, 4), [4, 5, 6, 7, 11])).toEqual([0, 1, 1, 2, 4]);
    const chunked = { kind: 'chunked-local', tokensPerPage: 2, chunkTokens: 4, pageBytes: 64 } as const;
    expect(trimmed(chunked, [4, 6, 12])).toEqual([2, 2, 6]);
  });
});

describe('rings', () => {
  const ring = (capacityTokens: number, after: 'tail' | 'history' = 'tail') =>
    ({ kind: 'ring', capacityTokens, after, pageBytes: 64 }) as const;

  it('H39: one page a request, whatever its length, never found', () => {
    const world = new World(30, [full(4), ring(6)]);
    const a = world.request('a', range(0, 9));
    world.admit(a, { newTokens: 4 });
    expect(world.tables(a)).toEqual([[1], [2]]);
    world.run(a, 5);
    expect(world.tables(a)).toEqual([[1, 3, 4], [2]]);
    expect(world.keyed(a, 1)).toEqual([null]);
    const { pages } = world.admit(world.request('b', range(0, 9)));
    expect(pages).toEqual([[1, 3], []]);
    expect([0, 5, 6, 13].map((position) => ringSlot(pageId(2), 6, position))).toEqual([12, 17, 12, 13]);
  });

  it.each([8, 4096])('scenario 8: a ring of %i tokens takes no part in units', (capacity) => {
    const world = new World(40, [full(32), sliding(16, 17), ring(capacity)]);
    expect(world.manager.layout).toMatchObject({ hashTokens: 16, unitTokens: 32, hitTokens: 32 });
    world.admit(world.request('a', range(0, 65)));
    expect(world.manager.lookup(world.request('b', range(0, 65))).tokens).toBe(64);
  });

  it('scenario 9: a ring that needs its history has it computed again', () => {
    const hits = (rings: ReturnType<typeof ring>[]) => {
      const world = new World(40, [full(4), ...rings]);
      const a = world.request('a', range(0, 12));
      world.admit(a);
      world.free(a);
      return world.manager.lookup(world.request('b', prompt(8, 3))).tokens;
    };
    expect(hits([ring(4)])).toBe(8);
    expect(hits([ring(4, 'history')])).toBe(4);
    expect(hits([ring(4, 'history'), ring(8, 'history')])).toBe(0);
    expect(hits([ring(3, 'history')])).toBe(4);
  });

  it('a hit that would cut a compressed row is no layout', () => {
    const parse = (ratio: number) =>
      cacheConfigSchema.parse({ pages: 9, groups: [full(4), { ...ring(9), ratio }] });
    expect(() => parse(3)).toThrow(/multiples of 4 tokens, which cut the rows of 3 tokens of group 1/);
    expect(parse(2).groups).toHaveLength(2);
  });
});

describe('sizes', () => {
  const layoutOf = (groups: unknown[], more = {}) =>
    resolveLayout(cacheConfigSchema.parse({ pages: 2000, groups, ...more }));
  const compressed = (tokensPerPage: number, ratio: number) =>
    ({ kind: 'compressed', tokensPerPage, ratio, pageBytes: 64 }) as const;

  it('A18: from the groups that are cached, and the match unit', () => {
    expect(layoutOf([compressed(16, 4)], { matchTokens: 16 })).toMatchObject({
      unitTokens: 16,
      hashTokens: 16,
    });
    expect(() => layoutOf([compressed(16, 4)], { matchTokens: 2 })).toThrow(/matched by whole pages of 16/);
    expect(layoutOf([compressed(256, 4), compressed(256, 128), sliding(4, 8)])).toMatchObject({
      unitTokens: 256,
      hashTokens: 4,
    });
    expect(() => layoutOf([full(16), sliding(8, 8)], { matchTokens: 3 })).toThrow(
      /3 does not divide the 16 tokens/,
    );
  });

  it('M21: context parallelism multiplies the pages of attention', () => {
    const world = new World(30, [full(16)], { contextParallel: 2 });
    const a = world.request('a', range(0, 100));
    world.admit(a);
    expect(world.tables(a)).toEqual([[1, 2, 3, 4]]);
    expect(world.keyed(a)).toEqual([32, 64, 96, null]);
    const hits = [97, 96].map(
      (count) => world.manager.lookup(world.request(`r${count}`, range(0, count))).tokens,
    );
    expect(hits).toEqual([96, 64]);
    expect(() => layoutOf([sliding(16, 16)], { contextParallel: 2 })).toThrow(
      /sliding-window does not work with/,
    );
  });

  it('M24: the longest request has to fit beside the null page', () => {
    const parse = (pages: number) => cacheConfigSchema.parse({ pages, groups: [full(16)], tokensMax: 512 });
    expect(() => parse(32)).toThrow(
      /needs 32 pages, the pool has 31 usable ones; use at least 33 pages or at most 496/,
    );
    expect(parse(33).tokensMax).toBe(512);
    expect(() => cacheConfigSchema.parse({ pages: 64, groups: [full(16)], tokensMax: 1009 })).toThrow(
      /at most 1008/,
    );
  });

  it('M19, M20: a drafter alone', () => {
    const world = new World(30, [full(16, true)]);
    world.admit(world.request('a', range(0, 48)));
    const hits = [48, 37, 49].map((count) => {
      const tokens = count === 49 ? [...range(0, 48), 1] : range(0, count);
      return world.manager.lookup(world.request(`r${count}`, tokens)).tokens;
    });
    expect(hits).toEqual([16, 16, 32]);
    const ahead = new World(30, [full(4, true)], { lookaheadTokens: 3 });
    const b = ahead.request('b', range(0, 12));
    ahead.admit(b);
    expect(ahead.keyed(b)).toEqual([4, 8, null]);
    expect(() => layoutOf([full(4, true)], { lookaheadTokens: 5 })).toThrow(
      /5 is more than the unit of 4 tokens/,
    );
  });

  it('M15, M16: a watermark and a reservation keep pages free', () => {
    const fits = (watermark: number, options: object) => {
      const world = new World(11, [full(16)], { watermark });
      return world.admit(world.request('a', range(0, 128)), options).added !== null;
    };
    expect([0.1, 0.2, 0.3].map((watermark) => fits(watermark, { useWatermark: true }))).toEqual([
      true,
      true,
      false,
    ]);
    expect([0.1, 0.2, 0.3].map((watermark) => fits(watermark, {}))).toEqual([true, true, true]);
    expect([3, 2].map((reservedPages) => fits(0, { reservedPages }))).toEqual([false, true]);
  });

  it('M17: a prompt that can never fit is held back by the gate alone', () => {
    const world = new World(6, [full(4)]);
    const a = world.request('a', range(0, 40));
    const fullSequence = { tokens: 40, inFlightTokens: 4 };
    expect(world.admit(a, { newTokens: 4, fullSequence }).added).toBeNull();
    expect(world.admit(a, { newTokens: 4 }).added).toEqual([[1]]);
  });

  it('M23: cross attention holds the encoder, whole and at once', () => {
    const counts = [200, 500, 1000, 1500, 1, 15, 16, 17, 160, 161].map((encoderTokens) => {
      const cross = { kind: 'cross-attention', tokensPerPage: 16, pageBytes: 64 } as const;
      const world = new World(200, [full(16), cross]);
      const a = world.request('a', range(0, 20), { encoderTokens });
      world.admit(a, { newTokens: 4 });
      world.run(a, 16);
      expect(world.manager.lookup(world.request('b', range(0, 20), { encoderTokens })).pages[1]).toEqual([]);
      return world.tables(a)[1].length;
    });
    expect(counts).toEqual([13, 32, 63, 94, 1, 1, 1, 2, 10, 11]);
  });

  it('refuses what cannot be, and says why', () => {
    expect(() =>
      layoutOf([{ kind: 'chunked-local', tokensPerPage: 4, chunkTokens: 6, pageBytes: 4 }]),
    ).toThrow(/chunks of 6 tokens are no multiple of the page of 4/);
    expect(() => layoutOf([compressed(10, 4)])).toThrow(/hold no whole number of rows of 4 tokens/);
    expect(() =>
      layoutOf([full(4), { kind: 'ring', capacityTokens: 3, ratio: 4, after: 'tail', pageBytes: 4 }]),
    ).toThrow(/loses tokens before they are compressed/);
    expect(() => new World(9, [full(4)]).manager.pageTable(world0.id, 7 as never)).toThrow(ConfigError);
  });
});

const world0 = new World(9, [full(4)]).request('none', [1]);
