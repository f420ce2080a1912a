/** Copies before writes: what they promise while they are under way, and when they are cancelled. */
import { describe, expect, it } from 'vitest';
import { pageId } from '../../../src/units.ts';
import { range } from './support/fixtures.ts';
import { full, recurrent, World } from './support/worlds.ts';

describe('a copy before writes', () => {
  it('that is cancelled leaves no key on the page that it was to fill', () => {
    const world = new World(12, [full(4), recurrent(4)], { matchTokens: 2 });
    const a = world.request('a', range(0, 6));
    world.admit(a);
    world.step();
    world.manager.beginStep();
    // The prompt ends where the hit does, so the private page is known by the rows that come with the copy.
    const b = world.request('b', [...range(0, 6), 99]);
    expect(world.admit(b).hit).toBe(6);
    const own = pageId(world.tables(b)[0][1]);
    expect(world.manager.keyedTokens(own)).toBe(6);
    world.manager.withdraw(b, 6);
    world.free(b);
    expect(world.step().copies).toEqual([]);
    expect(world.manager.keyedTokens(own)).toBeNull();
    expect(world.manager.freeOrder().slice(0, 2)).toContain(own);
    world.manager.beginStep();
    const table = world.tables(a);
    const hit = world.manager.lookup(world.request('c', [...range(0, 6), 99]));
    expect(hit.pages).toEqual(table);
  });
});
