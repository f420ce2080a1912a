/** Scenario 21: the device is lost, another one is made, and nobody is promised what the old pages held. */
import { describe, expect, it } from 'vitest';
import { cachePreset } from '../../src/config/presets.ts';
import {
  createEngine,
  DeviceError,
  InvariantError,
  WebGpuWorker,
  type Engine,
  type FinishedRequest,
} from '../../src/index.ts';
import { prompt } from '../support/worlds.ts';
import { withDevice } from './support/device.ts';

type EngineInput = Parameters<typeof createEngine>[0];

const SMALL: EngineInput = {
  cache: { pages: 12, pageBytes: 64, tokensPerPage: 4 },
  offload: { slots: 32 },
  transfer: { stagingBytes: 64, stagingBuffers: 1, storeBytesPerStep: 64, acknowledgementLag: 2 },
};

/** New workers on another device, over the host memory that has survived. */
async function workersOn(
  device: GPUDevice,
  { config, ranks }: Engine<WebGpuWorker>,
): Promise<WebGpuWorker[]> {
  const { cache, transfer, witness } = config;
  return Promise.all(
    ranks.map(({ host }, rank) => WebGpuWorker.create({ device, cache, transfer, witness, host, rank })),
  );
}

/** What ends before the loss is noticed has ended, and its bytes were right. */
async function stepUntilLost(engine: Engine<WebGpuWorker>): Promise<FinishedRequest[]> {
  const finished: FinishedRequest[] = [];
  await expect(
    (async () => {
      for (let i = 0; i < 50; i += 1) finished.push(...(await engine.step()).finished);
    })(),
  ).rejects.toThrow(DeviceError);
  return finished;
}

async function withTwoDevices(body: (first: GPUDevice, second: GPUDevice) => Promise<void>): Promise<void> {
  await withDevice(async (first) => {
    await withDevice((second) => body(first, second), {});
  }, {});
}

describe('recovery', () => {
  it('scenario 21: nothing is found on the new device, the host tier has its bytes, transfers under way have failed', async () => {
    await withTwoDevices(async (first, second) => {
      const engine = await createEngine(SMALL, { device: first });
      engine.add({ id: 'seed', tokens: prompt(0, 4) });
      await engine.drain();
      // Pushed off the device, so that the next prompt is loaded; its own second page is on its way to the host.
      engine.add({ id: 'other', tokens: prompt(500, 44) });
      await engine.drain();
      engine.add({ id: 'stores', tokens: prompt(900, 9), maxOutputTokens: 20 });
      engine.add({ id: 'loads', tokens: [...prompt(0, 4), ...prompt(70, 5)] });
      await engine.step();
      const kinds = engine.connector.snapshot().jobs.map(({ kind }) => kind);
      expect([...new Set(kinds)].sort()).toEqual(['load', 'store']);
      first.destroy();
      const finished = await stepUntilLost(engine);
      await engine.recover(await workersOn(second, engine));
      engine.checkIntegrity();
      expect(engine.cache.freePages).toBe(engine.cache.pageCountMax);
      expect(engine.connector.snapshot().jobs).toEqual([]);
      expect(engine.connector.manager.counts).toMatchObject({ writing: 0, pinned: 0 });

      finished.push(...(await engine.drain()));
      expect(finished.map(({ id, reason }) => [id, reason]).sort()).toEqual([
        ['loads', 'length'],
        ['stores', 'length'],
      ]);
      engine.add({ id: 'again', tokens: [...prompt(0, 4), 7, 8, 9, 10, 11] });
      await engine.drain();
      expect((await engine.readWitness()).mismatches).toBe(0);
      expect(engine.statistics().hitTokens.host).toBeGreaterThanOrEqual(4);
      engine.checkIntegrity();
      await engine.close();
    });
  });

  it('a prompt that was on the lost device is found in the host tier as far as that goes, and not on the device', async () => {
    await withTwoDevices(async (first, second) => {
      const engine = await createEngine({ ...SMALL, offload: { slots: 1 } }, { device: first });
      engine.add({ id: 'seed', tokens: prompt(0, 4) });
      await engine.drain();
      engine.add({ id: 'longer', tokens: prompt(0, 9) });
      await engine.drain();
      first.destroy();
      await engine.recover(await workersOn(second, engine));
      engine.add({ id: 'again', tokens: prompt(0, 9) });
      const [again] = await engine.drain();
      expect(again.hitTokens).toEqual({ device: 0, host: 4 });
      expect((await engine.readWitness()).mismatches).toBe(0);
      await engine.close();
    });
  });

  it.each([0, 2, 5])(
    'several groups on two ranks: lost after %i steps, every request ends with right bytes',
    async (steps) => {
      await withTwoDevices(async (first, second) => {
        const engine = await createEngine(
          { ...SMALL, cache: { ...cachePreset('incident-small'), pages: 24 } },
          { device: first },
        );
        for (let i = 0; i < 6; i += 1)
          engine.add({ id: `r${i}`, tokens: prompt(100 * (i % 3), 20), maxOutputTokens: 4 });
        let ended = 0;
        for (let i = 0; i < steps; i += 1) ended += (await engine.step()).finished.length;
        const running = engine.step();
        first.destroy();
        await running.then(
          ({ finished }) => (ended += finished.length),
          (error: unknown) => expect(error).toBeInstanceOf(DeviceError),
        );
        await engine.recover(await workersOn(second, engine));
        engine.checkIntegrity();
        ended += (await engine.drain()).length;
        expect(ended).toBe(6);
        expect((await engine.readWitness()).mismatches).toBe(0);
        engine.checkIntegrity();
        await engine.close();
      });
    },
  );

  it('is refused while a step runs, and for fewer workers than ranks', async () => {
    await withDevice(async (device) => {
      const engine = await createEngine(SMALL, { device });
      engine.add({ id: 'r', tokens: prompt(0, 9) });
      const running = engine.step();
      await expect(engine.recover([])).rejects.toThrow(InvariantError);
      await running;
      await expect(engine.recover([])).rejects.toThrow(/0 workers; give one a rank/);
      await engine.drain();
      await engine.close();
    });
  });
});
