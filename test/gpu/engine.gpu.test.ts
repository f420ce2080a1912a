/** The whole system on the device: the fence, byte for byte against the simulated worker, and the witness. */
import { describe, expect, it } from 'vitest';
import type { TransferConfig } from '../../src/config.ts';
import { engineConfigSchema } from '../../src/config.ts';
import { WebGpuWorker } from '../../src/gpu/worker.ts';
import { HostMemory } from '../../src/host-memory.ts';
import { pageId, slotId } from '../../src/units.ts';
import { PAGE_WORDS, provokeHazard } from '../support/fence-hazard.ts';
import { randomRun } from '../support/random-run.ts';
import { makeWorld, prompt, words, type MakeWorker } from '../support/worlds.ts';
import { expectBytes, withDevice } from './support/device.ts';

const onDevice =
  (device: GPUDevice, segmentBytesMax?: number): MakeWorker =>
  ({ config: { cache, transfer, witness }, host }) =>
    WebGpuWorker.create({ device, cache, transfer, host, witness, segmentBytesMax });

describe('the fence', () => {
  it('releases the store before its page is zeroed, and waits for nothing', async () => {
    await withDevice(async (device) => {
      const { slot, rowsOfA, claim, acknowledgedInClaim, mismatchesOnHit, hostHitTokens, world } =
        await provokeHazard('complete', onDevice(device));
      expect(claim.flush).toEqual([0]);
      expect(claim.released).toEqual([0]);
      expect(acknowledgedInClaim).toBe(0);
      expectBytes(slot, rowsOfA, 'host slot');
      expect(hostHitTokens).toBe(4);
      expect(mismatchesOnHit).toBe(0);
      await world.engine.close();
    });
  });

  it('off: the slot holds the new owner and zeros, and the witness finds it when the key is hit', async () => {
    await withDevice(async (device) => {
      const { slot, rowsOfBThenZeros, mismatchesOnHit, hostHitTokens, world } = await provokeHazard(
        'off',
        onDevice(device),
      );
      expectBytes(slot, rowsOfBThenZeros, 'host slot');
      expect(hostHitTokens).toBe(4);
      expect(mismatchesOnHit).toBe(PAGE_WORDS);
      await world.engine.close();
    });
  });
});

describe('the same step plans on the device and on the simulated worker', () => {
  const runs = [
    { seed: 82, zeroing: 'always', fence: 'complete' },
    { seed: 102, zeroing: 'poison', fence: 'complete' },
    { seed: 254, zeroing: 'auto', fence: 'complete' },
    { seed: 26, zeroing: 'always', fence: 'off' },
  ] as const;

  it.each(runs)('seed $seed, zeroing $zeroing, fence $fence: equal outcomes and equal bytes', async (run) => {
    await withDevice(async (device) => {
      const { world, config, log } = await randomRun({ ...run, steps: 40 });
      const { hitTokens } = world.engine.statistics();
      expect(hitTokens.host, 'a run without loads proves little').toBeGreaterThan(0);
      const { cache, transfer, offload, witness } = engineConfigSchema.parse(config);
      const host = new HostMemory({ slots: Math.max(offload.slots, 1), slotBytes: cache.pageBytes });
      // Two pages a segment at most, so that lists and copies cross borders.
      const segmentBytesMax = Math.max(2 * cache.pageBytes, 256);
      const worker = await WebGpuWorker.create({ device, cache, transfer, host, witness, segmentBytesMax });
      for (const { plan, outcome } of log) expect(await worker.execute(plan)).toEqual(outcome);
      for (let page = 0; page < cache.pages; page += 1) {
        const expected = await world.worker.readPage(pageId(page));
        expectBytes(await worker.readPage(pageId(page)), expected, `page ${page}`);
      }
      for (let slot = 0; slot < offload.slots; slot += 1) {
        expectBytes(host.view(slotId(slot)), world.host.view(slotId(slot)), `slot ${slot}`);
      }
      const [actual, expected] = [await worker.readWitness(), await world.worker.readWitness()];
      expect(actual.mismatches).toBe(expected.mismatches);
      expect(actual.checkedWords).toBe(expected.checkedWords);
      await worker.close();
    });
  });
});

describe('two steps in flight', () => {
  it.each([{ seed: 82 }, { seed: 26 }])(
    'seed $seed: the same plans, outcomes and bytes on the device and on the simulated worker',
    async ({ seed }) => {
      await withDevice(async (device) => {
        const options = { seed, steps: 40, stepsInFlight: 2 } as const;
        const twin = await randomRun(options);
        const run = await randomRun({ ...options, makeWorker: onDevice(device) });
        expect(twin.world.engine.statistics().hitTokens.host).toBeGreaterThan(0);
        expect(run.log).toEqual(twin.log);
        expect(run.wrongSlot).toBeNull();
        const { pages } = run.world.engine.config.cache;
        for (let page = 0; page < pages; page += 1) {
          const expected = await twin.world.worker.readPage(pageId(page));
          expectBytes(await run.world.worker.readPage(pageId(page)), expected, `page ${page}`);
        }
        const [actual, expected] = [
          await run.world.worker.readWitness(),
          await twin.world.worker.readWitness(),
        ];
        expect(actual).toMatchObject({ mismatches: 0, checkedWords: expected.checkedWords });
        await run.world.engine.close();
      });
    },
  );
});

describe('the witness', () => {
  const config = {
    cache: { pages: 8, pageBytes: 64, tokensPerPage: 4 },
    offload: { slots: 8 },
    transfer: { acknowledgementLag: 1 },
  };

  it('counts one word for one flipped byte of a host slot', async () => {
    await withDevice(async (device) => {
      const world = await makeWorld(config, onDevice(device));
      const { engine, host, worker } = world;
      engine.add({ id: 'first', tokens: prompt(0, 8) });
      await engine.drain();
      // Push the pages out of the device, so that the next hit comes from the host.
      engine.add({ id: 'other', tokens: prompt(500, 25) });
      await engine.drain();
      host.view(slotId(1))[5] ^= 0x10;
      engine.add({ id: 'second', tokens: [...prompt(0, 8), 1] });
      const [second] = await engine.drain();
      expect(second.hitTokens.host).toBe(8);
      expect((await worker.readWitness()).mismatches).toBe(1);
      await engine.close();
    });
  });

  it('counts one word for one flipped byte of a page, and never refills a hit', async () => {
    await withDevice(async (device) => {
      const { engine, worker, page } = await makeWorld(config, onDevice(device));
      engine.add({ id: 'first', tokens: prompt(0, 8) });
      await engine.drain();
      const before = await page(2);
      const flipped = before[3] ^ 0x0100;
      worker.damagePage(pageId(2), 12, new Uint8Array(Uint32Array.of(flipped).buffer));
      engine.add({ id: 'second', tokens: [...prompt(0, 8), 1] });
      const [second] = await engine.drain();
      expect(second.hitTokens.device).toBe(8);
      expect((await worker.readWitness()).mismatches).toBe(1);
      expect((await page(2))[3], 'the damage is still there').toBe(flipped);
      await engine.close();
    });
  });

  it('counts every differing word of two swapped pages', async () => {
    await withDevice(async (device) => {
      const { engine, worker, page } = await makeWorld(config, onDevice(device));
      engine.add({ id: 'first', tokens: prompt(0, 8) });
      await engine.drain();
      const [one, two] = [await page(1), await page(2)];
      const differing = one.filter((word, i) => word !== two[i]).length;
      worker.damagePage(pageId(1), 0, new Uint8Array(two.buffer));
      worker.damagePage(pageId(2), 0, new Uint8Array(one.buffer));
      engine.add({ id: 'second', tokens: [...prompt(0, 8), 1] });
      await engine.drain();
      expect(differing).toBeGreaterThan(0);
      expect((await worker.readWitness()).mismatches).toBe(2 * differing);
      await engine.close();
    });
  });
});

describe('one long prompt', () => {
  it('of 100,000 tokens in pages of 16 goes to the host whole, and comes back whole', async () => {
    await withDevice(async (device) => {
      const tokensPerPage = 16;
      const pages = 6_250;
      const world = await makeWorld(
        {
          cache: { pages: pages + 1, pageBytes: 64, tokensPerPage },
          schedule: { maxTokensPerStep: 50_000 },
          offload: { slots: 2 * pages },
        },
        onDevice(device),
      );
      const { engine, worker } = world;
      const long = Uint32Array.from({ length: 100_000 }, (_, i) => (i * 2_654_435_761) >>> 0);
      engine.add({ id: 'first', tokens: long });
      await engine.drain();
      expect(engine.statistics().pagesStored).toBe(pages);
      engine.add({ id: 'pushes it out', tokens: long.map((token) => token ^ 1) });
      await engine.drain();
      engine.add({ id: 'second', tokens: long });
      const [second] = await engine.drain();
      // The last token is always computed, and with it its page.
      expect(second.hitTokens).toEqual({ device: 0, host: long.length - tokensPerPage });
      expect((await worker.readWitness()).mismatches).toBe(0);
      expect(engine.cache.freePages).toBe(engine.cache.pageCountMax);
      await engine.close();
    });
  });
});

describe('memory under way', () => {
  it('a store that is read late does not see later rows of its page', async () => {
    await withDevice(async (device) => {
      const transfer: Partial<TransferConfig> = {
        storeBytesPerStep: 64,
        stagingBuffers: 1,
        stagingBytes: 64,
      };
      const { engine, slot, worker } = await makeWorld(
        { cache: { pages: 12, pageBytes: 64, tokensPerPage: 4 }, offload: { slots: 12 }, transfer },
        onDevice(device),
      );
      engine.add({ id: 'long', tokens: prompt(0, 16), maxOutputTokens: 9 });
      await engine.drain();
      expect((await worker.readWitness()).mismatches).toBe(0);
      for (let page = 0; page < 6; page += 1) {
        expectBytes(slot(page), words(await worker.readPage(pageId(page + 1))), `slot ${page}`);
      }
      await engine.close();
    });
  });
});
