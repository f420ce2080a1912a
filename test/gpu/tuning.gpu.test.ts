/** Ways of moving bytes are measured on the device, within a budget, and the same bytes move whatever is picked. */
import { describe, expect, it } from 'vitest';
import { createEngine } from '../../src/create-engine.ts';
import { adapterFacts } from '../../src/gpu/device.ts';
import { defaultStrategies, suggestedTransfer } from '../../src/gpu/strategies.ts';
import { tuneStaging } from '../../src/gpu/staging-tuning.ts';
import { tune } from '../../src/gpu/tuning.ts';
import { acquireAdapter } from '../../src/runtime/acquire.ts';
import { prompt } from '../support/worlds.ts';
import { withDevice } from './support/device.ts';

const OPERATIONS = ['zero', 'copy', 'store', 'load'] as const;

describe('tuning', () => {
  it('measures each operation in several ways, picks a measured one, and leaves nothing on the device', async () => {
    await withDevice(async (device) => {
      const { picked, measured, cutShort } = await tune(device, {
        pageBytes: 4096,
        force: true,
        budget: 60_000,
      });
      expect(cutShort).toBeNull();
      for (const operation of OPERATIONS) {
        const ways = measured.filter((one) => one.operation === operation);
        expect(ways.length, operation).toBe(operation === 'load' ? 4 : 2);
        expect(ways.map(({ way }) => way)).toContain(picked[operation]);
        for (const { runs, milliseconds, bytes } of ways) {
          expect(runs).toBe(5);
          expect(milliseconds).toBeGreaterThan(0);
          expect(bytes).toBeGreaterThanOrEqual(4096);
        }
      }
    });
  });

  it('is done once for sizes that share a power of two, and again where it is forced', async () => {
    await withDevice(async (device) => {
      const first = await tune(device, { pageBytes: 3000, force: true });
      expect(await tune(device, { pageBytes: 4096 })).toBe(first);
      expect(await tune(device, { pageBytes: 4096, force: true })).not.toBe(first);
    });
  });

  it.each([
    [{ pageBytes: 4096, budget: 0 }, /the time was over/],
    [{ pageBytes: 2 ** 24 }, /too large to try out/],
  ])('keeps the defaults and says why: %j', async (options, why) => {
    await withDevice(async (device) => {
      const { picked, cutShort } = await tune(device, { ...options, force: true });
      expect(cutShort).toMatch(why);
      expect(defaultStrategies(adapterFacts(device))).toMatchObject(picked);
    });
  });

  it('of a lost device gives the defaults and says so', async () => {
    const { adapter } = await acquireAdapter();
    const device = await adapter.requestDevice();
    device.destroy();
    await device.lost;
    const { cutShort, measured } = await tune(device, { pageBytes: 64, force: true });
    expect(cutShort).not.toBeNull();
    expect(measured).toEqual([]);
  });

  it.each(['auto', 'off', 'force'] as const)('%s: an engine runs with what was picked', async (tuning) => {
    await withDevice(async (device) => {
      const engine = await createEngine(
        { cache: { pages: 4, pageBytes: 64, tokensPerPage: 4, zeroing: 'always' }, offload: { slots: 8 } },
        { device, tuning },
      );
      for (const start of [0, 100, 0]) {
        engine.add({ id: `from ${start}`, tokens: prompt(start, 9) });
        await engine.drain();
      }
      const { worker } = engine;
      expect((await engine.readWitness()).mismatches).toBe(0);
      expect(engine.statistics().loads).toBeGreaterThan(0);
      if (tuning === 'off') expect(worker.tuning).toBeNull();
      else expect(worker.strategies).toMatchObject(worker.tuning!.picked);
      await engine.close();
    });
  });

  it('measures staging buffers of several sizes, picks a measured one, and leaves nothing on the device', async () => {
    await withDevice(async (device) => {
      const { stagingBytes, measured, cutShort } = await tuneStaging(device, { force: true, budget: 60_000 });
      expect(cutShort).toBeNull();
      expect(measured.map((one) => one.stagingBytes / 2 ** 20).sort((a, b) => a - b)).toEqual([1, 2, 4, 16]);
      expect(measured.map((one) => one.stagingBytes)).toContain(stagingBytes);
      for (const { runs, milliseconds } of measured) {
        expect(runs).toBe(5);
        expect(milliseconds).toBeGreaterThan(0);
      }
      expect((await tuneStaging(device)).measured).toBe(measured);
      const late = await tuneStaging(device, { force: true, budget: 0 });
      expect(late).toMatchObject({ ...pickSuggested(device), measured: [] });
      expect(late.cutShort).toMatch(/the time was over/);
    });
  });

  it.each([
    { transfer: {}, slots: 4, pages: 512, isMeasured: true },
    { transfer: { stagingBytes: 2 ** 20 }, slots: 4, pages: 512, isMeasured: false },
    { transfer: {}, slots: 0, pages: 512, isMeasured: false },
    { transfer: {}, slots: 4, pages: 8, isMeasured: false },
  ])('of staging is asked for where it matters: %j', async ({ transfer, slots, pages, isMeasured }) => {
    await withDevice(async (device) => {
      const engine = await createEngine(
        { cache: { pages, pageBytes: 2 ** 16, tokensPerPage: 16 }, transfer, offload: { slots } },
        { device, tuning: 'force' },
      );
      const { staging } = engine.worker.tuning!;
      expect(staging !== null).toBe(isMeasured);
      const { stagingBytes } = engine.config.transfer;
      if (staging) expect(stagingBytes).toBe(Math.min(staging.stagingBytes, 2 ** 16 * 128));
      else if (transfer.stagingBytes !== undefined) expect(stagingBytes).toBe(transfer.stagingBytes);
      await engine.close();
    });
  });
});

function pickSuggested(device: GPUDevice) {
  return { stagingBytes: suggestedTransfer(adapterFacts(device)).stagingBytes };
}
