/** Prompts through the engine on the CPU: bad requests, stop tokens, dice, streams, aborts, random lives. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Generator, type GenerateRequest, type GeneratorOptions } from '../../../src/model/generator.ts';
import { loadModel } from '../../../src/model/load.ts';
import { greedyToken, sampleToken } from '../../../src/model/sample.ts';
import { sharedModel } from '../../support/models.ts';
import { CONFIG, modelFiles } from './support/small-model.ts';

const LAYERS = { layer_types: ['full_attention', 'sliding_attention'], sliding_window: 6 };

async function small(options: Partial<GeneratorOptions> = {}): Promise<Generator> {
  const model = await loadModel(modelFiles({ config: { ...CONFIG, ...LAYERS } }));
  return Generator.create({ model, tokensPerPage: 4, poolPages: 64, ...options });
}

describe('sampling', () => {
  const logits = Float32Array.of(0, 2, 1, 2, -5);

  it('at temperature 0 takes the first of the most likely tokens', () => {
    expect(greedyToken(logits)).toBe(1);
    expect(sampleToken(logits, {}, 7)).toBe(1);
  });

  it('above it takes each token as often as its probability says, within topK and topP', () => {
    const shares = (options: object) => {
      const counts = [0, 0, 0, 0, 0];
      for (let i = 0; i < 4000; i += 1)
        counts[sampleToken(logits, { temperature: 1, seed: 5, ...options }, i)] += 1;
      return counts.map((count) => count / 4000);
    };
    const weights = [...logits].map((logit) => Math.exp(logit));
    const sum = weights.reduce((a, b) => a + b);
    for (const [i, share] of shares({}).entries()) expect(share).toBeCloseTo(weights[i] / sum, 1);
    expect(shares({ topK: 2 }).map((share) => share > 0)).toEqual([false, true, false, true, false]);
    expect(shares({ topP: 0.7 }).map((share) => share > 0)).toEqual([false, true, false, true, false]);
    expect(shares({ topP: 1e-6 })).toEqual([0, 1, 0, 0, 0]);
  });

  it('is the same for the same seed and place, and another for others', () => {
    const draw = (seed: number) =>
      Array.from({ length: 50 }, (_, i) => sampleToken(logits, { temperature: 2, seed }, i));
    expect(draw(1)).toEqual(draw(1));
    expect(draw(1)).not.toEqual(draw(2));
  });
});

describe('a generator', () => {
  it.each([
    [{ prompt: [] }, 'a prompt has no tokens'],
    [{ prompt: [24] }, 'token 24 is not one of the 24'],
    [{ prompt: [1], maxTokens: 0 }, 'maxTokens is 0'],
    [{ prompt: [1], maxTokens: 65 }, 'exceed the 64 positions'],
    [{ prompt: 'text' }, 'has no tokenizer.json'],
    [{ prompt: [1], temperature: -1 }, 'temperature is -1'],
    [{ prompt: [1], topP: 0 }, 'topP is 0'],
    [{ prompt: [1], topK: 1.5 }, 'topK is 1.5'],
    [{ prompt: [1], seed: -1 }, 'seed is -1'],
    [{ prompt: [1], n: 0, temperature: 1 }, 'n is 0'],
    [{ prompt: [1], n: 2 }, 'n is 2 at temperature 0'],
  ])('refuses %j by name, and begins nothing', async (request: GenerateRequest, message) => {
    const generator = await small();
    await expect(generator.generate([{ prompt: [1] }, request])).rejects.toThrow(message);
    expect(generator.engine.requestCount).toBe(0);
    await generator.close();
  });

  it('ends at a stop token, which is not part of the text', async () => {
    const generator = await small();
    const [free] = await generator.generate([{ prompt: [1, 2, 3], maxTokens: 20 }]);
    expect(free).toMatchObject({ finish: 'length', text: null });
    expect(free.ids).toHaveLength(20);
    const stop = free.ids[6];
    const [stopped] = await generator.generate([{ prompt: [1, 2, 3], maxTokens: 20, stop: [stop] }]);
    expect(stopped.finish).toBe('stop');
    expect(stopped.ids).toEqual(free.ids.slice(0, free.ids.indexOf(stop)));
    await generator.close();
  });

  it('computes the prompt of several samples once, and each is what it is alone', async () => {
    const dice = { prompt: [1, 2, 3, 4, 5, 6], maxTokens: 8, temperature: 1.5, stop: [] };
    const alone = await small();
    const expected: (readonly number[])[] = [];
    for (const seed of [7, 8, 9]) {
      const [{ ids }] = await alone.generate([{ ...dice, seed, salt: String(seed) }]);
      expected.push(ids);
    }
    await alone.close();
    expect(new Set(expected.map(String)).size).toBe(3);
    // With few places, or few pages, the samples wait for each other and are the same.
    for (const sizes of [{}, { runningMax: 2 }, { poolPages: 9 }, { hostSlots: 8 }]) {
      const generator = await small(sizes);
      const seen: number[][] = [[], [], []];
      const results = await generator.generate([
        { ...dice, seed: 7, n: 3, onToken: ({ token, sample }) => seen[sample].push(token) },
      ]);
      expect(
        results.map(({ ids }) => ids),
        JSON.stringify(sizes),
      ).toEqual(expected);
      expect(seen).toEqual(expected);
      expect(results.map(({ sample }) => sample)).toEqual([0, 1, 2]);
      generator.engine.checkIntegrity();
      expect(generator.engine.cache.freePages).toBe(generator.engine.cache.pageCountMax);
      if (Object.keys(sizes).length === 0) {
        expect(results.map(({ hits }) => hits.device)).toEqual([0, 6, 6]);
        // The prompt once, and the last token of a text is not computed.
        expect(generator.engine.statistics().computedTokens).toBe(6 + 3 * 7);
      }
      await generator.close();
    }
  });

  it('that is aborted before the first token ends all samples', async () => {
    const generator = await small();
    const signal = AbortSignal.abort();
    const results = await generator.generate([
      { prompt: [1, 2], n: 3, maxTokens: 4, temperature: 1, signal },
    ]);
    expect(results.map(({ finish }) => finish)).toEqual(['aborted', 'aborted', 'aborted']);
    await generator.close();
  });

  it('streams tokens, and ends with what there is when it is aborted', async () => {
    const generator = await small();
    const controller = new AbortController();
    const tokens: number[] = [];
    const [result] = await generator.generate([
      {
        prompt: [5, 6],
        maxTokens: 40,
        signal: controller.signal,
        onToken: ({ token }) => {
          tokens.push(token);
          if (tokens.length === 3) controller.abort();
        },
      },
    ]);
    expect(result.finish).toBe('aborted');
    expect(result.ids).toEqual(tokens);
    expect(tokens).toHaveLength(3);
    await generator.close();
  });

  it('tells everybody who waits when a listener throws, and goes on with the next call', async () => {
    const generator = await small();
    const fail = () => {
      throw new Error('not today');
    };
    await expect(generator.generate([{ prompt: [1], onToken: fail }])).rejects.toThrow('not today');
    const [{ ids }] = await generator.generate([{ prompt: [1], maxTokens: 2 }]);
    expect(ids).toHaveLength(2);
    await generator.close();
  });

  it('streams pieces whose sum is the text', async (context) => {
    const { model } = await sharedModel('kjv-tiny', context);
    const generator = await Generator.create({ model });
    const pieces: string[] = [];
    const [{ text }] = await generator.generate([
      { prompt: 'In the beginning', maxTokens: 24, onToken: (token) => pieces.push(token.text) },
    ]);
    expect(pieces.join('')).toBe(text);
    await generator.close();
  });

  it('under any pool, host tier and chunks gives each prompt what it gets alone in a large pool', async () => {
    const model = await loadModel(modelFiles({ config: { ...CONFIG, ...LAYERS } }));
    const alone = await small({ engine: { cache: { prefixCaching: false } } });
    const request = fc.record({
      shared: fc.integer({ min: 0, max: 20 }),
      own: fc.array(fc.integer({ min: 0, max: 23 }), { minLength: 1, maxLength: 8 }),
      maxTokens: fc.integer({ min: 1, max: 10 }),
      temperature: fc.constantFrom(0, 1),
      seed: fc.integer({ min: 0, max: 5 }),
    });
    const world = fc.record({
      requests: fc.array(request, { minLength: 1, maxLength: 6 }),
      tokensPerPage: fc.constantFrom(1, 2, 4, 5),
      spare: fc.integer({ min: 0, max: 12 }),
      hostSlots: fc.constantFrom(0, 3, 40),
      stepTokensMax: fc.constantFrom(3, 8, 64),
    });
    // Buffers no larger than such a pool needs.
    const engine = { transfer: { stagingBytes: 8192, overflowBytes: 8192 } };
    const seen = { preemptions: 0, device: 0, host: 0 };
    await fc.assert(
      fc.asyncProperty(world, async ({ requests, tokensPerPage, spare, ...sizes }) => {
        // Two groups of the longest request, and a little more.
        const poolPages = 1 + 2 * Math.ceil(38 / tokensPerPage) + spare;
        const generator = await Generator.create({ model, tokensPerPage, poolPages, ...sizes, engine });
        const prompts = requests.map(({ shared, own, ...rest }) => ({
          ...rest,
          prompt: [...Array.from({ length: shared }, (_, i) => (i * 7) % 24), ...own],
        }));
        for (const half of [prompts, prompts.slice(0, 2)]) {
          const results = await generator.generate(half);
          for (const [i, result] of results.entries()) {
            const [expected] = await alone.generate([half[i]]);
            expect(result.ids).toEqual(expected.ids);
            seen.preemptions += result.preemptions;
            seen.device += result.hits.device;
            seen.host += result.hits.host;
          }
        }
        generator.engine.checkIntegrity();
        await generator.close();
      }),
      { numRuns: 50, endOnFailure: true },
    );
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0);
    await alone.close();
  });
});
