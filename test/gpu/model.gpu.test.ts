/** Models on the device: the goldens' ids exactly, and the CPU twin's logits, whatever became of the pages in between. */
import { describe, expect, it } from 'vitest';
import { PageBuffers } from '../../src/gpu/page-buffers.ts';
import { cacheConfigFor } from '../../src/model/cache-layout.ts';
import { parseModelConfig } from '../../src/model/config.ts';
import { Generator, type GeneratorOptions } from '../../src/model/generator.ts';
import { ForwardPass } from '../../src/model/gpu/forward-pass.ts';
import { ReferenceModel } from '../../src/model/reference/forward.ts';
import type { Model } from '../../src/model/model.ts';
import { pageId, requestId } from '../../src/units.ts';
import { repeatedTensor } from '../support/model-numbers.ts';
import { sharedModel, type Golden, type ModelName } from '../support/models.ts';
import { runtimeName, withDevice } from './support/device.ts';

const MODELS: ModelName[] = ['kjv-tiny', 'stories260k'];
const LOGITS_TOLERANCE = 2e-4;
/** Goldens are followed to their end in Node; elsewhere, where the same shaders run, so far. */
const FOLLOWED = runtimeName === 'node' ? Infinity : 40;
/** Sizes of pages, of prompts' chunks and of models that only Node tries. */
const inNode = it.runIf(runtimeName === 'node');
const PAGE_SIZES = runtimeName === 'node' ? [1, 2, 5, 64] : [5];

async function withGenerator(
  options: GeneratorOptions,
  body: (generator: Generator) => Promise<void>,
): Promise<void> {
  const generator = await Generator.create(options);
  try {
    await body(generator);
    generator.engine.checkIntegrity();
  } finally {
    await generator.close();
  }
}

/** Tokens `from` to `from + count` behind the golden's beginning, as a request that must produce them. */
function excerpt({ prompt, greedy }: Golden, from: number, count: number) {
  const whole = [...prompt, ...greedy];
  const start = prompt.length + from;
  return { prompt: whole.slice(0, start), maxTokens: count, expected: whole.slice(start, start + count) };
}

/** Generates, and expects the golden's tokens of each. */
async function expectExcerpts(generator: Generator, excerpts: readonly ReturnType<typeof excerpt>[]) {
  const results = await generator.generate(excerpts.map((each) => ({ ...each, stop: [] })));
  for (const [i, { ids }] of results.entries()) expect(ids, `text ${i}`).toEqual(excerpts[i].expected);
  return results;
}

/** Logits of the CPU twin at every position of a sequence. */
function twinLogits(model: Model, tokens: readonly number[]): Float32Array[] {
  const tokensPerPage = tokens.length;
  const { groups } = cacheConfigFor(model.config, { tokensPerPage, pages: 3 });
  const strideBytes = Math.max(...groups.map((group) => group.pageBytes));
  const reference = new ReferenceModel(model, { tokensPerPage, strideBytes });
  const request = {
    requestId: requestId('twin'),
    start: 0,
    end: tokens.length,
    computedFrom: 0,
    tables: groups.map((_, group) => [pageId(group + 1)]),
    tokens: Uint32Array.from(tokens),
    unitSeeds: new Uint32Array(0),
  };
  return reference.forward(new Float32Array(((groups.length + 1) * strideBytes) / 4), [request], {
    allRows: true,
  });
}

function largestDifference(a: Float32Array, b: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < a.length; i += 1) largest = Math.max(largest, Math.abs(a[i] - b[i]));
  return largest;
}

/** Eight beginnings of different lengths, of each the next few tokens. */
function eightExcerpts(golden: Golden, count = 3) {
  return Array.from({ length: 8 }, (_, i) => excerpt(golden, i * 9, count));
}

describe.each(MODELS)('%s', (name) => {
  it('gives the golden ids from the beginning on, and the logits of the twin at every position', async (context) => {
    const { model, goldens } = await sharedModel(name, context);
    const [golden] = goldens;
    const followed = Math.min(golden.greedy.length, FOLLOWED);
    await withDevice(async (device) => {
      const seen: Float32Array[] = [];
      const onLogits: GeneratorOptions['onLogits'] = (logits, { position }) => {
        seen[position - 1] = logits.slice();
      };
      await withGenerator({ model, device, onLogits }, async (generator) => {
        await expectExcerpts(generator, [excerpt(golden, 0, followed)]);
      });
      const text = [...golden.prompt, ...golden.greedy.slice(0, followed)];
      const twin = twinLogits(model, text.slice(0, -1));
      const differences = twin.map((logits, at) => largestDifference(logits, seen[at]));
      expect(Math.max(...differences)).toBeLessThan(LOGITS_TOLERANCE);
    });
  });

  it.for(PAGE_SIZES)('gives them with pages of %i tokens', async (tokensPerPage, context) => {
    const { model, goldens } = await sharedModel(name, context);
    await withDevice(async (device) => {
      const poolPages = 8 + Math.ceil(4096 / tokensPerPage);
      await withGenerator({ model, device, tokensPerPage, poolPages }, async (generator) => {
        await expectExcerpts(generator, eightExcerpts(goldens[0]));
      });
    });
  });

  inNode('gives them with a prompt of 64 tokens computed in chunks', async (context) => {
    const { model, goldens } = await sharedModel(name, context);
    await withDevice(async (device) => {
      for (const stepTokensMax of [5, 31, 63]) {
        await withGenerator({ model, device, stepTokensMax }, async (generator) => {
          await expectExcerpts(generator, [excerpt(goldens[0], 63, 2)]);
          expect(generator.engine.steps).toBeGreaterThanOrEqual(Math.ceil(64 / stepTokensMax) + 1);
        });
      }
    });
  });
});

it('gives the golden ids of all prompts in one batch', async (context) => {
  const { model, goldens } = await sharedModel('kjv-tiny', context);
  await withDevice(async (device) => {
    await withGenerator({ model, device }, async (generator) => {
      const excerpts = goldens.slice(1).flatMap((golden) => [0, 30].map((from) => excerpt(golden, from, 6)));
      await expectExcerpts(generator, excerpts);
    });
  });
});

/** Whatever happened to pages in between: the same tokens. 40 tokens are five pages of 8 in each group. */
describe('the text does not tell', () => {
  const begin = async (context: Parameters<typeof sharedModel>[1]) => {
    const { model, goldens } = await sharedModel('kjv-tiny', context);
    return { model, first: excerpt(goldens[0], 40, 5), goldens };
  };
  const size = { tokensPerPage: 8, poolPages: 2 * 8 + 1 };
  /** Pushes all other pages out of the pool of that size. */
  const pushOut = (goldens: readonly Golden[]) => excerpt(goldens[1], 45, 3);

  it('of a hit on the device, and of one in the very step that computes the prefix', async (context) => {
    const { model, first } = await begin(context);
    await withDevice(async (device) => {
      await withGenerator({ model, device, tokensPerPage: 8 }, async (generator) => {
        const [leader, follower] = await expectExcerpts(generator, [first, first]);
        expect(leader.hits.device).toBe(0);
        expect(follower.hits.device).toBe(40);
        const [later] = await expectExcerpts(generator, [first]);
        expect(later.hits).toEqual({ device: 40, host: 0 });
      });
    });
  });

  it('of pages that were evicted and computed again', async (context) => {
    const { model, first, goldens } = await begin(context);
    await withDevice(async (device) => {
      await withGenerator({ model, device, ...size }, async (generator) => {
        for (const each of [first, pushOut(goldens)]) await expectExcerpts(generator, [each]);
        const [again] = await expectExcerpts(generator, [first]);
        expect(again.hits).toEqual({ device: 0, host: 0 });
      });
    });
  });

  it('of pages that went to the host and came back', async (context) => {
    const { model, first, goldens } = await begin(context);
    await withDevice(async (device) => {
      await withGenerator({ model, device, ...size, hostSlots: 64 }, async (generator) => {
        for (const each of [first, pushOut(goldens)]) await expectExcerpts(generator, [each]);
        const [again] = await expectExcerpts(generator, [first]);
        expect(again.hits.host).toBeGreaterThan(0);
      });
    });
  });

  it('of pages that another generator computed, snapshotted in one and restored in the next', async (context) => {
    const { model, first } = await begin(context);
    await withDevice(async (device) => {
      const options = { model, device, tokensPerPage: 8 };
      let buffer = new ArrayBuffer(0);
      await withGenerator(options, async (generator) => {
        await expectExcerpts(generator, [first]);
        buffer = await generator.snapshot(first.prompt);
      });
      await withGenerator({ ...options, hostSlots: 32 }, async (generator) => {
        expect(await generator.restore(buffer)).toBe(40);
        const [again] = await expectExcerpts(generator, [first]);
        expect(again.hits).toEqual({ device: 0, host: 40 });
      });
    });
  });

  it('of requests that gave way and were resumed, with and without a host tier', async (context) => {
    const { model, goldens } = await begin(context);
    await withDevice(async (device) => {
      for (const hostSlots of [0, 64]) {
        await withGenerator({ model, device, ...size, hostSlots }, async (generator) => {
          const results = await expectExcerpts(
            generator,
            goldens.slice(0, 3).map((golden) => excerpt(golden, 12, 12)),
          );
          expect(results.reduce((sum, { preemptions }) => sum + preemptions, 0)).toBeGreaterThan(0);
        });
      }
    });
  });
});

it('a page that is read and was changed changes the logits, whichever page it is', async (context) => {
  const { model, goldens } = await sharedModel('kjv-tiny', context);
  const { prompt } = excerpt(goldens[0], 40, 1);
  await withDevice(async (device) => {
    let seen = new Float32Array(0) as Float32Array;
    const onLogits: GeneratorOptions['onLogits'] = (logits) => {
      seen = logits.slice();
    };
    const options = { model, device, tokensPerPage: 8, poolPages: 24, onLogits };
    await withGenerator(options, async (generator) => {
      const { worker } = generator.engine;
      const again = async () => {
        const [{ hits }] = await generator.generate([{ prompt, maxTokens: 1, stop: [] }]);
        return { hit: hits.device, logits: seen };
      };
      const { logits: first } = await again();
      const { hit, logits: right } = await again();
      expect(hit).toBe(40);
      expect(largestDifference(first, right)).toBeLessThan(1e-4);
      let read = 0;
      for (let page = 1; page < 24; page += 1) {
        const bytes = await worker.readPage(pageId(page));
        worker.damagePage(pageId(page), 0, new Uint8Array(new Float32Array(64).fill(9).buffer));
        const { hit: hitAfter, logits } = await again();
        expect(hitAfter).toBe(40);
        if (largestDifference(logits, right) > 1e-3) read += 1;
        worker.damagePage(pageId(page), 0, bytes);
      }
      expect(read, 'five pages of each of the two groups').toBe(10);
      expect(largestDifference((await again()).logits, right)).toBeLessThan(1e-4);
    });
  });
});

inNode(
  'matrices in parts and pages in segments: the logits of the twin, on either form of kernels',
  async (context) => {
    const { model, goldens } = await sharedModel('kjv-tiny', context);
    const tokens = [...goldens[0].prompt, ...goldens[0].greedy].slice(0, 6);
    const twin = twinLogits(model, tokens);
    await withDevice(async (device) => {
      const [tokensPerPage, pages] = [1, 14];
      const { groups } = cacheConfigFor(model.config, { tokensPerPage, pages });
      const pageBytes = Math.max(...groups.map((group) => group.pageBytes));
      const buffers = await PageBuffers.create({ device, pages, pageBytes, segmentBytesMax: 4 * pageBytes });
      const table = (group: number) => Array.from({ length: 6 }, (_, i) => pageId(13 - (2 * i + group)));
      const request = {
        requestId: requestId('only'),
        computedFrom: 0,
        tables: [table(0), table(1)],
        tokens: Uint32Array.from(tokens),
        unitSeeds: new Uint32Array(0),
      };
      for (const form of ['serial', 'cooperative'] as const) {
        const pass = await ForwardPass.create({
          ...{ device, model, tokensPerPage, strideBytes: pageBytes, segments: buffers.segments, form },
          ...{ rowsMax: 5, requestsMax: 2, partBytesMax: 20_000 },
        });
        const [first] = await pass.run([{ ...request, start: 0, end: 5 }]);
        expect(largestDifference(first, twin[4]), form).toBeLessThan(LOGITS_TOLERANCE);
        const [second] = await pass.run([{ ...request, start: 5, end: 6 }]);
        expect(largestDifference(second, twin[5]), form).toBeLessThan(LOGITS_TOLERANCE);
        await pass.close();
        expect(pass.liveBytes).toBe(0);
      }
      buffers.destroy();
    });
  },
);

inNode('a layer of SmolLM2 in its full width, random weights in bf16: the logits of the twin', async () => {
  const shape = { hidden_size: 576, intermediate_size: 1536, num_attention_heads: 9, num_key_value_heads: 3 };
  const config = parseModelConfig({
    architectures: ['LlamaForCausalLM'],
    ...shape,
    ...{ num_hidden_layers: 1, vocab_size: 49_152, rope_theta: 100_000, tie_word_embeddings: true },
  });
  const tensor = (name: string, rows: number, columns?: number) =>
    repeatedTensor(name, columns === undefined ? [rows] : [rows, columns], { format: 'bf16', scale: 0.08 });
  const embedding = tensor('embedding', 49_152, 576);
  const layer = {
    attentionNorm: tensor('norm', 576),
    query: tensor('q', 576, 576),
    key: tensor('k', 192, 576),
    value: tensor('v', 192, 576),
    attentionOutput: tensor('o', 576, 576),
    feedForwardNorm: tensor('norm', 576),
    gate: tensor('gate', 1536, 576),
    up: tensor('up', 1536, 576),
    down: tensor('down', 576, 1536),
  };
  const outputNorm = tensor('norm', 576);
  const weights = { embedding, layers: [layer], outputNorm, output: embedding };
  const model: Model = { name: 'SmolLM2', config, weights, drafter: null, tokenizer: null };
  const prompt = [49_151, 0, 30_000, 7];
  const twin = twinLogits(model, prompt);
  await withDevice(async (device) => {
    let largest = 0;
    const onLogits: GeneratorOptions['onLogits'] = (logits) => {
      largest = largestDifference(logits, twin[3]);
    };
    const sizes = { tokensPerPage: 2, poolPages: 8, stepTokensMax: 16, runningMax: 1 };
    await withGenerator({ model, device, onLogits, ...sizes }, async (generator) => {
      await generator.generate([{ prompt, maxTokens: 1 }]);
    });
    expect(largest).toBeGreaterThan(0);
    expect(largest).toBeLessThan(LOGITS_TOLERANCE);
  });
});
