/** What a page holds when it changes hands, and what a step does about it. */
import type { CacheConfig } from '../../../../src/index.ts';
import { pagesText } from '../lines.ts';
import type { BytesFigure, Moment } from '../moment.ts';
import type { Chosen, Scene } from '../scene.ts';
import { Stage } from '../stage.ts';

const ANN = 'All the king ’s horses and all the king ’s men';
const BEN = ['Humpty', 'Dumpty', 'sat', 'on', 'a', 'wall', 'and', 'fell'];
const TOKENS_PER_PAGE = 4;
const ROW_WORDS = 8;
const ROW_BYTES = ROW_WORDS * 4;

export const zeroing: Scene = {
  id: 'zeroing',
  title: 'Why recycled pages are zeroed',
  about:
    'A page that changes hands still holds the notes of whoever had it before. A text that fills it only in part leaves the rest as it was. Kernels read whole pages and multiply what does not count by nought. But nought times “not a number” is not a number.',
  look: 'The bars of Ben’s last page. Then leave the zeros out.',
  words: [
    ['Kernel', 'a small program that runs on the graphics processor.'],
    [
      'NaN',
      'not a number: a bit pattern that spoils every sum it gets into. Old bytes, read in another format, may be one.',
    ],
    ['Poison', 'NaN on purpose, so that whoever reads what was never written is found out at once.'],
  ],
  choices: [
    {
      name: 'zeroing',
      label: 'New pages',
      options: [
        { value: 'always', label: 'are zeroed' },
        { value: 'auto', label: 'are left as they are' },
        { value: 'poison', label: 'are poisoned' },
      ],
    },
    {
      name: 'tokens',
      label: 'Ben’s text',
      options: [
        { value: '5', label: '5 tokens' },
        { value: '7', label: '7 tokens' },
        { value: '8', label: '8 tokens' },
      ],
    },
  ],
  play,
};

async function* play({ zeroing: mode, tokens }: Chosen): AsyncGenerator<Moment, void, undefined> {
  const stage = await Stage.open({
    cache: {
      pages: 4,
      pageBytes: TOKENS_PER_PAGE * ROW_BYTES,
      tokensPerPage: TOKENS_PER_PAGE,
      prefixCaching: false,
      zeroing: mode as CacheConfig['zeroing'],
    },
  });
  yield stage.moment('Three pages, and nobody has used them yet. A new buffer is all zeros.');
  stage.add('Ann', ANN);
  await stage.step();
  const before = new Map(stage.view.pages.map(({ id }) => [Number(id), stage.pageWords(id)[0]]));
  yield stage.moment(
    'Ann’s text is done, and her pages are free. Her notes are still in them: giving a page back changes no byte.',
  );
  stage.add('Ben', BEN.slice(0, Number(tokens)).join(' '), 'and that was that .');
  await stage.step();
  for (;;) {
    const table = stage.table('Ben');
    const request = stage.view.requests.find(({ id }) => stage.nameOf(id) === 'Ben');
    if (request === undefined) break;
    const page = table[table.length - 1];
    const unwritten = table.length * TOKENS_PER_PAGE - request.computedTokens;
    const words = stage.pageWords(page)[0];
    yield stage.moment(told(table, page, words.slice((TOKENS_PER_PAGE - unwritten) * ROW_WORDS), unwritten), {
      pages: [page],
      figures: [compared(page, before.get(page) ?? [], words)],
    });
    await stage.step();
  }
  const { mismatches } = await stage.engine.readWitness();
  yield stage.moment(
    mismatches === 0
      ? 'Ben is done. What he wrote and read was right in any case: the danger is in what nobody wrote.'
      : `Ben is done. ${mismatches} words that he read were wrong.`,
  );
  await stage.close();
}

function told(table: readonly number[], page: number, rest: readonly number[], unwritten: number): string {
  const where = `Ben holds ${pagesText(table)}.`;
  if (unwritten === 0) return `${where} Page ${page} is full: nothing of what was there before is left.`;
  const zeros = rest.filter((word) => word === 0).length;
  const holds =
    zeros === rest.length
      ? 'all zeros'
      : zeros === 0
        ? 'no zero at all'
        : `${rest.length - zeros} words that are not zero`;
  const sum = weighted(rest);
  return `${where} The last ${unwritten === 1 ? 'row' : `${unwritten} rows`} of page ${page} ${unwritten === 1 ? 'was' : 'were'} never written by him and ${unwritten === 1 ? 'holds' : 'hold'} ${holds}. Read as 16-bit numbers and multiplied by nought, they add up to ${Number.isNaN(sum) ? 'NaN' : sum}.`;
}

/** What rows that do not count add to a sum: each half word times 0. */
export function weighted(words: readonly number[]): number {
  return words.reduce((sum, word) => sum + 0 * halfFloat(word & 0xffff) + 0 * halfFloat(word >>> 16), 0);
}

/** A 16-bit float. Finite ones come out in the right order of magnitude, which is all that a weight of 0 asks for. */
function halfFloat(bits: number): number {
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  const sign = bits & 0x8000 ? -1 : 1;
  if (exponent === 0x1f) return fraction === 0 ? sign * Infinity : NaN;
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function compared(page: number, before: readonly number[], now: readonly number[]): BytesFigure {
  return {
    kind: 'bytes',
    title: `Page ${page}`,
    rows: [
      { label: 'when it was given back', words: before },
      { label: 'now', words: now },
    ],
    isChange: true,
  };
}
