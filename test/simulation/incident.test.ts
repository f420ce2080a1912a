/** The incident that the fence is named after: reproduced by a real cache manager and scheduler, and closed. */
import { describe, expect, it } from 'vitest';
import { guardNamed } from '../../src/simulate/guards.ts';
import { provokeIncident, sameBytes, type Incident } from '../support/incident.ts';

const PRESETS = ['incident-small', 'incident'] as const;

/** Whatever the fence does: C is parked, and its ring page is the one that A's state was on. */
function expectTheClaim({ claim, ringPage, statePage }: Incident): void {
  expect(ringPage, 'the ring page of C').toBe(statePage);
  const zeroed = claim.plan.newPageIdsToZero.flatMap(({ pages }) => pages);
  expect(zeroed).toContain(ringPage);
  expect(claim.plan.loads).toHaveLength(1);
  expect(claim.plan.loads[0].pages).not.toContain(ringPage);
  expect(claim.plan.forward.map(({ requestId }) => requestId)).not.toContain('C');
}

describe.each(PRESETS)('preset %s', (preset) => {
  it("a parked request's ring page is fenced before zeroing", async () => {
    const incident = await provokeIncident({ preset, fence: 'complete' });
    expectTheClaim(incident);
    const { claim, stateJob, stored, computed, hostHitTokens, mismatches, engine } = incident;
    expect(claim.plan.jobsToFlush).toEqual([stateJob]);
    expect(claim.outcome.released).toContain(stateJob);
    expect(sameBytes(stored, computed)).toBe(true);
    expect(hostHitTokens, 'the state is found again').toBe(engine.cache.layout.unitTokens);
    expect(mismatches).toBe(0);
    await engine.close();
  });

  it('without the zero list in the fence, the host tier keeps zeros under a valid key', async () => {
    const incident = await provokeIncident({ preset, fence: 'scheduled-and-loads' });
    expectTheClaim(incident);
    const { claim, stored, zeroedFronts, hostHitTokens, mismatchesBefore, mismatches, engine } = incident;
    expect(claim.plan.jobsToFlush, 'nothing else covers that page').toEqual([]);
    expect(sameBytes(stored, zeroedFronts), 'zeros, as far as a ring page goes').toBe(true);
    expect(mismatchesBefore, 'nobody has noticed yet').toBe(0);
    expect(hostHitTokens).toBe(engine.cache.layout.unitTokens);
    expect(mismatches, 'every word that was zeroed, on both ranks').toBe(2 * (incident.zeroedBytes / 4));
    await engine.close();
  });

  it('zeroed pages are fenced against pending stores, and other pages are left alone', async () => {
    const { claim, stateJob, engine } = await provokeIncident({ preset, fence: 'complete' });
    // B's rows wait as well at that time, and nobody writes their pages.
    expect(claim.plan.jobsToFlush).toEqual([stateJob]);
    expect(engine.statistics().flushes).toBe(1);
    await engine.close();
  });

  it('asked after the stores of the step are built, the fence would flush what is not computed yet', async () => {
    const { remove } = guardNamed('check-before-build');
    let early = 0;
    const { engine } = await provokeIncident({
      preset,
      fence: 'complete',
      prepare: (world) => {
        remove?.(world);
        const build = world.connector.buildConnectorMeta.bind(world.connector);
        world.connector.buildConnectorMeta = (output) => {
          const meta = build(output);
          early += meta.stores.filter(({ id }) => meta.jobsToFlush.includes(id)).length;
          return meta;
        };
      },
    });
    expect(early, 'stores that are flushed in the step that builds them').toBeGreaterThan(0);
    expect((await engine.readWitness()).mismatches, 'what was stored too early is found').toBeGreaterThan(0);
    await engine.close();
  });
});
