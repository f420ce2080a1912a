/** Small worlds in which every interleaving of steps, acknowledgements and aborts is tried. */
import { describe, expect, it } from 'vitest';
import { explore } from '../../src/simulate/explore.ts';

describe('every interleaving', () => {
  it.each([
    [1, 3],
    [2, 4],
    [3, 4],
  ])('of %i requests on %i pages is right', async (requests, pages) => {
    const { states, transitions, complete, counterexample } = await explore({
      requests,
      pages,
      fence: 'complete',
    });
    expect(counterexample).toBeNull();
    expect(complete).toBe(true);
    expect(states).toBeGreaterThan(10);
    expect(transitions).toBeGreaterThan(states);
  });

  it('without the zero list in the fence there is a shortest way to zeros under a valid key: the incident', async () => {
    const { counterexample } = await explore({ requests: 3, pages: 4, fence: 'scheduled-and-loads' });
    expect(counterexample?.symptom).toMatch(/^slot \d, page 0, group 0, rank 0, word 0: 0 for \d+$/);
    expect(counterexample?.moves).toHaveLength(6);
    // In the last step but one somebody is parked with a load, and a ring page of theirs is zeroed that a store still reads.
    const claim = counterexample!.story.at(-2)!;
    const page = /zero (\d+) \(group 1\); load \d+ to \d+/.exec(claim)?.[1];
    expect(counterexample!.story.some((line) => line.includes(`queue store 3 of ${page}`))).toBe(true);
  });

  it('without the fence there is a shorter one', async () => {
    const { counterexample } = await explore({ requests: 3, pages: 4, fence: 'off' });
    expect(counterexample?.moves.length).toBeLessThan(6);
  });

  it('ends at the bound that it was given, and says so', async () => {
    const { states, complete } = await explore({ requests: 2, pages: 4, fence: 'complete', statesMax: 20 });
    expect([states, complete]).toEqual([20, false]);
  });
});
