/** Free pages are claimed again, and the end of a text goes before its beginning. */
import { evictHeadsFirst } from '../heads-first.ts';
import { pagesText } from '../lines.ts';
import type { BarsFigure, Moment } from '../moment.ts';
import type { Chosen, Scene } from '../scene.ts';
import { Stage } from '../stage.ts';

const ANN = 'In a hole in the ground there lived a mouse who had never once seen the sea or a ship';
const OTHERS = [
  'My bicycle has a flat tyre once again',
  'Is soup a drink or is it food',
  'Twelve cats sat on the long garden wall',
  'Rain is only a cloud that got tired',
];

export const eviction: Scene = {
  id: 'eviction',
  title: 'Eviction, and why tails go first',
  about:
    'A page that nobody holds keeps its notes until somebody needs the room: then it is evicted. A text is found from its beginning on, as far as no page is missing. So the pages at its end, the tail, have to go first.',
  look: 'Which of Ann’s pages others get, and how much of her text is found when she comes back. Then let the heads go first.',
  words: [
    [
      'Evict',
      'give a page that can still be found to somebody else. Its key is taken off, and its notes are gone.',
    ],
  ],
  choices: [
    {
      name: 'order',
      label: 'Goes first',
      options: [
        { value: 'tail', label: 'the tail' },
        { value: 'head', label: 'the head' },
      ],
    },
    {
      name: 'others',
      label: 'Others who come',
      options: [
        { value: '2', label: '2' },
        { value: '1', label: '1' },
        { value: '3', label: '3' },
        { value: '4', label: '4' },
      ],
    },
  ],
  play,
};

async function* play({ order, others }: Chosen): AsyncGenerator<Moment, void, undefined> {
  const stage = await Stage.open({ cache: { pages: 8, pageBytes: 32, tokensPerPage: 4 } });
  if (order === 'head') evictHeadsFirst(stage.engine);
  yield stage.moment('The pool has 7 pages, and all are empty.');
  stage.add('Ann', ANN);
  await stage.step();
  const own = stage.last!.plan.forward[0].tables[0].slice(0, 5);
  yield stage.moment(
    `Ann’s text is done. It filled ${pagesText(own)}, which are free now and can be found.`,
    {
      pages: own,
      figures: [left(stage, own)],
    },
  );
  for (const [i, text] of OTHERS.slice(0, Number(others)).entries()) {
    const before = keyed(stage, own);
    stage.add(['Ben', 'Cleo', 'Dan', 'Eve'][i], text);
    await stage.step();
    const gone = before.filter((page) => !keyed(stage, own).includes(page));
    const name = stage.nameOf(String(i + 1));
    yield stage.moment(
      gone.length === 0
        ? `${name} comes and goes, on pages without a key: those are taken before any other.`
        : `${name} needs room. ${capital(pagesText(gone))} of Ann’s ${gone.length === 1 ? 'is' : 'are'} evicted: ${gone.includes(own[0]) ? 'the beginning of her text' : 'from the end of her text'}.`,
      { pages: own, figures: [left(stage, own)] },
    );
  }
  const kept = keyed(stage, own).length;
  stage.add('Ann again', `${ANN} before`);
  await stage.step();
  const { start, end } = stage.last!.plan.forward[0];
  yield stage.moment(
    start === 0
      ? `Ann comes back. ${kept === 0 ? 'None of her pages is left' : `${kept} of her ${own.length} pages are still there, but the first one is not, so they are of no use`}: all ${end} tokens are computed again.`
      : `Ann comes back. Left of her pages, from the beginning on: ${kept} of ${own.length}. So ${start} tokens are found, and ${end - start} computed.`,
    { figures: [work(start, end)] },
  );
  await stage.close();
}

function keyed(stage: Stage, own: readonly number[]): number[] {
  return own.filter((page) => {
    const content = stage.contentOf(page);
    if (content === null || stage.view.pages[page].key === null) return false;
    const { words, from } = content;
    return (
      words.join(' ') ===
      ANN.split(' ')
        .slice(from, from + words.length)
        .join(' ')
    );
  });
}

function left(stage: Stage, own: readonly number[]): BarsFigure {
  const kept = keyed(stage, own).length;
  return {
    kind: 'bars',
    title: 'Ann’s text',
    max: own.length,
    rows: [{ label: 'pages left', value: kept, text: `${kept} of ${own.length}` }],
  };
}

function work(found: number, tokens: number): BarsFigure {
  return {
    kind: 'bars',
    title: 'When Ann comes back',
    max: tokens,
    rows: [
      { label: 'found', value: found, text: `${found} of ${tokens} tokens` },
      { label: 'computed again', value: tokens - found, text: `${tokens - found} of ${tokens} tokens` },
    ],
  };
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
