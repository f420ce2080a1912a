/** Clears of a whole buffer and of parts of one, from both sides of its end. */
import { WORD_BYTES } from '../units.ts';
import { verdict, type CaseContext, type ConformanceCase } from './case.ts';
import { webgpu } from './spec.ts';
import { difference, pattern, Workbench } from './workbench.ts';

const OFFSETS_AND_SIZES = [0, 4, 8, 16, undefined] as const;
/** One that the farthest ranges do not fit in, and one that they all do. */
const BUFFER_BYTES = [20, 32] as const;

interface ClearShape {
  readonly id: string;
  readonly bufferBytes: number;
  readonly offset: number | undefined;
  readonly bytes: number | undefined;
}

const SHAPES: readonly ClearShape[] = BUFFER_BYTES.flatMap((bufferBytes) =>
  OFFSETS_AND_SIZES.flatMap((offset) =>
    OFFSETS_AND_SIZES.map((bytes) => ({
      id: `clears/of-${bufferBytes}-offset-${offset ?? 'default'}-bytes-${bytes ?? 'default'}`,
      bufferBytes,
      offset,
      bytes,
    })),
  ),
);

/** The range that a clear covers, or null where it passes the end. */
function rangeOf({ bufferBytes, offset = 0, bytes = Math.max(0, bufferBytes - offset) }: ClearShape) {
  return offset + bytes > bufferBytes
    ? null
    : { from: offset / WORD_BYTES, to: (offset + bytes) / WORD_BYTES };
}

/** The problem of each clear, by id; each is a submit of its own. */
async function clearAll(context: CaseContext): Promise<ReadonlyMap<string, string | null>> {
  const bench = new Workbench(context);
  const running = SHAPES.map(async (shape, at): Promise<[string, string | null]> => {
    const words = pattern(shape.bufferBytes / WORD_BYTES, at);
    const buffer = bench.readable(words);
    const calls = () => bench.submit((encoder) => encoder.clearBuffer(buffer, shape.offset, shape.bytes));
    const range = rangeOf(shape);
    const verdictOnCalls =
      range === null
        ? bench.refused('clearBuffer past the end', calls)
        : bench.accepted('clearBuffer', calls);
    const mapped = bench.mapped(buffer);
    if (range) words.fill(0, range.from, range.to);
    const [problem, actual] = await Promise.all([verdictOnCalls, mapped]);
    buffer.destroy();
    return [shape.id, problem ?? difference(actual, words)];
  });
  return new Map(await Promise.all(running));
}

export const CLEAR_CASES: readonly ConformanceCase[] = SHAPES.map((shape) => ({
  id: shape.id,
  title:
    `${shape.bytes ?? 'all'} bytes from ${shape.offset ?? 'the start'} of ${shape.bufferBytes}` +
    (rangeOf(shape) === null ? ', which is refused' : ''),
  spec: webgpu('GPUCommandEncoder.clearBuffer', 'dom-gpucommandencoder-clearbuffer'),
  promise: 'A recycled page is zeroed to its last byte, and no byte of its neighbours is.',
  run: async (context) => {
    const problems = await context.once('clears', () => clearAll(context));
    return verdict(problems.get(shape.id) ?? null);
  },
}));
