/** Each kernel of the model against its twin, on sizes where index arithmetic goes wrong. */
import { describe, expect, it } from 'vitest';
import { BufferLedger } from '../../src/gpu/buffers.ts';
import { CommandList } from '../../src/gpu/commands.ts';
import { PageBuffers } from '../../src/gpu/page-buffers.ts';
import type { AttentionShape } from '../../src/model/attention-shape.ts';
import { padded, uploadMatrix, uploadVector } from '../../src/model/gpu/device-matrix.ts';
import {
  carriedNumbers,
  ModelKernels,
  words,
  type KernelForm,
  type ModelKernelsOptions,
} from '../../src/model/gpu/model-kernels.ts';
import { toFloat32 } from '../../src/model/number-formats.ts';
import { embed } from '../../src/model/reference/embed.ts';
import { matmul } from '../../src/model/reference/matmul.ts';
import { pagedAttention } from '../../src/model/reference/paged-attention.ts';
import { rmsNorm } from '../../src/model/reference/rms-norm.ts';
import { ropeWrite } from '../../src/model/reference/rope-write.ts';
import { swiglu } from '../../src/model/reference/swiglu.ts';
import { rotations } from '../../src/model/rope.ts';
import { stepRows } from '../../src/model/step-rows.ts';
import type { ForwardRequest } from '../../src/schedule/step-plan.ts';
import { pageId, requestId } from '../../src/units.ts';
import { someNumbers, someTensor } from '../support/model-numbers.ts';
import { readBytes, withDevice } from './support/device.ts';
import { shuffled } from './support/pool.ts';

interface Bench {
  readonly device: GPUDevice;
  readonly ledger: BufferLedger;
  readonly commands: CommandList;
  /** A buffer that holds these numbers. */
  readonly put: (numbers: Float32Array<ArrayBuffer>) => GPUBuffer;
  /** The first `count` numbers of a buffer, after what is recorded. */
  readonly take: (buffer: GPUBuffer, count: number) => Promise<Float32Array>;
}

async function withBench(body: (bench: Bench) => Promise<void>, perDimensionMax?: number): Promise<void> {
  await withDevice(async (device) => {
    const ledger = new BufferLedger(device);
    const commands = new CommandList(ledger, { workgroupsPerDimensionMax: perDimensionMax });
    const usage = GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC | GPUBufferUsage.COPY_DST;
    const put = (numbers: Float32Array<ArrayBuffer>) => {
      const buffer = ledger.create('test numbers', numbers.byteLength, usage);
      device.queue.writeBuffer(buffer, 0, numbers);
      return buffer;
    };
    const take = async (buffer: GPUBuffer, count: number) => {
      commands.submit('test');
      return new Float32Array((await readBytes(device, buffer, 0, count * 4)).buffer);
    };
    try {
      await body({ device, ledger, commands, put, take });
    } finally {
      ledger.destroyAll();
    }
  });
}

function expectClose(actual: Float32Array, expected: Float32Array, tolerance: number, what: string): void {
  expect(actual.length, what).toBe(expected.length);
  const far = [...actual.keys()].filter((i) => !(Math.abs(actual[i] - expected[i]) <= tolerance));
  const shown = far.slice(0, 8).map((i) => `${i}: ${actual[i]} instead of ${expected[i]}`);
  expect(shown, `${what}: ${far.length} of ${actual.length} numbers`).toEqual([]);
}

/** Rows with their padding of zeros. */
function withPadding(rows: Float32Array, width: number): Float32Array<ArrayBuffer> {
  const stride = padded(width);
  const result = new Float32Array((rows.length / width) * stride);
  for (let row = 0; row * width < rows.length; row += 1) {
    result.set(rows.subarray(row * width, (row + 1) * width), row * stride);
  }
  return result;
}

/** No more than a test needs: compiling takes longest of all. */
const kernelsFor = (device: GPUDevice, options: Partial<ModelKernelsOptions> = {}) =>
  ModelKernels.create(device, { formats: ['f32'], shapes: [], products: ['few'], ...options });

const FORMS: KernelForm[] = ['cooperative', 'serial'];
const FORMATS = ['f32', 'f16', 'bf16'] as const;

describe('matrix products', () => {
  const sizes = [
    { rows: 1, width: 4, outputs: 1 },
    { rows: 1, width: 7, outputs: 5 },
    { rows: 3, width: 64, outputs: 70 },
    { rows: 17, width: 66, outputs: 65 },
    { rows: 33, width: 172, outputs: 129, partRows: 50 },
    { rows: 2, width: 130, outputs: 9, partRows: 4 },
  ];
  const kinds = FORMS.flatMap((form) => (['few', 'many'] as const).map((kernel) => ({ form, kernel })));
  for (const { form, kernel } of kinds) {
    it.each(sizes)(`${form}, ${kernel}: $rows rows of $width by $outputs`, async (size) => {
      const { rows, width, outputs, partRows } = size;
      // Formats are read by one function; one form with all of them will do.
      for (const format of form === 'serial' ? FORMATS : (['f32'] as const)) {
        await withBench(async ({ device, ledger, commands, put, take }) => {
          const kernels = await kernelsFor(device, { formats: [format], form, products: [kernel] });
          const tensor = someTensor('matrix', [outputs, width], { format });
          const operand = someNumbers(rows * width, 2);
          const before = someNumbers(rows * outputs, 3);
          const partBytesMax = partRows && partRows * padded(width) * (format === 'f32' ? 4 : 2);
          const matrix = uploadMatrix(ledger, [tensor], { partBytesMax });
          expect(matrix.parts).toHaveLength(Math.ceil(outputs / (partRows ?? outputs)));
          const input = put(withPadding(operand, width));
          for (const accumulate of [false, true]) {
            const result = put(before.slice());
            kernels.product(commands, {
              operand: input,
              matrix,
              rows,
              stride: outputs,
              result,
              accumulate,
              kernel,
            });
            const onto = accumulate ? before.slice() : undefined;
            const expected = matmul(operand, toFloat32(tensor), width, onto);
            expectClose(await take(result, rows * outputs), expected, 2e-5, format);
          }
        }, 3);
      }
    });
  }

  it('reads every number of 16 bits exactly, the smallest ones included', async () => {
    for (const format of ['f16', 'bf16'] as const) {
      await withBench(async ({ device, ledger, commands, put, take }) => {
        const kernels = await kernelsFor(device, { formats: [format] });
        // Finite and not negative: exponents below the highest. Subnormal bf16 are subnormal f32, which may become 0.
        const bits = Uint16Array.from({ length: format === 'f16' ? 0x7c00 : 0x7f80 }, (_, i) => i);
        if (format === 'bf16') bits.fill(0, 0, 0x80);
        const tensor = { name: 'all', shape: [bits.length, 1], format, bytes: new Uint8Array(bits.buffer) };
        const matrix = uploadMatrix(ledger, [tensor]);
        const operand = put(Float32Array.of(1, 0, 0, 0));
        const result = put(new Float32Array(bits.length));
        kernels.product(commands, { operand, matrix, rows: 1, stride: bits.length, result });
        expectClose(await take(result, bits.length), toFloat32(tensor), 0, format);
      });
    }
  });
});

describe('embedding', () => {
  it('takes rows of a table in parts, whichever its format and width', async () => {
    for (const format of FORMATS) {
      for (const width of [4, 6, 130]) {
        await withBench(async ({ device, ledger, commands, put, take }) => {
          const kernels = await kernelsFor(device, { formats: [format] });
          const tensor = someTensor('table', [37, width], { format });
          const partBytesMax = 10 * padded(width) * (format === 'f32' ? 4 : 2);
          const table = uploadMatrix(ledger, [tensor], { partBytesMax });
          const tokens = [36, 0, 9, 10, 36, 20, 19];
          const result = put(new Float32Array(tokens.length * padded(width)));
          const list = words(commands, tokens);
          kernels.embed(commands, { table, tokens: list, rows: tokens.length, result });
          const expected = withPadding(embed(toFloat32(tensor), width, tokens), width);
          expectClose(await take(result, expected.length), expected, 0, `${format} ${width}`);
        }, 2);
      }
    }
  });
});

describe('RMS norm', () => {
  const cases = FORMS.flatMap((form) => [1, 5, 64, 130].map((width) => ({ form, width })));
  it.each(cases)('$form, of rows of $width numbers, all or chosen', async ({ form, width }) => {
    await withBench(async ({ device, ledger, commands, put, take }) => {
      const kernels = await kernelsFor(device, { form });
      const rows = someNumbers(9 * width, 4);
      const weight = someTensor('weight', [width], { seed: 5 });
      const operand = put(withPadding(rows, width));
      const vector = uploadVector(ledger, weight);
      const common = { operand, weight: vector, width, stride: padded(width), epsilon: 1e-5 };
      for (const which of [undefined, [8, 0, 3, 3]]) {
        const count = which?.length ?? 9;
        const result = put(new Float32Array(count * padded(width)));
        const chosen = which && words(commands, which);
        kernels.rmsNorm(commands, { ...common, rows: count, chosen, result });
        const expected = withPadding(rmsNorm(rows, toFloat32(weight), 1e-5, which), width);
        expectClose(await take(result, expected.length), expected, 2e-6, `width ${width}`);
      }
    }, 2);
  });
});

describe('SwiGLU', () => {
  it.each([1, 7, 172])('of %i numbers a row', async (width) => {
    await withBench(async ({ device, commands, put, take }) => {
      const kernels = await kernelsFor(device);
      const rows = someNumbers(5 * 2 * width, 6).map((value) => 20 * value);
      const operand = put(rows);
      const resultStride = padded(width);
      const result = put(new Float32Array(5 * resultStride));
      kernels.swiglu(commands, { operand, rows: 5, width, stride: 2 * width, resultStride, result });
      const expected = withPadding(swiglu(rows, width), width);
      expectClose(await take(result, expected.length), expected, 1e-4, `width ${width}`);
    });
  });
});

/** Requests of different lengths: two decodes, a prefill from the start, a chunk in the middle. */
const SPANS = [
  [70, 71],
  [0, 9],
  [130, 131],
  [40, 57],
] as const;

/** Pages of each request in no order; `skipped` tokens in front have the null page, as behind a window. */
function requestsOver(
  tokensPerPage: number,
  windowTokens: number,
): { forward: ForwardRequest[]; pages: number } {
  const counts = SPANS.map(([, end]) => Math.ceil(end / tokensPerPage));
  const total = counts.reduce((a, b) => a + b, 0);
  const free = shuffled(total).map((page) => page + 1);
  const forward = SPANS.map(([start, end], i): ForwardRequest => {
    const own = free.splice(0, counts[i]);
    const unread = windowTokens === 0 ? 0 : Math.floor(Math.max(0, start + 1 - windowTokens) / tokensPerPage);
    return {
      requestId: requestId(`r${i}`),
      start,
      end,
      computedFrom: 0,
      tables: [own.map((page, index) => pageId(index < unread ? 0 : page))],
      tokens: new Uint32Array(end),
      unitSeeds: new Uint32Array(0),
    };
  });
  return { forward, pages: total + 1 };
}

const ATTENTION = [
  { tokensPerPage: 1, heads: 2, kvHeads: 1, headDim: 4, windowTokens: 0 },
  { tokensPerPage: 5, heads: 8, kvHeads: 4, headDim: 16, windowTokens: 0, pagesPerSegment: 11 },
  { tokensPerPage: 16, heads: 4, kvHeads: 4, headDim: 8, windowTokens: 17 },
  { tokensPerPage: 64, heads: 9, kvHeads: 3, headDim: 64, windowTokens: 0 },
  { tokensPerPage: 3, heads: 6, kvHeads: 2, headDim: 12, windowTokens: 64, pagesPerSegment: 40 },
  { tokensPerPage: 7, heads: 3, kvHeads: 1, headDim: 80, windowTokens: 0 },
  { tokensPerPage: 16, heads: 2, kvHeads: 1, headDim: 256, windowTokens: 1 },
];

/** The form with barriers takes long to compile on software adapters: those sizes where its lanes do not come out even. */
function attentionCases(form: KernelForm) {
  const isSerial = form === 'serial';
  return ATTENTION.filter(({ headDim }) => isSerial || headDim > 8)
    .filter(({ headDim }) => isSerial || headDim !== 64)
    .map((size) => ({ form, ...size }));
}

describe('RoPE with the write into pages, then attention over pages', () => {
  it.each(FORMS.flatMap((form) => attentionCases(form)))(
    '$form: $heads heads of $headDim on $kvHeads, $tokensPerPage tokens a page, window $windowTokens',
    async ({ form, pagesPerSegment, ...size }) => {
      await withBench(async ({ device, ledger, commands, put, take }) => {
        const { tokensPerPage, heads, kvHeads, headDim, windowTokens } = size;
        const layers = 2;
        // The stride is larger than the page: another group's pages are.
        const strideNumbers = layers * 2 * kvHeads * headDim * tokensPerPage + 16;
        const shape: AttentionShape = { ...size, strideNumbers };
        const { forward, pages } = requestsOver(tokensPerPage, windowTokens);
        const pageBytes = strideNumbers * 4;
        const segmentBytesMax = pagesPerSegment && pagesPerSegment * pageBytes;
        const buffers = await PageBuffers.create({ device, pages, pageBytes, ledger, segmentBytesMax });
        expect(buffers.segments.length > 1).toBe(pagesPerSegment !== undefined);
        const pool = someNumbers(pages * strideNumbers, 7);
        // What a null page holds is read by nobody.
        pool.fill(NaN, 0, strideNumbers);
        for (const { buffer, firstPage, pages: count } of buffers.segments) {
          device.queue.writeBuffer(buffer, 0, pool, firstPage * strideNumbers, count * strideNumbers);
        }
        const kernels = await kernelsFor(device, { shapes: [shape], form });
        const rows = stepRows(forward, { groups: 1, tokensPerPage });
        const frequencies = Float64Array.from({ length: headDim / 2 }, (_, i) => 1 / (1 + i));
        const turns = rotations(frequencies, rows.positions);
        const projected = someNumbers(rows.count * (heads + 2 * kvHeads) * headDim, 8);
        const places = { places: rows.places[0], tables: rows.tables[0] };
        const list = {
          count: rows.count,
          places: words(commands, places.places),
          tables: words(commands, places.tables),
        };
        const queries = put(new Float32Array(rows.count * heads * headDim));
        const where = { group: 0, layer: 1, rows: list, segments: buffers.segments, queries };
        kernels.ropeWrite(commands, {
          ...where,
          projected: put(projected),
          turns: words(commands, new Uint32Array(turns.buffer)),
        });
        const result = put(new Float32Array(rows.count * heads * headDim));
        const carried = put(new Float32Array(rows.count * carriedNumbers(shape)));
        kernels.pagedAttention(commands, { ...where, carried, result });
        const actual = await take(result, rows.count * heads * headDim);

        const expectedQueries = ropeWrite(pool, shape, 1, places, { projected, turns });
        expectClose(await take(queries, expectedQueries.length), expectedQueries, 1e-6, 'queries');
        for (const { buffer, firstPage, pages: count } of buffers.segments) {
          const first = Math.max(firstPage, 1) - firstPage;
          const bytes = await readBytes(device, buffer, first * pageBytes);
          const expected = pool.subarray(
            (firstPage + first) * strideNumbers,
            (firstPage + count) * strideNumbers,
          );
          expectClose(new Float32Array(bytes.buffer), expected, 1e-6, `pages from ${firstPage} on`);
        }
        expectClose(actual, pagedAttention(pool, shape, 1, places, expectedQueries), 1e-5, 'attention');
      }, 100);
    },
  );
});
