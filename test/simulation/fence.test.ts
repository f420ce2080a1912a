import { describe, expect, it } from 'vitest';
import { PAGE_WORDS, provokeHazard } from '../support/fence-hazard.ts';

describe('a page that is claimed while a store still has to read it', () => {
  it('is released first: the slot holds what its owner computed', async () => {
    const { slot, rowsOfA, claim, acknowledgedInClaim, mismatchesOnHit, hostHitTokens, world } =
      await provokeHazard('complete');
    expect(claim.zeroed).toContain(2);
    expect(claim.flush).toEqual([0]);
    expect(claim.released).toEqual([0]);
    expect(acknowledgedInClaim, 'the step waited for nothing').toBe(0);
    expect(slot).toEqual(rowsOfA);
    expect(hostHitTokens).toBe(4);
    expect(mismatchesOnHit).toBe(0);
    expect(world.engine.statistics()).toMatchObject({
      flushes: 1,
      flushOverflows: 1,
      flushWaits: 0,
      storesFailed: 0,
    });
  });

  it('poisons the host tier without the fence, with exactly the bytes that the plan predicts', async () => {
    const { slot, rowsOfBThenZeros, claim, mismatchesOnHit, hostHitTokens, world } =
      await provokeHazard('off');
    expect(claim.flush).toEqual([]);
    expect(slot).toEqual(rowsOfBThenZeros);
    expect(hostHitTokens).toBe(4);
    expect(mismatchesOnHit).toBe(PAGE_WORDS);
    expect(world.engine.statistics()).toMatchObject({ flushes: 0, storesFailed: 0 });
  });

  it('is covered by the pages of scheduled requests alone, as long as its new owner is scheduled', async () => {
    const { claim, mismatchesOnHit } = await provokeHazard('scheduled-and-loads');
    expect(claim.flush).toEqual([0]);
    expect(mismatchesOnHit).toBe(0);
  });

  it('fails the store, and publishes nothing, when the overflow buffer is full as well', async () => {
    const { slot, claim, mismatchesOnHit, hostHitTokens, world } = await provokeHazard(
      'complete',
      undefined,
      {
        overflowBytes: 0,
      },
    );
    expect(claim.released).toEqual([]);
    expect(slot).toEqual(new Uint32Array(PAGE_WORDS));
    expect(hostHitTokens).toBe(0);
    expect(mismatchesOnHit).toBe(0);
    expect(world.engine.statistics()).toMatchObject({ storesFailed: 1, flushWaits: 0 });
  });
});
