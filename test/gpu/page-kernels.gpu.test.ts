/** Each page kernel against its twin, on sizes where index arithmetic goes wrong. */
import { describe, it } from 'vitest';
import { bySegment } from '../../src/gpu/page-kernels.ts';
import { recordCopies } from '../../src/gpu/copy.ts';
import { recordZero } from '../../src/gpu/zero.ts';
import { copyPages, gatherPages, scatterPages, zeroPages } from '../../src/reference/kernels/index.ts';
import { pageId } from '../../src/units.ts';
import { POISON_WORD } from '../../src/witness/pattern.ts';
import { expectBytes, readBytes, withDevice } from './support/device.ts';
import { makePool, pattern, shuffled, type Pool, type PoolShape } from './support/pool.ts';

/** Pages of which every word counts. */
const whole = (words: number) => ({ strideWords: words, pageWords: words });

/** 1, 3 and 5 words take the word form, the others the vec4 form; 1024 words take several workgroups a page. */
const SHAPES: PoolShape[] = [
  { pageWords: 1, pages: 200 },
  { pageWords: 3, pages: 41, pagesPerSegment: 10 },
  { pageWords: 5, pages: 30 },
  { pageWords: 12, pages: 6, pagesPerSegment: 4 },
  { pageWords: 64, pages: 17, pagesPerSegment: 1 },
  { pageWords: 1024, pages: 9, pagesPerSegment: 4 },
  { pageWords: 5, pages: 30, pagesPerSegment: 8, entriesPerDispatchMax: 3 },
  // 8 workgroups of 512 units a page of the word form: a grid of several rows, the last one not full.
  { pageWords: 4099, pages: 5, workgroupsPerDimensionMax: 4 },
  { pageWords: 4096, pages: 5, workgroupsPerDimensionMax: 3 },
];

const name = ({ pageWords, pages, ...rest }: PoolShape) =>
  [
    `${pages} pages of ${pageWords} words`,
    ...Object.entries(rest).map(([key, value]) => `${key} ${value}`),
  ].join(', ');

const shapes = SHAPES.map((shape) => ({ shape, name: name(shape) }));

async function withPool(
  shape: PoolShape,
  body: (pool: Pool, device: GPUDevice) => Promise<void>,
): Promise<void> {
  await withDevice(async (device) => {
    const pool = await makePool(device, shape);
    try {
      await body(pool, device);
    } finally {
      pool.ledger.destroyAll();
    }
  });
}

/** First page, last page, one, every second, all in disorder, none. */
function lists(pages: number): number[][] {
  const all = shuffled(pages);
  return [[0], [pages - 1], [Math.floor(pages / 2)], all.filter((page) => page % 2 === 1), all, []];
}

describe('zeroing', () => {
  for (const strategy of ['kernel', 'clear'] as const) {
    it.each(shapes)(`by ${strategy}: $name`, async ({ shape }) => {
      for (const fill of [0, POISON_WORD]) {
        for (const pages of lists(shape.pages)) {
          await withPool(shape, async ({ buffers, kernels, commands, expected, read }) => {
            recordZero(pages, { commands, buffers, kernels, strategy, fill });
            commands.submit('zero');
            zeroPages(expected, whole(shape.pageWords), pages, fill);
            expectBytes(await read(), expected, `zero ${pages.length} pages with ${fill}`);
          });
        }
      }
    });
  }
});

describe('copying', () => {
  /** The first half of the list onto the second. */
  const pairs = (pages: readonly number[]) => {
    const half = Math.floor(pages.length / 2);
    return Array.from({ length: half }, (_, i) => ({
      source: pageId(pages[i]),
      destination: pageId(pages[half + i]),
    }));
  };

  for (const strategy of ['kernel', 'bounce'] as const) {
    it.each(shapes)(`by ${strategy}: $name`, async ({ shape }) => {
      const inOrder = Array.from({ length: shape.pages }, (_, i) => i);
      for (const copies of [pairs(shuffled(shape.pages)), pairs(inOrder), pairs([0, shape.pages - 1]), []]) {
        await withPool(shape, async ({ buffers, kernels, commands, ledger, expected, read }) => {
          // Two pages only, so that the detour takes several batches.
          const usage = GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
          const bounce = ledger.create('bounce', 2 * buffers.pageBytes, usage);
          recordCopies(copies, { commands, buffers, kernels, strategy, bounce });
          commands.submit('copy');
          copyPages(expected, whole(shape.pageWords), copies);
          expectBytes(await read(), expected, `${copies.length} copies`);
        });
      }
    });
  }

  it('one source may go to many destinations', async () => {
    await withPool({ pageWords: 4, pages: 9, pagesPerSegment: 3 }, async (pool) => {
      const { buffers, kernels, commands, expected, read } = pool;
      const copies = [1, 2, 3, 5, 8].map((to) => ({ source: pageId(4), destination: pageId(to) }));
      recordCopies(copies, { commands, buffers, kernels, strategy: 'kernel', bounce: null });
      commands.submit('copy');
      copyPages(expected, whole(4), copies);
      expectBytes(await read(), expected);
    });
  });
});

describe('gathering and scattering', () => {
  it.each(shapes)('gather: $name', async ({ shape }) => {
    for (const pages of lists(shape.pages)) {
      await withPool(shape, async ({ buffers, kernels, commands, ledger, expected }, device) => {
        const staging = ledger.create(
          'staging',
          shape.pages * buffers.pageBytes,
          GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC,
        );
        for (const [segment, which] of bySegment(pages, buffers)) {
          kernels.move(commands, 'gatherPages', [segment.buffer, staging], {
            count: which.length,
            source: (i) => pages[which[i]] - segment.firstPage,
            destination: (i) => which[i],
          });
        }
        commands.submit('gather');
        const gathered = new Uint32Array(shape.pages * shape.pageWords);
        gatherPages(expected, shape.pageWords, pages, gathered);
        expectBytes(
          new Uint32Array((await readBytes(device, staging)).buffer),
          gathered,
          `${pages.length} pages`,
        );
      });
    }
  });

  it.each(shapes)('scatter: $name', async ({ shape }) => {
    for (const pages of lists(shape.pages)) {
      await withPool(shape, async ({ buffers, kernels, commands, ledger, expected, read }, device) => {
        const words = pattern(2 * expected.length).subarray(expected.length);
        const staging = ledger.create(
          'staging',
          words.byteLength,
          GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST,
        );
        device.queue.writeBuffer(staging, 0, words);
        for (const [segment, which] of bySegment(pages, buffers)) {
          kernels.move(commands, 'scatterPages', [staging, segment.buffer], {
            count: which.length,
            source: (i) => which[i],
            destination: (i) => pages[which[i]] - segment.firstPage,
          });
        }
        commands.submit('scatter');
        scatterPages(words, shape.pageWords, pages, expected);
        expectBytes(await read(), expected, `${pages.length} pages`);
      });
    }
  });
});

describe('many lists', () => {
  const zeroes = (pool: Pool, pages: number[]) => {
    const { commands, buffers, kernels } = pool;
    recordZero(pages, { commands, buffers, kernels, strategy: 'kernel', fill: 0 });
  };

  it('each dispatch of one submit sees its own list', async () => {
    await withPool({ pageWords: 4, pages: 8 }, async (pool) => {
      const { commands, buffers, kernels, expected, read } = pool;
      for (const [source, destination] of [
        [0, 4],
        [1, 5],
        [2, 6],
      ]) {
        const copies = [{ source: pageId(source), destination: pageId(destination) }];
        recordCopies(copies, { commands, buffers, kernels, strategy: 'kernel', bounce: null });
        copyPages(expected, whole(4), copies);
      }
      zeroes(pool, [3]);
      zeroes(pool, [7]);
      zeroPages(expected, whole(4), [3, 7], 0);
      commands.submit('five dispatches');
      expectBytes(await read(), expected);
    });
  });

  it('a shorter list behind a longer one does not run the rest of it again', async () => {
    for (const batches of [
      [[1, 2, 6], [5]],
      [[5], [1, 2, 6]],
      [[1, 2, 6], [5], [3, 7]],
    ]) {
      await withPool({ pageWords: 3, pages: 8 }, async (pool) => {
        for (const batch of batches) {
          zeroes(pool, batch);
          // Nothing awaits in between: the earlier submits may still be waiting for their lists.
          pool.commands.submit('zero');
        }
        zeroPages(pool.expected, whole(3), batches.flat(), 0);
        expectBytes(await pool.read(), pool.expected, JSON.stringify(batches));
      });
    }
  });

  it('the list buffer grows between submits, and within one', async () => {
    await withPool({ pageWords: 1, pages: 20_000 }, async (pool) => {
      const all = shuffled(20_000);
      for (let length = 1; length < 8_000; length = length * 3 + 1) {
        zeroes(pool, all.slice(0, length));
        zeroes(pool, all.slice(10_000, 10_000 + length));
        pool.commands.submit('zero');
        zeroPages(
          pool.expected,
          whole(1),
          [...all.slice(0, length), ...all.slice(10_000, 10_000 + length)],
          0,
        );
      }
      expectBytes(await pool.read(), pool.expected);
    });
  });

  it('takes lists of more than 65,535 entries', async () => {
    await withPool({ pageWords: 1, pages: 140_001 }, async (pool) => {
      const all = shuffled(140_001);
      const copies = Array.from({ length: 70_000 }, (_, i) => ({
        source: pageId(all[i]),
        destination: pageId(all[70_000 + i]),
      }));
      recordCopies(copies, { ...pool, strategy: 'kernel', bounce: null });
      zeroes(pool, all.slice(0, 66_000));
      pool.commands.submit('long lists');
      copyPages(pool.expected, whole(1), copies);
      zeroPages(pool.expected, whole(1), all.slice(0, 66_000), 0);
      expectBytes(await pool.read(), pool.expected);
    });
  });
});

describe('which bytes', () => {
  it.each([
    { pageBytes: 48, from: 144, to: 192 },
    { pageBytes: 20, from: 60, to: 80 },
  ])(
    'zeroing page 3 of $pageBytes bytes clears bytes $from to $to and no others',
    async ({ pageBytes, from, to }) => {
      for (const strategy of ['kernel', 'clear'] as const) {
        await withPool({ pageWords: pageBytes / 4, pages: 6 }, async (pool) => {
          recordZero([3], { ...pool, strategy, fill: 0 });
          pool.commands.submit('zero');
          const bytes = new Uint8Array(pool.expected.slice().buffer);
          bytes.fill(0, from, to);
          expectBytes(new Uint8Array((await pool.read()).buffer), bytes, strategy);
        });
      }
    },
  );
});
