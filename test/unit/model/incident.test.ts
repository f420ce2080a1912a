/** What the fence keeps from happening, seen in a model's text: a page is zeroed and reused while its store waits. */
import { describe, expect, it } from 'vitest';
import type { SlotId } from '../../../src/units.ts';
import { Generator } from '../../../src/model/generator.ts';
import { layerGroups } from '../../../src/model/cache-layout.ts';
import { sharedModel, type SharedModel } from '../../support/models.ts';

type Fence = 'complete' | 'off';

interface Scene {
  readonly poolPages: number;
  readonly promptTokens: number;
  readonly draftTokens: number;
}

const PAGE_TOKENS = 8;
/** Two layers a group, keys and values of 4 heads with 16 numbers each. */
const PAGE_BYTES = PAGE_TOKENS * 2 * 2 * 4 * 16 * 4;

/** Stands for a layer where the drafter's state is meant. */
const DRAFTER = -1;

/** A text is generated, another one takes its pages while their stores wait, and the first one comes back from the host. */
async function play(
  { model, goldens }: SharedModel,
  scene: Scene,
  fence: Fence,
  damage: (view: (slot: SlotId) => Uint8Array, stored: ReadonlyMap<SlotId, number>) => void = () => undefined,
) {
  const { poolPages, promptTokens, draftTokens } = scene;
  const [first, second] = goldens.map(({ prompt, greedy }) => [...prompt, ...greedy]);
  const atEnd = new Map<number, Float32Array>();
  const generator = await Generator.create({
    ...{ model, draftTokens, poolPages, tokensPerPage: PAGE_TOKENS, hostSlots: 64 },
    engine: {
      offload: { fence },
      transfer: {
        ...{ storeBytesPerStep: PAGE_BYTES, stagingBuffers: 1, stagingBytes: PAGE_BYTES },
        ...{ overflowBytes: 32 * PAGE_BYTES, acknowledgementLag: 3 },
      },
    },
    onLogits: (logits, { position }) => atEnd.set(position, logits.slice()),
  });
  const { engine } = generator;
  const groups = new Map<number, number>();
  const slots = new Map<SlotId, number>();
  const step = engine.step.bind(engine);
  engine.step = async () => {
    const report = await step();
    for (const { tables } of report.plan.forward) {
      for (const [group, pages] of tables.entries()) for (const page of pages) groups.set(page, group);
    }
    for (const { slots: to, pages } of report.plan.stores) {
      for (const [i, slot] of to.entries()) slots.set(slot, groups.get(pages[i])!);
    }
    return report;
  };
  const request = { prompt: first.slice(0, promptTokens), maxTokens: 2, stop: [] };
  await generator.generate([request]);
  const stored = new Map(slots);
  await generator.generate([{ ...request, prompt: second.slice(0, promptTokens + PAGE_TOKENS) }]);
  damage((slot) => engine.host!.view(slot), stored);
  const before = engine.statistics().drafts;
  const [again] = await generator.generate([{ ...request, maxTokens: 16 }]);
  const bytes = new Map([...stored.keys()].map((slot) => [slot, engine.host!.view(slot).slice()]));
  const after = engine.statistics().drafts;
  const drafts = {
    proposed: after.proposed - before.proposed,
    accepted: after.accepted - before.accepted,
  };
  engine.checkIntegrity();
  await generator.close();
  const expected = first.slice(promptTokens, promptTokens + 16);
  return {
    ids: again.ids,
    hits: again.hits,
    expected,
    drafts,
    bytes,
    stored,
    logits: atEnd.get(promptTokens)!,
  };
}

/** The layers of the model in whose rows two runs stored other bytes, by slot. */
function wrongLayers(
  { model }: SharedModel,
  on: Awaited<ReturnType<typeof play>>,
  off: Awaited<ReturnType<typeof play>>,
): { slot: number; kind: string; layers: number[] }[] {
  const groups = layerGroups(model.config);
  const wrong = [];
  for (const [slot, group] of on.stored) {
    const { kind, layers } = groups.at(group) ?? { kind: 'drafter', layers: [DRAFTER] };
    // A drafter's state is the front of its page: the rest is nobody's.
    const layerBytes = kind === 'drafter' ? model.config.hiddenSize * 4 : PAGE_BYTES / layers.length;
    const [right, left] = [on.bytes.get(slot)!, off.bytes.get(slot)!];
    const differ = layers.filter((_, i) =>
      right
        .subarray(i * layerBytes, (i + 1) * layerBytes)
        .some((byte, at) => byte !== left[i * layerBytes + at]),
    );
    if (differ.length > 0) wrong.push({ slot, kind, layers: differ });
  }
  return wrong;
}

// The page behind slot 3 of the second scene went to a drafter's state, which takes its first 512 bytes: no row of layer 2.
describe('a page that is reused before its store', () => {
  it.for([
    [{ poolPages: 20, promptTokens: 33, draftTokens: 0 }, [{ slot: 3, kind: 'full', layers: [1, 3] }]],
    [
      { poolPages: 14, promptTokens: 17, draftTokens: 3 },
      [
        { slot: 3, kind: 'sliding', layers: [0] },
        { slot: 4, kind: 'sliding', layers: [0, 2] },
      ],
    ],
  ] as const)('with %o changes the text without the fence: %o', async ([scene, wrong], context) => {
    const shared = await sharedModel('kjv-tiny', context);
    const on = await play(shared, scene, 'complete');
    const off = await play(shared, scene, 'off');
    expect(on.hits.host).toBeGreaterThan(0);
    expect(off.hits).toEqual(on.hits);
    expect(on.ids).toEqual(on.expected);
    expect(off.ids).not.toEqual(on.expected);
    expect(off.logits).not.toEqual(on.logits);
    expect(wrongLayers(shared, on, off)).toEqual(wrong);
  });
});

it('a drafter state that is zeroed in the host tier leaves the text, and shows in its bytes and in what is accepted', async (context) => {
  const shared = await sharedModel('kjv-tiny', context);
  const scene = { poolPages: 20, promptTokens: 25, draftTokens: 3 };
  const drafterGroup = layerGroups(shared.model.config).length;
  let zeroed = 0;
  const right = await play(shared, scene, 'complete');
  const wrong = await play(shared, scene, 'complete', (view, stored) => {
    for (const [slot, group] of stored) {
      if (group !== drafterGroup) continue;
      view(slot).fill(0);
      zeroed += 1;
    }
  });
  expect(zeroed).toBeGreaterThan(0);
  expect(right.hits.host).toBeGreaterThan(0);
  expect(wrong.hits).toEqual(right.hits);
  expect(right.ids).toEqual(right.expected);
  expect(wrong.ids).toEqual(right.expected);
  expect(wrong.logits).toEqual(right.logits);
  const kinds = wrongLayers(shared, right, wrong).map(({ kind }) => kind);
  expect(kinds).toEqual(Array.from({ length: zeroed }, () => 'drafter'));
  expect(wrong.drafts.accepted / wrong.drafts.proposed).not.toBe(
    right.drafts.accepted / right.drafts.proposed,
  );
});
