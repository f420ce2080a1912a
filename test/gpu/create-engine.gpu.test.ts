/** What a caller with a device and kernels of its own gets. */
import { describe, expect, it } from 'vitest';
import { createEngine, slotId, type PageId, type StepPlan } from '../../src/index.ts';
import { prompt } from '../support/worlds.ts';
import { expectBytes, readBytes, withDevice } from './support/device.ts';

const cache = { pages: 5, pageBytes: 32, tokensPerPage: 4 };

describe('createEngine with a device', () => {
  it('runs the caller’s forward pass on the pages: what it writes is stored, loaded and found again', async () => {
    await withDevice(async (device) => {
      const seen: number[] = [];
      const pattern = (token: number) => new Uint32Array(2).fill(token * 1000 + 7);
      const forward = (plan: StepPlan): void => {
        for (const { start, end, pages, tokens } of plan.forward) {
          for (let token = start; token < end; token += 1) {
            seen.push(tokens[token]);
            const { buffer, offset } = engine.worker.locate(pages[Math.floor(token / 4)]);
            device.queue.writeBuffer(buffer, offset + (token % 4) * 8, pattern(tokens[token]));
          }
        }
      };
      const engine = await createEngine(
        { cache, offload: { slots: 8 }, witness: false },
        { device, forward },
      );
      engine.add({ id: 'first', tokens: prompt(1, 8) });
      await engine.drain();
      const expected = Uint32Array.from({ length: 16 }, (_, i) => pattern(1 + Math.floor(i / 2))[0]);
      expectBytes(engine.host!.view(slotId(0), 2), new Uint8Array(expected.buffer), 'both slots');

      engine.add({ id: 'pushes it out', tokens: prompt(100, 16) });
      await engine.drain();
      seen.length = 0;
      let pages: readonly PageId[] = [];
      engine.add({ id: 'again', tokens: [...prompt(1, 8), 9] });
      while (engine.hasWork) {
        const { plan } = await engine.step();
        for (const request of plan.forward) pages = [...request.pages];
      }
      expect(seen, 'tokens computed again').toEqual([9]);
      const { buffer, offset } = engine.worker.locate(pages[1]);
      expectBytes(await readBytes(device, buffer, offset, 32), new Uint8Array(expected.buffer, 32), 'page 1');
      await engine.close();
    });
  });

  it('leaves nothing on the device that it was lent', async () => {
    await withDevice(async (device) => {
      for (let round = 0; round < 5; round += 1) {
        const engine = await createEngine({ cache, offload: { slots: 4 } }, { device });
        engine.add({ id: 'only', tokens: prompt(0, 9) });
        await engine.drain();
        expect(engine.worker.liveBytes).toBeGreaterThan(0);
        await engine.close();
        await engine.close();
        expect(engine.worker.liveBytes).toBe(0);
      }
    });
  });
});
