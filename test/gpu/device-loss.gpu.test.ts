/** A device that is lost in mid-run ends the run with clear words and a report of what was done. */
import { describe, expect, it } from 'vitest';
import { createEngine, DeviceError, Replay, type TraceRequest } from '../../src/index.ts';
import { withDevice } from './support/device.ts';

const requests: TraceRequest[] = Array.from({ length: 40 }, (_, ordinal) => ({
  id: `r${ordinal}`,
  ordinal,
  blocks: Uint32Array.from({ length: 6 }, (_, i) => (ordinal % 7) * 10 + i),
  blockTokens: 4,
  promptTokens: 24,
  outputTokens: 1,
  arrivalMs: null,
  source: { file: 'made here', line: null, index: ordinal },
}));

const replayOn = async (device: GPUDevice, acknowledgementLag: number | 'as-they-come') =>
  new Replay({
    engine: await createEngine(
      {
        cache: { pages: 16, pageBytes: 64, tokensPerPage: 4 },
        offload: { slots: 64 },
        transfer: { acknowledgementLag, stagingBytes: 256, stagingBuffers: 2 },
      },
      { device },
    ),
    requests,
  });

const task = (ms: number) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

describe.each([1, 2, 3, 'as-they-come'] as const)('with acknowledgements at %s', (lag) => {
  it.each([0, 1, 2, 5])('a device that is destroyed after %i steps', async (steps) => {
    for (const pauseMs of [0, 20]) {
      await withDevice(async (device) => {
        const replay = await replayOn(device, lag);
        for (let step = 0; step < steps; step += 1) await replay.next();
        // With a pause, what was submitted has arrived and is mapped when the device goes.
        if (pauseMs > 0) await task(pauseMs);
        device.destroy();
        const report = await replay.start();
        expect(report.interrupted).toMatch(/device/);
        expect(report.requests).toBeLessThan(requests.length);
        expect(report.witness).toBeNull();
        await expect(replay.engine.step()).rejects.toThrow(DeviceError);
        await replay.engine.close();
        await replay.engine.close();
      }, {});
    }
  });

  it('a device that is destroyed while a step is under way', async () => {
    await withDevice(async (device) => {
      const replay = await replayOn(device, lag);
      await replay.next();
      const running = replay.start();
      device.destroy();
      const { interrupted, engine } = await running;
      expect(interrupted).toMatch(/device/);
      expect(engine.steps).toBeGreaterThan(0);
      await replay.engine.close();
    }, {});
  });
});
