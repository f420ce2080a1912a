/** The witness kernels against their twins. */
import { describe, expect, it } from 'vitest';
import { DeviceWatch } from '../../src/gpu/device.ts';
import { WitnessKernels } from '../../src/gpu/witness.ts';
import { witnessCheck, witnessFill, type WitnessFindings } from '../../src/reference/kernels/index.ts';
import type { ForwardRequest } from '../../src/schedule/step-plan.ts';
import { pageId, requestId, WORD_BYTES } from '../../src/units.ts';
import { cacheConfigSchema } from '../../src/config.ts';
import { resolveLayout, type CacheLayout } from '../../src/config/layout.ts';
import { witnessOps } from '../../src/witness/witness-ops.ts';
import { expectBytes, withDevice } from './support/device.ts';
import { makePool, pattern, type Pool } from './support/pool.ts';

interface Shape {
  readonly pageWords: number;
  readonly tokensPerPage: number;
  readonly pages: number;
  readonly pagesPerSegment?: number;
}

/** Rows of less than a word, of a few, of one page; pages of several tiles. */
const SHAPES: Shape[] = [
  { pageWords: 1, tokensPerPage: 1, pages: 12 },
  { pageWords: 3, tokensPerPage: 4, pages: 12, pagesPerSegment: 5 },
  { pageWords: 5, tokensPerPage: 2, pages: 12 },
  { pageWords: 64, tokensPerPage: 16, pages: 12, pagesPerSegment: 1 },
  { pageWords: 1024, tokensPerPage: 512, pages: 8 },
  { pageWords: 3000, tokensPerPage: 7, pages: 8, pagesPerSegment: 3 },
];
const shapes = SHAPES.map((shape) => ({
  shape,
  name: `${shape.pages} pages of ${shape.pageWords} words and ${shape.tokensPerPage} tokens`,
}));

function request(name: string, start: number, end: number, pages: number[]): ForwardRequest {
  return {
    requestId: requestId(name),
    start,
    end,
    computedFrom: 0,
    tables: [pages.map(pageId)],
    tokens: pattern(end),
    unitSeeds: pattern(pages.length + 100).subarray(100),
  };
}

/** A whole prompt, a request that goes on in the middle of a page, and one token at the end of a full page. */
function forward({ tokensPerPage: t }: Shape): ForwardRequest[] {
  return [
    request('prompt', 0, 2 * t + Math.ceil(t / 2), [3, 1, 7]),
    request('continued', t + Math.floor(t / 3), 2 * t, [2, 6]),
    request('one token', t - 1, t, [5]),
  ];
}

function layoutOf({ pages, pageWords, tokensPerPage }: Shape): CacheLayout {
  const pageBytes = pageWords * WORD_BYTES;
  return resolveLayout(cacheConfigSchema.parse({ pages, pageBytes, tokensPerPage }));
}

interface Rig extends Pool {
  readonly witness: WitnessKernels;
  /** Overwrites one word on the device and on the twin. */
  readonly write: (page: number, word: number, value: number) => void;
  /** Carries the requests out on the device and on the twin, and returns the twin's mismatches. */
  readonly step: (requests: readonly ForwardRequest[], step: number) => WitnessFindings;
}

async function withWitness(
  shape: Shape,
  body: (rig: Rig) => Promise<void>,
  drainWords?: number,
): Promise<void> {
  await withDevice(async (device) => {
    const pool = await makePool(device, shape);
    const { ledger, buffers, commands, expected } = pool;
    const layout = layoutOf(shape);
    const watch = new DeviceWatch(device);
    const witness = await WitnessKernels.create({ layout, rank: 0, ledger, watch, buffers, drainWords });
    const step = (requests: readonly ForwardRequest[], number: number) => {
      witness.record(requests, number, commands);
      commands.submit('forward');
      const { tokens, groups } = witnessOps(requests, layout, 0);
      const [{ shape: pageShape, fill, check }] = groups;
      witnessFill(expected, pageShape, fill, tokens);
      return witnessCheck(expected, pageShape, check, tokens);
    };
    const write = (page: number, word: number, value: number) => {
      const { buffer, offset } = buffers.locate(pageId(page));
      device.queue.writeBuffer(buffer, offset + word * WORD_BYTES, Uint32Array.of(value));
      expected[page * buffers.pageWords + word] = value;
    };
    try {
      await body({ ...pool, witness, write, step });
    } finally {
      await witness.settle();
      ledger.destroyAll();
    }
  });
}

describe('filling and checking', () => {
  it.each(shapes)('$name: the same bytes and the same count as the twin', async ({ shape }) => {
    await withWitness(shape, async ({ witness, commands, expected, read, step }) => {
      // "continued" and "one token" read rows before their start that nobody wrote.
      const found = step(forward(shape), 3);
      expectBytes(await read(), expected, 'pool');
      const report = await witness.readReport(commands);
      expect(report.mismatches).toBe(found.mismatches);
      expect(report.pages.map(({ page }) => Number(page)).sort((a, b) => a - b)).toEqual(found.pages);
      expect(report.pages.every((entry) => entry.step === 3)).toBe(true);
      expect(report.checkedWords).toBe(witnessOps(forward(shape), layoutOf(shape), 0).groups[0].check.words);
    });
  });

  it('nothing to do is nothing done', async () => {
    await withWitness(SHAPES[1], async ({ witness, commands, expected, read, step }) => {
      step([], 1);
      expectBytes(await read(), expected);
      expect(await witness.readReport(commands)).toEqual({ mismatches: 0, checkedWords: 0, pages: [] });
    });
  });
});

describe('damage', () => {
  /** Rows 0 to 47 in pages 1 to 3 are written; then damage; then one more row is computed in page 4. */
  const shape: Shape = { pageWords: 64, tokensPerPage: 16, pages: 8, pagesPerSegment: 3 };
  const before = [request('r', 0, 48, [1, 2, 3, 4])];
  const after = [request('r', 48, 49, [1, 2, 3, 4])];

  it('one flipped bit is one mismatch, and the damage stays', async () => {
    await withWitness(shape, async ({ witness, commands, expected, write, read, step }) => {
      expect(step(before, 1).mismatches).toBe(0);
      write(2, 17, expected[2 * 64 + 17] ^ 0x100);
      expect(step(after, 2).mismatches).toBe(1);
      expect(await witness.readReport(commands)).toMatchObject({
        mismatches: 1,
        pages: [{ page: 2, step: 2 }],
      });
      expectBytes(await read(), expected, 'pool');
    });
  });

  it('two swapped pages give as many mismatches as words differ', async () => {
    await withWitness(shape, async ({ witness, commands, expected, write, step }) => {
      step(before, 1);
      const [one, three] = [expected.slice(64, 128), expected.slice(192, 256)];
      for (let word = 0; word < 64; word += 1) {
        write(1, word, three[word]);
        write(3, word, one[word]);
      }
      const found = step(after, 2);
      expect(found.mismatches).toBe(2 * one.filter((value, i) => value !== three[i]).length);
      const report = await witness.readReport(commands);
      expect(report.mismatches).toBe(found.mismatches);
      expect(report.pages.map(({ page }) => Number(page)).sort()).toEqual([1, 3]);
    });
  });

  it('a page that stays wrong is named once a step, and counted each time it is read', async () => {
    await withWitness(shape, async ({ witness, commands, write, step }) => {
      step(before, 1);
      write(3, 0, 0);
      for (const number of [2, 3, 4]) step(after, number);
      const { mismatches, pages } = await witness.readReport(commands);
      expect(mismatches).toBe(3);
      expect(pages).toEqual([2, 3, 4].map((number) => ({ page: 3, step: number })));
      // Reading does not forget.
      expect(await witness.readReport(commands)).toMatchObject({ mismatches: 3, pages });
    });
  });

  it('is counted on across the reading of a counter that would overflow', async () => {
    const rig = async ({ witness, commands, write, step }: Rig) => {
      step(before, 1);
      write(1, 5, 1);
      write(1, 6, 1);
      for (let number = 2; number < 30; number += 1) step(after, number);
      const { mismatches, checkedWords } = await witness.readReport(commands);
      expect(mismatches).toBe(28 * 2);
      expect(checkedWords).toBe(192 + 28 * 196);
    };
    await withWitness(shape, rig, 500);
  });
});
