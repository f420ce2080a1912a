/** Models on the device: the goldens' ids exactly, and the CPU twin's logits, whatever became of the pages in between. */
import { describe, expect, it } from 'vitest';
import { cacheConfigFor } from '../../src/model/cache-layout.ts';
import { Generator, type GeneratorOptions } from '../../src/model/generator.ts';
import { ReferenceModel } from '../../src/model/reference/forward.ts';
import type { Model } from '../../src/model/model.ts';
import { pageId, requestId } from '../../src/units.ts';
import { sharedModel, type Golden, type ModelName, type SharedModel } from '../support/models.ts';
import { withDevice } from './support/device.ts';

const MODELS: ModelName[] = ['kjv-tiny', 'stories260k'];
const LOGITS_TOLERANCE = 2e-4;

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

describe.each(MODELS)('%s', (name) => {
  let shared: SharedModel;

  it('gives the golden ids from the beginning on, and the logits of the twin at every position', async (context) => {
    shared = await sharedModel(name, context);
    const { model, goldens } = shared;
    await withDevice(async (device) => {
      const seen = new Map<number, Float32Array>();
      const onLogits: GeneratorOptions['onLogits'] = (logits, { id, position }) => {
        if (id === 'text 0') seen.set(position, logits.slice());
      };
      await withGenerator({ model, device, onLogits }, async (generator) => {
        const begun = performance.now();
        await expectExcerpts(
          generator,
          goldens.map((golden) => excerpt(golden, 0, golden.greedy.length)),
        );
        console.log('steps', generator.engine.steps, performance.now() - begun);
      });
      const [{ prompt, greedy }] = goldens;
      const twin = twinLogits(model, [...prompt, ...greedy].slice(0, -1));
      expect(seen.size).toBe(greedy.length);
      let largest = 0;
      for (const [position, logits] of seen) {
        largest = Math.max(largest, largestDifference(logits, twin[position - 1]));
      }
      console.log('largest', largest);
      expect(largest).toBeLessThan(LOGITS_TOLERANCE);
    });
  });
});
