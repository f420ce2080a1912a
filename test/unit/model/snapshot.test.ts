/** Prefixes that outlive their generator, on the CPU: the same text, whole hits, and every misfit refused whole. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Generator, type GeneratorOptions } from '../../../src/model/generator.ts';
import { macrotask } from '../../../src/event-loop.ts';
import { digest } from '../../../src/model/fingerprint.ts';
import { loadModel } from '../../../src/model/load.ts';
import type { Model } from '../../../src/model/model.ts';
import { slotId } from '../../../src/units.ts';
import { someTensor } from '../../support/model-numbers.ts';
import { sharedModel } from '../../support/models.ts';
import { CONFIG, modelFiles, tensorsOf } from './support/small-model.ts';

const LAYERS = { layer_types: ['full_attention', 'sliding_attention'], sliding_window: 6 };
const PROMPT = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13];

async function smallModel(config: Partial<typeof CONFIG> & object = {}): Promise<Model> {
  return loadModel(modelFiles({ config: { ...CONFIG, ...LAYERS, ...config } }));
}

const small = await smallModel();

async function withGenerator<Value>(
  options: Partial<GeneratorOptions>,
  body: (generator: Generator) => Promise<Value>,
): Promise<Value> {
  const generator = await Generator.create({ model: small, tokensPerPage: 4, poolPages: 64, ...options });
  try {
    const value = await body(generator);
    generator.engine.checkIntegrity();
    return value;
  } finally {
    await generator.close();
  }
}

/** A snapshot of a prompt that was computed. */
function snapshotOf(options: Partial<GeneratorOptions> = {}, salt?: string): Promise<ArrayBuffer> {
  return withGenerator(options, async (generator) => {
    await generator.generate([{ prompt: PROMPT, maxTokens: 1, salt }]);
    return generator.snapshot(PROMPT, { salt });
  });
}

/** With the checksum that fits, as somebody would write it on purpose. */
async function sealed(buffer: ArrayBuffer): Promise<ArrayBuffer> {
  const file = new Uint8Array(buffer);
  file.set(await digest(file.subarray(0, file.length - 32)), file.length - 32);
  return buffer;
}

/** Replaces text of the header by as much other text. */
async function edited(buffer: ArrayBuffer, from: string, to: string): Promise<ArrayBuffer> {
  expect(to).toHaveLength(from.length);
  const file = new Uint8Array(buffer.slice(0));
  const text = String.fromCharCode(...file);
  const at = text.indexOf(from);
  expect(at, from).toBeGreaterThan(0);
  file.set(new TextEncoder().encode(to), at);
  return sealed(file.buffer);
}

/** What the host tier has: its keys, and all bytes of its slots. */
function tierOf({ engine }: Generator) {
  const { connector, host } = engine;
  const slots = host ? Array.from({ length: host.slots }, (_, slot) => host.view(slotId(slot)).join()) : [];
  return { entries: [...connector.manager.entries()], slots };
}

describe('a snapshot', () => {
  it.for([
    ['pages on the device', { tokensPerPage: 8 }, { tokensPerPage: 8, hostSlots: 16 }],
    [
      'pages that were pushed out to the host',
      { tokensPerPage: 8, poolPages: 17, hostSlots: 64 },
      { tokensPerPage: 8, hostSlots: 10 },
    ],
    [
      'states of a drafter',
      { tokensPerPage: 8, draftTokens: 2 },
      { tokensPerPage: 8, draftTokens: 3, hostSlots: 20 },
    ],
    [
      'two pages a slot',
      { tokensPerPage: 4, engine: { offload: { pagesPerSlot: 2 } } },
      { tokensPerPage: 4, hostSlots: 16, engine: { offload: { pagesPerSlot: 2 } } },
    ],
  ] as const)('of %s gives the golden text to another generator', async ([, from, to], context) => {
    const { model, goldens } = await sharedModel('kjv-tiny', context);
    const whole = [...goldens[0].prompt, ...goldens[0].greedy];
    const [prompt, next] = [whole.slice(0, 41), whole.slice(41, 47)];
    const buffer = await withGenerator({ model, ...from }, async (generator) => {
      await generator.generate([{ prompt, maxTokens: 1 }]);
      const other = [...goldens[1].prompt, ...goldens[1].greedy].slice(0, 46);
      if ('poolPages' in from) await generator.generate([{ prompt: other, maxTokens: 3 }]);
      return generator.snapshot(prompt);
    });
    await withGenerator({ model, ...to }, async (generator) => {
      expect(await generator.restore(buffer)).toBe(40);
      const [found] = await generator.generate([{ prompt, maxTokens: 6, stop: [] }]);
      expect(found).toMatchObject({ ids: next, hits: { device: 0, host: 40 } });
    });
    // Just its tokens: the last one is computed, so the hit ends a page, or a slot, before. A
    // prompt that was computed at once has no state there.
    await withGenerator({ model, ...to }, async (generator) => {
      await generator.restore(buffer);
      const [{ ids, hits }] = await generator.generate([
        { prompt: prompt.slice(0, 40), maxTokens: 7, stop: [] },
      ]);
      expect(ids).toEqual(whole.slice(40, 47));
      expect(hits).toEqual({ device: 0, host: 'draftTokens' in to ? 0 : 32 });
    });
  });

  it('of text is one of its tokens, and of part of a prompt where only that is cached', async (context) => {
    const { model } = await sharedModel('kjv-tiny', context);
    const prompt = 'In the beginning God created the heaven and the earth.';
    const longer = `${prompt} And the earth was without form`;
    await withGenerator({ model, hostSlots: 8 }, async (generator) => {
      const [{ promptIds }] = await generator.generate([{ prompt, maxTokens: 1 }]);
      const buffer = await generator.snapshot(longer);
      expect(await generator.restore(buffer)).toBe(4 * Math.floor(promptIds.length / 4));
    });
  });

  it('waits for what is under way, and what comes meanwhile waits for it', async () => {
    const alone = await withGenerator({}, (generator) =>
      generator.generate([{ prompt: PROMPT, maxTokens: 8 }]),
    );
    await withGenerator({ hostSlots: 16 }, async (generator) => {
      const first = generator.generate([{ prompt: PROMPT, maxTokens: 8 }]);
      const taken = [generator.snapshot(PROMPT), generator.snapshot(PROMPT.slice(0, 9))];
      const restored = taken.map(async (buffer) => generator.restore(await buffer));
      const second = Promise.all(taken).then(() => generator.generate([{ prompt: PROMPT, maxTokens: 8 }]));
      const third = generator.generate([{ prompt: PROMPT, maxTokens: 8 }]);
      expect(await Promise.all(restored)).toEqual([12, 8]);
      for (const results of [first, second, third]) expect((await results)[0].ids).toEqual(alone[0].ids);
    });
  });

  it('belongs to its salt', async () => {
    const buffer = await snapshotOf({}, 'tenant 1');
    expect(String.fromCharCode(...new Uint8Array(buffer))).not.toContain('tenant 1');
    await withGenerator({ hostSlots: 16 }, async (generator) => {
      const before = tierOf(generator);
      await expect(generator.restore(buffer)).rejects.toThrow('another salt than none');
      await expect(generator.restore(buffer, { salt: 'tenant 2' })).rejects.toThrow('another salt');
      await expect(generator.restore(buffer, { salt: 7 as never })).rejects.toThrow('salt is 7');
      expect(tierOf(generator)).toEqual(before);
      expect(await generator.restore(buffer, { salt: 'tenant 1' })).toBe(12);
      const request = { prompt: PROMPT, maxTokens: 1 };
      const [stranger, owner] = await generator.generate([request, { ...request, salt: 'tenant 1' }]);
      expect([stranger.hits.host, owner.hits.host]).toEqual([0, 12]);
      await expect(generator.snapshot(PROMPT, { salt: 'tenant 3' })).rejects.toThrow('under this salt');
    });
  });

  it('has no bytes of other prefixes, which lie behind those of a smaller page', async (context) => {
    const { model } = await sharedModel('kjv-tiny', context);
    const options = { model, tokensPerPage: 8, draftTokens: 1 };
    await withGenerator(options, async (generator) => {
      const { worker, cache } = generator.engine;
      await generator.generate([{ prompt: PROMPT, maxTokens: 1 }]);
      const before = await generator.snapshot(PROMPT);
      const { pageBytes } = cache.layout.groups.at(-1)!;
      expect(pageBytes).toBeLessThan(cache.layout.strideBytes);
      for (const page of cache.freeOrder()) {
        if (cache.keyOf(page)?.endsWith('2') !== true) continue;
        worker.damagePage(page, pageBytes, new Uint8Array(cache.layout.strideBytes - pageBytes).fill(77));
      }
      expect(new Uint8Array(await generator.snapshot(PROMPT))).toEqual(new Uint8Array(before));
    });
  });
});

describe('refused by name, with nothing changed, is', () => {
  const refuse = async (
    buffer: ArrayBuffer,
    message: string,
    options: Partial<GeneratorOptions> = {},
  ): Promise<void> =>
    withGenerator({ hostSlots: 16, ...options }, async (generator) => {
      await generator.generate([{ prompt: [20, 19, 18, 17, 16], maxTokens: 1 }]);
      // Its stores end behind it.
      while (generator.engine.hasWork) await macrotask();
      const before = tierOf(generator);
      await expect(generator.restore(buffer), message).rejects.toThrow(message);
      expect(tierOf(generator)).toEqual(before);
    });

  it('another model: weights or config', async () => {
    const buffer = await snapshotOf();
    await refuse(buffer, 'it is of model the chosen files', {
      model: await smallModel({ rope_theta: 500 } as object),
    });
    const tensors = tensorsOf(CONFIG);
    tensors[tensors.length - 1] = someTensor(tensors.at(-1)!.name, tensors.at(-1)!.shape, { seed: 99 });
    const config = { ...CONFIG, ...LAYERS };
    const model = await loadModel(modelFiles({ config, tensors }));
    await refuse(buffer, 'load the very same weights', { model });
  });

  it('another layout', async () => {
    const buffer = await snapshotOf();
    await refuse(buffer, 'tokensPerPage is 4 in it and 2 here', { tokensPerPage: 2 });
    const engine = { offload: { pagesPerSlot: 2 } };
    await refuse(buffer, 'pagesPerSlot is 1 in it and 2 here', { engine });
    await refuse(await edited(buffer, 'window of 6', 'window of 5'), 'group 1 is sliding-window of 5 tokens');
  });

  it('another salt of the cache', async () => {
    await refuse(await snapshotOf(), 'another salt', { engine: { cache: { salt: 'other' } } });
  });

  it('another version', async () => {
    const buffer = await snapshotOf();
    new DataView(buffer).setUint32(8, 2, true);
    await refuse(await sealed(buffer), 'its version is 2, and 1 is read here');
  });

  it('too large for the host tier', async () => {
    const buffer = await snapshotOf();
    await refuse(buffer, 'hostSlots is 0, and the prefix needs 6 places', { hostSlots: 0 });
    await refuse(buffer, 'hostSlots is 5, and the prefix needs 6 places', { hostSlots: 5 });
    // What was there gives way where there is room for all.
    await withGenerator({ hostSlots: 6 }, async (generator) => {
      await generator.generate([{ prompt: [20, 19, 18, 17, 16], maxTokens: 1 }]);
      expect(await generator.restore(buffer)).toBe(12);
      const [{ hits }] = await generator.generate([{ prompt: PROMPT, maxTokens: 1 }]);
      expect(hits.host).toBe(12);
    });
  });

  it('any flipped byte, and any end that is missing', async () => {
    const buffer = await snapshotOf();
    await withGenerator({ hostSlots: 16 }, async (generator) => {
      const before = tierOf(generator);
      for (let at = 0; at < buffer.byteLength; at += at < 24 ? 1 : 5) {
        const flipped = buffer.slice(0);
        new Uint8Array(flipped)[at] ^= 1 << (at % 8);
        await expect(generator.restore(flipped), `byte ${at}`).rejects.toThrow(/^snapshot: .*;/);
        const short = buffer.slice(0, at);
        await expect(generator.restore(short), `${at} bytes`).rejects.toThrow(/^snapshot: .*;/);
      }
      await expect(generator.restore(new Uint8Array(buffer) as never)).rejects.toThrow(
        'not [object Uint8Array]',
      );
      expect(tierOf(generator)).toEqual(before);
    });
  });

  it('a header that was made up', async () => {
    const buffer = await snapshotOf();
    await refuse(await edited(buffer, '"tokens":12', '"tokens":11'), 'are not those of 11 tokens');
    await refuse(await edited(buffer, '"tokens":12', '"tokens":-2'), 'its header is malformed');
    await refuse(await edited(buffer, '[0,1]', '[0,2]'), 'are not those of 12 tokens');
    await refuse(await edited(buffer, '[1,0]', '[9,0]'), 'are not those of 12 tokens');
  });

  it('a prompt of which nothing is cached, or that is none', async () => {
    await withGenerator({}, async (generator) => {
      await expect(generator.snapshot(PROMPT)).rejects.toThrow("none of the prompt's 13 tokens are cached");
      await expect(generator.snapshot([])).rejects.toThrow('a prompt has no tokens');
      await expect(generator.snapshot('text')).rejects.toThrow('has no tokenizer.json');
    });
  });
});

it('random prompts that begin alike have the same text, whichever was snapshotted', async () => {
  const text = async (prompt: readonly number[]) =>
    (await withGenerator({}, (generator) => generator.generate([{ prompt, maxTokens: 4 }])))[0].ids;
  const tokens = fc.array(fc.integer({ min: 1, max: 3 }), { minLength: 4, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(tokens, tokens, fc.nat(30), async (first, tail, shared) => {
      const second = [...first.slice(0, shared), ...tail];
      const buffer = await withGenerator({}, async (generator) => {
        await generator.generate([{ prompt: first, maxTokens: 1 }]);
        return generator.snapshot(first);
      });
      await withGenerator({ hostSlots: 20, poolPages: 24 }, async (generator) => {
        expect(await generator.restore(buffer)).toBe(4 * Math.floor(first.length / 4));
        for (const prompt of [second, first]) {
          const [{ ids }] = await generator.generate([{ prompt, maxTokens: 4 }]);
          expect(ids).toEqual(await text(prompt));
        }
      });
    }),
    { numRuns: 6 },
  );
});
