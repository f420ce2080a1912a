/** Four kinds of layers in one pool, and what each of them keeps of a text that grows. */
import type { GroupKind } from '../../../../src/index.ts';
import { KIND_NAMES } from '../groups.ts';
import { pagesText } from '../lines.ts';
import type { BarsFigure, Moment } from '../moment.ts';
import type { Chosen, Scene } from '../scene.ts';
import { Stage } from '../stage.ts';

const ANN = 'There was once a miller who had three';
const ANN_ON = 'sons , a mill , a donkey and a cat . When he died they shared .';
const PAGE = 4;

export const windows: Scene = {
  id: 'windows',
  title: 'Windows, states and rings',
  about:
    'Not all layers of a model look at the whole text. Some look back only so far, some keep one sum, some need just the last few tokens. Each kind keeps its own pages, all from one pool, and gives back what it will not look at again.',
  look: 'The page tables: a dash is a page that was given back. Try other windows, and count the pages.',
  words: [
    [
      'Sliding window',
      'layers that look at the last few tokens only. Older pages go back to the pool while the text still grows.',
    ],
    [
      'State',
      'one sum of everything so far, in one page. The one before is needed only until the next is made.',
    ],
    ['Ring', 'one page that is overwritten in turn, for what needs just the last few tokens.'],
  ],
  choices: [
    {
      name: 'window',
      label: 'Window',
      options: [
        { value: '8', label: '8 tokens' },
        { value: '4', label: '4 tokens' },
        { value: '16', label: '16 tokens' },
      ],
    },
    {
      name: 'second',
      label: 'Ben asks for',
      options: [
        { value: '16', label: 'Ann’s first 16 tokens' },
        { value: '8', label: 'her first 8' },
      ],
    },
  ],
  play,
};

async function* play({ window, second }: Chosen): AsyncGenerator<Moment, void, undefined> {
  const stage = await Stage.open({
    cache: {
      pages: 25,
      groups: [
        { kind: 'full-attention', tokensPerPage: PAGE, pageBytes: 32 },
        { kind: 'sliding-window', tokensPerPage: PAGE, pageBytes: 32, windowTokens: Number(window) },
        { kind: 'recurrent', tokensPerPage: PAGE, pageBytes: 16 },
        { kind: 'ring', capacityTokens: 4, pageBytes: 32, after: 'tail' },
      ],
    },
  });
  const kinds = stage.engine.cache.layout.groups.map(({ kind }) => kind);
  yield stage.moment('One pool, four kinds of layers. Any page may serve any of them, one at a time.');
  stage.add('Ann', ANN, ANN_ON);
  while (stage.engine.hasWork) {
    const before = tables(stage, 'Ann');
    await stage.step();
    const now = tables(stage, 'Ann');
    if (now.length === 0) break;
    const gone = before.map((table) => table.filter((page) => !now.flat().includes(page)));
    yield stage.moment(told(stage, kinds, gone), { pages: gone.flat(), figures: [heldBy(stage, kinds)] });
  }
  const cached = stage.view.pages.filter(({ state }) => state === 'cached').length;
  yield stage.moment(`Ann is done. Of her pages ${cached} can still be found; a ring never can.`);
  const count = Number(second);
  stage.add(
    'Ben',
    [...`${ANN} ${ANN_ON}`.split(' ').slice(0, count), 'and', 'then'].join(' '),
    'they lived on',
  );
  const { plan } = await stage.step();
  const { start, end } = plan.forward[0];
  const found = tables(stage, 'Ben').map((table) =>
    table.slice(0, Math.ceil(start / PAGE)).filter((page) => page !== 0),
  );
  yield stage.moment(
    start === 0
      ? `Ben begins like Ann for ${count} tokens, and nothing is found: every kind must still have what it needs at that place. All ${end} tokens are computed.`
      : `Ben begins like Ann for ${count} tokens, and ${start} are found. Full attention needs ${pagesText(found[0])} for them, the window only ${pagesText(found[1])}, and the ring starts empty. The rest is computed.`,
    { pages: found.slice(0, 3).flat(), figures: [heldBy(stage, kinds)] },
  );
  while (stage.engine.hasWork) await stage.step();
  const { mismatches } = await stage.engine.readWitness();
  yield stage.moment(
    `Ben is done. ${mismatches === 0 ? 'Every word that either of them read was right: nothing was given back too early.' : `${mismatches} words that were read were wrong.`}`,
  );
  await stage.close();
}

function tables(stage: Stage, name: string): readonly (readonly number[])[] {
  return stage.view.requests.find(({ id }) => stage.nameOf(id) === name)?.tables ?? [];
}

function told(stage: Stage, kinds: readonly GroupKind[], gone: readonly (readonly number[])[]): string {
  const [request] = stage.view.requests;
  const parts = [`${request.computedTokens} tokens are computed, in ${request.pages.length} pages.`];
  gone.forEach((pages, group) => {
    const real = pages.filter((page) => page !== 0);
    if (real.length === 0) return;
    const why = kinds[group] === 'recurrent' ? 'the next state is made' : 'no later token looks at it';
    parts.push(`The ${KIND_NAMES[kinds[group]]} gives back ${pagesText(real)}: ${why}.`);
  });
  return parts.join(' ');
}

function heldBy(stage: Stage, kinds: readonly GroupKind[]): BarsFigure {
  const [{ tables: own, computedTokens }] = stage.view.requests;
  const max = Math.ceil(computedTokens / PAGE) + 1;
  return {
    kind: 'bars',
    title: `Pages held for ${computedTokens} tokens`,
    max,
    rows: kinds.map((kind, group) => {
      const value = own[group].filter((page) => page !== 0).length;
      return { label: KIND_NAMES[kind], value, text: String(value) };
    }),
  };
}
