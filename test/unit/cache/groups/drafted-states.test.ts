/** States of drafted tokens stand behind the running one and move along with it. */
import { describe, expect, it } from 'vitest';
import { groupId, pageId } from '../../../../src/units.ts';
import { EventReplay } from '../support/event-replay.ts';
import { range } from '../support/fixtures.ts';
import { full, World } from '../support/worlds.ts';

describe('drafted states', () => {
  it('move behind the running state, and the events say that nothing stands where they stood', () => {
    const world = new World(20, [
      full(6),
      { kind: 'recurrent', tokensPerPage: 2, pageBytes: 64, speculativePages: 2 },
    ]);
    const a = world.request('a', range(0, 6));
    world.admit(a, { newTokens: 2 });
    expect(world.tables(a)[1]).toEqual([2, 3, 4]);
    world.run(a, 4);
    expect(world.tables(a)[1]).toEqual([2, 0, 5, 3, 4]);
    const replay = new EventReplay(20);
    for (const event of world.events) replay.apply(event);
    expect(replay.table(a.id, groupId(1))).toEqual([2, 0, 5, 3, 4]);
    world.free(a);
    for (const event of world.events.slice(-2)) replay.apply(event);
    expect(replay.tables.size).toBe(0);
  });

  it('that may all be rejected move the key of the state before, though they reach into the next page', () => {
    const states = { kind: 'recurrent', tokensPerPage: 4, pageBytes: 64, speculativePages: 2 } as const;
    const world = new World(20, [full(4), states], { matchTokens: 2 });
    const a = world.request('a', range(0, 6));
    world.admit(a);
    world.step();
    const state = world.tables(a)[1][1];
    expect(world.manager.keyedTokens(pageId(state))).toBe(6);
    a.sequence.append(50);
    // Tokens 6 to 8: the last two are drafted. Without them the state after token 6 overwrites the one before.
    world.run(a, 3);
    expect(world.manager.keyedTokens(pageId(state))).toBeNull();
    const { copies } = world.step();
    expect(copies).toHaveLength(1);
    world.manager.beginStep();
    const [, found] = world.manager.lookup(world.request('b', [...range(0, 6), 7])).pages;
    expect(copies).toEqual([`${state}->${found[1]}`]);
  });

  it('that start at the end of a page leave the key of the state before where it is', () => {
    const states = { kind: 'recurrent', tokensPerPage: 4, pageBytes: 64, speculativePages: 2 } as const;
    const world = new World(20, [full(4), states], { matchTokens: 2 });
    const a = world.request('a', range(0, 8));
    world.admit(a);
    world.step();
    const state = world.tables(a)[1][1];
    a.sequence.append(50);
    world.run(a, 3);
    expect(world.manager.keyedTokens(pageId(state))).toBe(8);
    expect(world.step().copies).toEqual([]);
  });
});
