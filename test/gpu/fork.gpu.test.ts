/** Forks of running requests on the device: the copied page, byte for byte, and every plan against the simulated worker. */
import { describe, expect, it } from 'vitest';
import { WebGpuWorker } from '../../src/gpu/worker.ts';
import { HostMemory } from '../../src/host-memory.ts';
import { freezePlan, type StepRecord } from '../../src/schedule/step-log.ts';
import { pageId, requestId, slotId } from '../../src/units.ts';
import { makeWorld, prompt, words, type MakeWorker } from '../support/worlds.ts';
import { expectBytes, withDevice } from './support/device.ts';

const PAGES = 24;
const PAGE_BYTES = 64;
const input = (stepsInFlight: 1 | 2) => ({
  cache: {
    pages: PAGES,
    zeroing: 'always' as const,
    groups: [
      { kind: 'full-attention' as const, tokensPerPage: 4, pageBytes: PAGE_BYTES },
      { kind: 'recurrent' as const, tokensPerPage: 4, pageBytes: 32 },
      { kind: 'ring' as const, capacityTokens: 4, pageBytes: 48, after: 'history' as const },
    ],
  },
  offload: { slots: 12 },
  schedule: { stepsInFlight },
});

/** Two forks of a running request, and one of a fork; all of them sample tokens of their own. */
async function life(stepsInFlight: 1 | 2, makeWorker?: MakeWorker) {
  const log: StepRecord[] = [];
  const world = await makeWorld(input(stepsInFlight), makeWorker, {
    nextToken: ({ id, sequence }) => id.charCodeAt(0) + sequence.length,
  });
  const { engine } = world;
  const step = async () => {
    const { plan, outcome } = await engine.step();
    log.push({ plan: freezePlan(plan), outcome });
  };
  engine.add({ id: 'a', tokens: prompt(0, 10), maxOutputTokens: 9 });
  while (engine.scheduler.queues.running[0]?.sequence.length !== 11) await step();
  expect(engine.fork('a', { id: 'b', maxOutputTokens: 6 })).toBeGreaterThan(0);
  expect(engine.fork('b', { id: 'c', maxOutputTokens: 3 })).toBeGreaterThan(0);
  const [parent, fork] = ['a', 'b'].map((id) => engine.cache.pageTable(requestId(id))[2]);
  await step();
  engine.abort('a');
  while (engine.hasWork) await step();
  engine.checkIntegrity();
  return { world, log, parent, fork };
}

describe.each([1, 2] as const)('forks with %i steps in flight', (stepsInFlight) => {
  it('leave the bytes that they leave on the simulated worker', async () => {
    await withDevice(async (device) => {
      const { world, log, parent, fork } = await life(stepsInFlight);
      expect(log.flatMap(({ plan }) => plan.copies).length).toBe(6);
      expect((await world.engine.readWitness()).mismatches).toBe(0);
      const { cache, transfer, offload, witness } = world.engine.config;
      const host = new HostMemory({ slots: offload.slots, slotBytes: cache.pageBytes });
      const segmentBytesMax = 4 * cache.pageBytes;
      const worker = await WebGpuWorker.create({ device, cache, transfer, host, witness, segmentBytesMax });
      for (const { plan, outcome } of log) {
        expect(await worker.execute(plan)).toEqual(outcome);
        if (!plan.copies.some(({ destination }) => destination === fork)) continue;
        // Rows 8 and 9 of the parent are in the copy as well.
        const [own, copied] = [words(await worker.readPage(parent)), words(await worker.readPage(fork))];
        expect(own.slice(0, 8).some((word) => word !== 0)).toBe(true);
        expect(copied.slice(0, 8)).toEqual(own.slice(0, 8));
      }
      for (let page = 0; page < PAGES; page += 1) {
        const expected = await world.worker.readPage(pageId(page));
        expectBytes(await worker.readPage(pageId(page)), expected, `page ${page}`);
      }
      for (let slot = 0; slot < offload.slots; slot += 1) {
        expectBytes(host.view(slotId(slot)), world.host.view(slotId(slot)), `slot ${slot}`);
      }
      expect((await worker.readWitness()).mismatches).toBe(0);
      await worker.close();
    });
  });

  it('without the copies read other bytes than their own', async () => {
    await withDevice(async (device) => {
      const { world } = await life(stepsInFlight, async ({ config: { cache, transfer, witness }, host }) => {
        const worker = await WebGpuWorker.create({ device, cache, transfer, host, witness });
        const execute = worker.execute.bind(worker);
        worker.execute = (plan) => execute({ ...plan, copies: [] });
        return worker;
      });
      expect((await world.engine.readWitness()).mismatches).toBeGreaterThan(0);
      await world.engine.close();
    });
  });
});
