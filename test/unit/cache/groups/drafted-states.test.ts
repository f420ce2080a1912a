/** States of drafted tokens stand behind the running one and move along with it. */
import { describe, expect, it } from 'vitest';
import { groupId } from '../../../../src/units.ts';
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
});
