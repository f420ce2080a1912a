/** Speculative decoding on WebGPU: the drafter's kernel against its twin, and the goldens with drafts. */
import { expect, it } from 'vitest';
import { BufferUsage } from '../../src/gpu/constants.ts';
import { Generator } from '../../src/model/generator.ts';
import type { DraftJob } from '../../src/model/drafter.ts';
import { DeviceDrafter } from '../../src/model/gpu/drafter.ts';
import { ReferenceDrafter } from '../../src/model/reference/drafter.ts';
import { NULL_PAGE, pageId } from '../../src/units.ts';
import { PAGE_TOKENS, playDrafterIncident } from '../support/drafter-incident.ts';
import { sharedModel } from '../support/models.ts';
import { readBytes, withDevice } from './support/device.ts';

const PAGES = 8;

it('the kernel moves states on, hands them off and proposes as its twin does', async (context) => {
  const { model, goldens } = await sharedModel('kjv-tiny', context);
  const strideBytes = 4 * (model.config.hiddenSize + 12);
  const [first, second] = goldens.map(({ prompt, greedy }) => [...prompt, ...greedy]);
  const none = { handOff: NULL_PAGE, targets: [], proposals: 0 };
  const steps: DraftJob[][] = [
    [
      { ...none, source: NULL_PAGE, tokens: first.slice(0, 20), targets: [1, 2, 3].map(pageId) },
      { ...none, source: NULL_PAGE, tokens: second.slice(0, 5), targets: [pageId(5)] },
    ],
    [
      { ...none, source: pageId(2), handOff: pageId(1), tokens: [first[20]], proposals: 4 },
      { ...none, source: pageId(5), tokens: second.slice(5, 7), targets: [pageId(5), pageId(6)] },
      { ...none, source: pageId(3), handOff: pageId(7), tokens: [second[0]], proposals: 1 },
    ],
  ];
  const twin = new ReferenceDrafter(model, { strideBytes });
  const pool = new Float32Array((PAGES * strideBytes) / 4);
  const expected = steps.map((jobs) => jobs.map((job) => twin.run(pool, job)));
  await withDevice(async (device) => {
    const usage = BufferUsage.STORAGE | BufferUsage.COPY_SRC;
    const buffer = device.createBuffer({ size: pool.byteLength, usage });
    const segments = [{ index: 0, buffer, firstPage: 0, pages: PAGES }];
    const drafter = await DeviceDrafter.create({
      ...{ device, model, strideBytes, segments, requestsMax: 3, draftTokens: 4 },
    });
    const proposed = [];
    for (const jobs of steps) proposed.push(await drafter.propose(jobs));
    expect(proposed).toEqual(expected);
    const bytes = await readBytes(device, buffer);
    const states = new Float32Array(bytes.buffer, bytes.byteOffset, pool.length);
    for (const [i, number] of pool.entries()) expect(Math.abs(states[i] - number)).toBeLessThan(1e-4);
    await drafter.close();
    buffer.destroy();
  });
});

it('a run with drafts gives the ids of one beside it without, greedy and by dice', async (context) => {
  const { model, goldens } = await sharedModel('kjv-tiny', context);
  const requests = [0, 0.8].map((temperature) => ({ prompt: goldens[3].prompt, maxTokens: 10, temperature }));
  await withDevice(async (device) => {
    const sizes = { model, device, tokensPerPage: 8 };
    const plain = await Generator.create(sizes);
    const drafting = await Generator.create({ ...sizes, draftTokens: 2 });
    const [without, withDrafts] = await Promise.all([plain.generate(requests), drafting.generate(requests)]);
    expect(withDrafts.map(({ ids }) => ids)).toEqual(without.map(({ ids }) => ids));
    expect(plain.engine.statistics().drafts.proposed).toBe(0);
    expect(drafting.engine.statistics().drafts.proposed).toBeGreaterThan(0);
    await plain.close();
    await drafting.close();
  });
});

it("a drafter's state that is zeroed before its store comes back as zeros, and leaves the text", async (context) => {
  const shared = await sharedModel('kjv-tiny', context);
  const { prompt, greedy } = shared.goldens[3];
  const text = [...prompt, ...greedy];
  const follower = { prompt: text.slice(0, PAGE_TOKENS + 1), maxTokens: 6, stop: [] };
  await withDevice(async (device) => {
    for (const fence of ['complete', 'scheduled-and-loads'] as const) {
      const incident = await playDrafterIncident(shared, { fence, text, device, followers: [follower] });
      const { statePage, ringPage, stored, computed, followers } = incident;
      expect(ringPage).toBe(statePage);
      expect(stored).toEqual(fence === 'complete' ? computed : new Uint8Array(computed.length));
      expect(computed.some((byte) => byte !== 0)).toBe(true);
      expect(followers[0].hits).toEqual({ device: 0, host: PAGE_TOKENS });
      expect(followers[0].ids).toEqual(text.slice(PAGE_TOKENS + 1, PAGE_TOKENS + 7));
    }
  });
});

it('the golden ids come with drafts, in one batch, computed and found', async (context) => {
  const { model, goldens } = await sharedModel('kjv-tiny', context);
  await withDevice(async (device) => {
    const generator = await Generator.create({
      model,
      device,
      draftTokens: 2,
      tokensPerPage: 8,
      hostSlots: 32,
    });
    const requests = goldens.slice(1, 3).map(({ prompt }) => ({ prompt, maxTokens: 12 }));
    for (let round = 0; round < 2; round += 1) {
      const results = await generator.generate(requests);
      expect(results.map(({ ids }) => ids)).toEqual(
        goldens.slice(1, 3).map(({ greedy }) => greedy.slice(0, 12)),
      );
    }
    const { proposed, accepted } = generator.engine.statistics().drafts;
    expect(accepted).toBeGreaterThan(0);
    expect(accepted).toBeLessThan(proposed);
    generator.engine.checkIntegrity();
    await generator.close();
  });
});
