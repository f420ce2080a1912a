/** The incident on real buffers, two ranks on one device. The same file as `test/simulation/incident.test.ts`, less twins. */
import { describe, expect, it } from 'vitest';
import { provokeIncident, sameBytes } from '../support/incident.ts';
import { withDevice } from './support/device.ts';

describe.each(['incident-small', 'incident'] as const)('preset %s', (preset) => {
  it("a parked request's ring page is fenced before zeroing", async () => {
    await withDevice(async (device) => {
      const incident = await provokeIncident({ preset, fence: 'complete', device });
      const { claim, stateJob, stored, computed, mismatches, ringPage, statePage, engine } = incident;
      expect(ringPage).toBe(statePage);
      expect(claim.plan.jobsToFlush).toEqual([stateJob]);
      expect(claim.outcome.released).toContain(stateJob);
      expect(sameBytes(stored, computed)).toBe(true);
      expect(mismatches).toBe(0);
      await engine.close();
    });
  });

  it('without the zero list in the fence, the host tier keeps zeros under a valid key', async () => {
    await withDevice(async (device) => {
      const incident = await provokeIncident({ preset, fence: 'scheduled-and-loads', device });
      const { claim, stored, zeroedFronts, zeroedBytes, hostHitTokens, mismatches, engine } = incident;
      expect(claim.plan.jobsToFlush).toEqual([]);
      expect(sameBytes(stored, zeroedFronts)).toBe(true);
      expect(hostHitTokens).toBe(engine.cache.layout.unitTokens);
      expect(mismatches).toBe(2 * (zeroedBytes / 4));
      await engine.close();
    });
  });
});
