/** Speculative decoding on the CPU: the drafter's states, the goldens with and without drafts, random lives. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { NULL_PAGE, pageId } from '../../../src/units.ts';
import { Generator, type GenerateRequest } from '../../../src/model/generator.ts';
import { loadModel } from '../../../src/model/load.ts';
import { ReferenceDrafter } from '../../../src/model/reference/drafter.ts';
import { sharedModel } from '../../support/models.ts';
import { CONFIG, modelFiles } from './support/small-model.ts';

interface GoldenFile {
  readonly cases: readonly { drafter_state_after_16_tokens_first8: readonly number[] }[];
}

it('the twin has the golden states after 16 tokens, however they are split', async (context) => {
  const { model, goldens, file } = await sharedModel('kjv-tiny', context);
  const strideBytes = model.config.hiddenSize * 4;
  const twin = new ReferenceDrafter(model, { strideBytes });
  for (const [i, { prompt, greedy }] of goldens.entries()) {
    const pool = new Float32Array(4 * model.config.hiddenSize);
    const tokens = [...prompt, ...greedy].slice(0, 16);
    const common = { handOff: NULL_PAGE, proposals: 0 };
    twin.run(pool, { ...common, source: NULL_PAGE, tokens: tokens.slice(0, 9), targets: [pageId(1)] });
    twin.run(pool, {
      ...common,
      source: pageId(1),
      tokens: tokens.slice(9),
      targets: [pageId(1), pageId(2)],
    });
    const { drafter_state_after_16_tokens_first8: golden } = (file as GoldenFile).cases[i];
    for (const [at, number] of golden.entries()) expect(pool[2 * 128 + at]).toBeCloseTo(number, 4);
  }
});

it.for([1, 3])('the golden ids come with %i drafts a step, in fewer steps', async (draftTokens, context) => {
  const { model, goldens } = await sharedModel('kjv-tiny', context);
  const run = async (drafts: number) => {
    const generator = await Generator.create({ model, draftTokens: drafts, hostSlots: 32 });
    const requests = goldens.slice(1, 3).map(({ prompt }) => ({ prompt, maxTokens: 40 }));
    const results = await generator.generate(requests);
    generator.engine.checkIntegrity();
    const { steps, drafts: counts } = generator.engine.statistics();
    await generator.close();
    return { ids: results.map(({ ids }) => ids), steps, counts };
  };
  const golden = goldens.slice(1, 3).map(({ greedy }) => greedy.slice(0, 40));
  const without = await run(0);
  const withDrafts = await run(draftTokens);
  expect(without.ids).toEqual(golden);
  expect(withDrafts.ids).toEqual(golden);
  expect(without.counts).toEqual({ proposed: 0, accepted: 0 });
  // The drafter agrees with the model on about half of all tokens, and a draft counts only behind right ones: of d drafts
  // (1/2 + ... + 1/2^d) / d are right, less what chance takes.
  const share = (1 - 2 ** -draftTokens) / draftTokens;
  expect(withDrafts.counts.accepted / withDrafts.counts.proposed).toBeGreaterThan(0.8 * share);
  expect(withDrafts.steps).toBeLessThan(without.steps);
});

it('states at page ends are those of verified tokens, which shows when drafts are not waited for', async (context) => {
  const { model, goldens } = await sharedModel('kjv-tiny', context);
  const { prompt, greedy } = goldens[2];
  const tokens = [...prompt, ...greedy];
  const twin = new ReferenceDrafter(model, { strideBytes: model.config.hiddenSize * 4 });
  const stateAfter = (count: number) => {
    const pool = new Float32Array(2 * model.config.hiddenSize);
    const from = { source: NULL_PAGE, handOff: NULL_PAGE, proposals: 0 };
    twin.run(pool, { ...from, tokens: tokens.slice(0, count), targets: [pageId(1)] });
    return pool.subarray(model.config.hiddenSize);
  };
  const run = async (verifiedStates: boolean) => {
    const generator = await Generator.create({ model, draftTokens: 3, tokensPerPage: 8 }, { verifiedStates });
    const { engine } = generator;
    const step = engine.step.bind(engine);
    const states = new Map<number, boolean>();
    engine.step = async () => {
      const report = await step();
      for (const { requestId } of report.plan.forward) {
        for (const { page, tokens: count } of engine.cache.boundaryStates(requestId)) {
          const { buffer } = await engine.worker.readPage(page);
          const state = new Float32Array(buffer, 0, model.config.hiddenSize);
          const expected = stateAfter(count);
          const isRight = state.every((number, i) => Math.abs(number - expected[i]) < 1e-4);
          states.set(count, isRight);
        }
      }
      return report;
    };
    const [{ ids }] = await generator.generate([{ prompt, maxTokens: 64, stop: [] }]);
    const { drafts } = engine.statistics();
    await generator.close();
    const wrong = [...states].filter(([, isRight]) => !isRight).map(([count]) => count);
    return { ids, seen: states.size, wrong, rate: drafts.accepted / drafts.proposed };
  };
  const on = await run(true);
  const off = await run(false);
  expect(on.ids).toEqual(greedy.slice(0, 64));
  expect(off.ids).toEqual(on.ids);
  expect(on.seen).toBeGreaterThan(5);
  expect(on.wrong).toEqual([]);
  expect(off.wrong.length).toBeGreaterThan(off.seen / 2);
  expect(off.rate).toBeLessThan(on.rate);
});

it('tiny pools, host tiers and preemptions give each text as it is alone, without drafts', async (context) => {
  const { model, goldens } = await sharedModel('kjv-tiny', context);
  const shared = goldens[1].prompt;
  const alone = new Map<string, readonly number[]>();
  const requestOf = ({ keep, extra, temperature }: { keep: number; extra: number; temperature: number }) => ({
    prompt: [...shared.slice(0, keep), ...goldens[1].greedy.slice(0, extra)],
    maxTokens: 9,
    temperature,
  });
  const life = fc.record({
    lives: fc.array(
      fc.record({
        keep: fc.integer({ min: 1, max: shared.length }),
        extra: fc.integer({ min: 0, max: 10 }),
        temperature: fc.constantFrom(0, 0.7),
      }),
      { minLength: 2, maxLength: 4 },
    ),
    draftTokens: fc.integer({ min: 1, max: 4 }),
    spare: fc.integer({ min: 0, max: 12 }),
    hostSlots: fc.constantFrom(0, 6, 40),
    stepTokensMax: fc.constantFrom(4, 7, 64),
  });
  await fc.assert(
    fc.asyncProperty(life, async ({ lives, draftTokens, spare, hostSlots, stepTokensMax }) => {
      const requests: GenerateRequest[] = lives.map(requestOf);
      for (const request of requests) {
        const key = JSON.stringify(request);
        if (alone.has(key)) continue;
        const generator = await Generator.create({ model });
        const [{ ids }] = await generator.generate([request]);
        alone.set(key, ids);
        await generator.close();
      }
      const generator = await Generator.create({
        ...{ model, draftTokens, hostSlots, stepTokensMax },
        tokensPerPage: 4,
        poolPages: 28 + draftTokens + spare,
      });
      for (const half of [requests, requests.slice().reverse()]) {
        const results = await generator.generate(half);
        expect(results.map(({ ids }) => ids)).toEqual(
          half.map((request) => alone.get(JSON.stringify(request))),
        );
        generator.engine.checkIntegrity();
      }
      await generator.close();
    }),
    { numRuns: 12 },
  );
});

it('a model without a drafter refuses drafts by name', async () => {
  const model = await loadModel(modelFiles({ config: CONFIG }));
  await expect(Generator.create({ model, draftTokens: 2 })).rejects.toThrow('has no drafter');
});

it('samples and forks of a text with drafts are refused by name, and nothing else ends', async (context) => {
  const { model, goldens } = await sharedModel('kjv-tiny', context);
  const generator = await Generator.create({ model, draftTokens: 2 });
  const { prompt, greedy } = goldens[1];
  const result = generator.generate([{ id: 'one', prompt, maxTokens: 8 }]);
  await expect(generator.generate([{ prompt, n: 2, temperature: 1 }])).rejects.toThrow(
    'n is 2 with 2 drafts a step; use n 1, or leave draftTokens out',
  );
  expect(() => generator.engine.fork('one', { id: 'other', maxOutputTokens: 4 })).toThrow(
    /request one has drafts behind it, which a fork cannot share; fork in an engine without speculation/,
  );
  expect((await result)[0].ids).toEqual(greedy.slice(0, 8));
  await generator.close();
});
