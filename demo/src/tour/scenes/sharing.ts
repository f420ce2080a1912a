/** Texts that begin alike hold the same pages. */
import { counted } from '../../view/format.ts';
import { pagesText } from '../lines.ts';
import type { BarsFigure, Moment } from '../moment.ts';
import type { Chosen, Scene } from '../scene.ts';
import { Stage } from '../stage.ts';

const BEGINNING = 'You are a helpful guide . Answer briefly';
const ANN = `${BEGINNING} : where is the old harbour`;
const BEN = {
  alike: `${BEGINNING} : when does the museum open`,
  later: 'You are a helpful guide ! Answer briefly : when does the museum open',
  first: 'We are a helpful guide . Answer briefly : when does the museum open',
} as const;

export const sharing: Scene = {
  id: 'sharing',
  title: 'Sharing a beginning',
  about:
    'What a model notes of a word depends on that word and on those before it, and on nothing behind it. So two texts that begin alike have the same notes there, and one page can serve both.',
  look: 'The number of references on a page, and how many tokens are computed rather than found. Then let the second text differ.',
  words: [
    [
      'Prefix key',
      'a number made of a page’s tokens and of all tokens before them. Equal keys: equal notes.',
    ],
    ['Hit', 'a page found by its key, so that nothing has to be computed for it.'],
    ['Reference count', 'in how many page tables a page stands. At none it is free.'],
  ],
  choices: [
    {
      name: 'second',
      label: 'The second text',
      options: [
        { value: 'alike', label: 'begins alike' },
        { value: 'later', label: 'differs at word 6' },
        { value: 'first', label: 'differs at word 1' },
      ],
    },
    {
      name: 'prefix',
      label: 'Sharing',
      options: [
        { value: 'on', label: 'on' },
        { value: 'off', label: 'off' },
      ],
    },
  ],
  play,
};

async function* play({ second, prefix }: Chosen): AsyncGenerator<Moment, void, undefined> {
  const stage = await Stage.open({
    cache: { pages: 17, pageBytes: 32, tokensPerPage: 4, prefixCaching: prefix === 'on' },
  });
  const hits = new Map<string, number>();
  let computed = 0;
  const step = async () => {
    const report = await stage.step();
    for (const { start, end } of report.plan.forward) computed += end - start;
    for (const { id, hitTokens } of report.finished) hits.set(stage.nameOf(id), hitTokens.device);
  };
  const figures = () => [workOf(computed, stage.engine.cache.statistics.hitTokens)];

  yield stage.moment('The pool is empty.');
  stage.add('Ann', ANN, 'Down the hill , past the church and the mill');
  await step();
  const own = stage.table('Ann').filter((page) => stage.view.pages[page].key !== null);
  yield stage.moment(
    prefix === 'on'
      ? `Ann’s text is computed. Her full ${pagesText(own)} can be found by their keys from now on.`
      : 'Ann’s text is computed. No page gets a key.',
    { pages: own, figures: figures() },
  );

  stage.add('Ben', BEN[second as keyof typeof BEN], 'At ten , from Monday on');
  await step();
  yield stage.moment(found(stage, 'Ben', prefix), { pages: shared(stage), figures: figures() });

  stage.add('Cleo', `${BEGINNING} : is there a train`, 'Yes , at six');
  await step();
  yield stage.moment(found(stage, 'Cleo', prefix), { pages: shared(stage), figures: figures() });

  while (stage.view.requests.some(({ id }) => stage.nameOf(id) !== 'Ann')) await step();
  yield stage.moment(
    `Ben and Cleo are done: they count on no page any more. Pages that Ann holds too stay hers.`,
    { pages: stage.table('Ann'), figures: figures() },
  );
  while (stage.engine.hasWork) await step();
  const cached = stage.view.pages.filter(({ state }) => state === 'cached').map(({ id }) => id);
  yield stage.moment(
    cached.length === 0
      ? 'Ann is done as well. All pages are free.'
      : `Ann is done as well. ${counted(cached.length, 'page')} are free and keep their keys: until somebody needs the room they can be found.`,
    { pages: cached, figures: figures() },
  );
  stage.add('Dan', `${BEGINNING} : where is the old harbour master`, 'Ask Ann');
  await step();
  yield stage.moment(found(stage, 'Dan', prefix), { pages: stage.table('Dan'), figures: figures() });
  await stage.close();
}

function found(stage: Stage, name: string, prefix: string): string {
  const request = stage.view.requests.find(({ id }) => stage.nameOf(id) === name);
  const start =
    stage.last?.plan.forward.find(({ requestId }) => stage.nameOf(requestId) === name)?.start ?? 0;
  const tokens = request?.promptTokens ?? 0;
  const table = stage.table(name);
  const hit = table.slice(0, start / 4);
  if (start > 0) {
    const [first] = hit;
    const count = stage.view.pages[first].references;
    return `${name} comes. The first ${start} of ${tokens} tokens are found on ${pagesText(hit)}, and only ${tokens - start} are computed. Page ${first} now stands in ${counted(count, 'page table')}.`;
  }
  return prefix === 'on'
    ? `${name} comes. No key fits, because keys depend on every token from the first one on: all ${tokens} tokens are computed.`
    : `${name} comes. Without keys nothing is found: all ${tokens} tokens are computed.`;
}

function shared(stage: Stage): number[] {
  return stage.view.pages.filter(({ state }) => state === 'shared').map(({ id }) => id);
}

function workOf(computed: number, hitTokens: number): BarsFigure {
  const max = computed + hitTokens;
  return {
    kind: 'bars',
    title: 'Tokens so far',
    max,
    rows: [
      { label: 'computed', value: computed, text: `${computed} of ${max}` },
      { label: 'found', value: hitTokens, text: `${hitTokens} of ${max}` },
    ],
  };
}
