/** The CPU twin of the forward pass against the goldens, which a float64 program made that knows no pages. */
import { describe, expect, it } from 'vitest';
import { cacheConfigSchema } from '../../../src/config.ts';
import { cacheConfigFor, layerGroups } from '../../../src/model/cache-layout.ts';
import { ReferenceModel } from '../../../src/model/reference/forward.ts';
import type { ForwardRequest } from '../../../src/schedule/step-plan.ts';
import { pageId, requestId } from '../../../src/units.ts';
import { sharedModel, type ModelName, type SharedModel } from '../../support/models.ts';

const TOKENS_MAX = 260;

/** A twin over a pool whose pages lie in no order, with tables for one sequence. */
function twin({ model }: SharedModel, tokensPerPage: number) {
  const groups = layerGroups(model.config).length;
  const pagesEach = Math.ceil(TOKENS_MAX / tokensPerPage);
  const pages = groups * pagesEach + 1;
  const { pageBytes } = cacheConfigSchema.parse(cacheConfigFor(model.config, { tokensPerPage, pages }));
  const reference = new ReferenceModel(model, { tokensPerPage, strideBytes: pageBytes });
  // What nobody wrote is no number: reading it would show.
  const pool = new Float32Array((pages * pageBytes) / 4).fill(NaN);
  const tables = Array.from({ length: groups }, (_, group) =>
    Array.from({ length: pagesEach }, (_, i) => pageId(pages - 1 - (i * groups + group))),
  );
  const step = (tokens: readonly number[], start: number): Float32Array => {
    const request: ForwardRequest = {
      requestId: requestId('only'),
      start,
      end: tokens.length,
      computedFrom: 0,
      tables,
      tokens: Uint32Array.from(tokens),
      unitSeeds: new Uint32Array(0),
    };
    return reference.forward(pool, [request])[0];
  };
  return { step, pool };
}

function argmax(logits: Float32Array): number {
  return logits.indexOf(logits.reduce((a, b) => Math.max(a, b)));
}

/** Greedy ids behind a prompt that is computed in the given chunks. */
function greedy(
  step: ReturnType<typeof twin>['step'],
  prompt: readonly number[],
  count: number,
  chunk = Infinity,
) {
  const tokens = [...prompt];
  let computed = 0;
  while (tokens.length < prompt.length + count) {
    const end = Math.min(tokens.length, computed + chunk);
    const logits = step(tokens.slice(0, end), computed);
    computed = end;
    if (computed === tokens.length) tokens.push(argmax(logits));
  }
  return tokens.slice(prompt.length);
}

const MODELS: ModelName[] = ['kjv-tiny', 'stories260k'];

describe.each(MODELS)('%s', (name) => {
  it.for([1, 5, 64])('gives the golden ids with pages of %i tokens', async (tokensPerPage, context) => {
    const shared = await sharedModel(name, context);
    // One size sees them all.
    for (const golden of tokensPerPage === 16 ? shared.goldens : shared.goldens.slice(0, 1)) {
      const { step } = twin(shared, tokensPerPage);
      expect(greedy(step, golden.prompt, golden.greedy.length)).toEqual(golden.greedy);
    }
  });

  it('gives the same with the prompt computed in chunks of any size', async (context) => {
    const shared = await sharedModel(name, context);
    const [{ prompt, greedy: ids }] = shared.goldens;
    const whole = [...prompt, ...ids];
    for (const chunk of [1, 3, 7, 16, 63]) {
      const { step } = twin(shared, 5);
      expect(greedy(step, whole.slice(0, 64), 20, chunk), `chunks of ${chunk}`).toEqual(whole.slice(64, 84));
    }
  });
});

it('the logits are those of the float64 program', async (context) => {
  const stories = await sharedModel('stories260k', context);
  const first = (stories.file as { first_logits_after_bos: number[] }).first_logits_after_bos;
  const logits = twin(stories, 16).step([1], 0);
  for (const [i, value] of first.entries()) expect(logits[i]).toBeCloseTo(value, 3);

  const kjv = await sharedModel('kjv-tiny', context);
  for (const item of (kjv.file as { cases: KjvCase[] }).cases) {
    const all = [...item.prompt_ids, ...item.greedy_ids];
    const { step } = twin(kjv, 16);
    const prompt = step(item.prompt_ids, 0);
    const end = step(all, item.prompt_ids.length);
    for (let i = 0; i < 8; i += 1) {
      expect(prompt[i]).toBeCloseTo(item.logits_after_prompt_first8[i], 4);
      expect(end[i]).toBeCloseTo(item.logits_at_end_first8[i], 4);
    }
  }
});

interface KjvCase {
  readonly prompt_ids: number[];
  readonly greedy_ids: number[];
  readonly logits_after_prompt_first8: number[];
  readonly logits_at_end_first8: number[];
}
