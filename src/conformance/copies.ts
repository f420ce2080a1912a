/** Copies between two buffers, every word of the destination compared. */
import { BufferUsage } from '../gpu/constants.ts';
import { WORD_BYTES } from '../units.ts';
import { verdict, type CaseContext, type ConformanceCase } from './case.ts';
import { webgpu } from './spec.ts';
import { difference, pattern, Workbench } from './workbench.ts';

const OFFSETS_AND_SIZES = [0, 4, 8, 16] as const;
/** Bytes behind the copied range: none, or some that must stay. */
const MARGINS = [
  ['exact', 0],
  ['larger', 8],
] as const;

interface CopyShape {
  readonly id: string;
  readonly sourceOffset: number;
  readonly destinationOffset: number;
  readonly bytes: number;
  readonly sourceMargin: number;
  readonly destinationMargin: number;
}

const SHAPES: readonly CopyShape[] = OFFSETS_AND_SIZES.flatMap((sourceOffset) =>
  OFFSETS_AND_SIZES.flatMap((destinationOffset) =>
    OFFSETS_AND_SIZES.flatMap((bytes) =>
      MARGINS.flatMap(([source, sourceMargin]) =>
        MARGINS.map(([destination, destinationMargin]) => ({
          id: `copies/from-${sourceOffset}-to-${destinationOffset}-bytes-${bytes}-source-${source}-destination-${destination}`,
          sourceOffset,
          destinationOffset,
          bytes,
          sourceMargin,
          destinationMargin,
        })),
      ),
    ),
  ),
);

/** The problem of each copy, by id. Each copy is a submit of its own, so that one that is refused takes no other along. */
async function copyAll(context: CaseContext): Promise<ReadonlyMap<string, string | null>> {
  const bench = new Workbench(context);
  const running = SHAPES.map(async (shape, at): Promise<[string, string | null]> => {
    const { sourceOffset, destinationOffset, bytes } = shape;
    const from = pattern((sourceOffset + bytes + shape.sourceMargin) / WORD_BYTES, 2 * at);
    const to = pattern((destinationOffset + bytes + shape.destinationMargin) / WORD_BYTES, 2 * at + 1);
    const source = bench.buffer(from, BufferUsage.COPY_SRC);
    const destination = bench.readable(to);
    const refusal = bench.accepted('copyBufferToBuffer', () => {
      bench.submit((encoder) =>
        encoder.copyBufferToBuffer(source, sourceOffset, destination, destinationOffset, bytes),
      );
    });
    const actual = bench.mapped(destination);
    const first = sourceOffset / WORD_BYTES;
    to.set(from.subarray(first, first + bytes / WORD_BYTES), destinationOffset / WORD_BYTES);
    // Both are waited for, so that neither rejects unheard.
    const [refused, words] = await Promise.all([refusal, actual]);
    source.destroy();
    destination.destroy();
    return [shape.id, refused ?? difference(words, to, 'destination')];
  });
  return new Map(await Promise.all(running));
}

export const COPY_CASES: readonly ConformanceCase[] = SHAPES.map(({ id, ...shape }) => ({
  id,
  title: `${shape.bytes} bytes from offset ${shape.sourceOffset} to ${shape.destinationOffset}, ${shape.sourceMargin} and ${shape.destinationMargin} bytes to spare`,
  spec: webgpu('GPUCommandEncoder.copyBufferToBuffer', 'dom-gpucommandencoder-copybuffertobuffer'),
  promise: 'A store or a load moves its own bytes and touches no neighbouring page.',
  run: async (context) => {
    const problems = await context.once('copies', () => copyAll(context));
    return verdict(problems.get(id) ?? null);
  },
}));
