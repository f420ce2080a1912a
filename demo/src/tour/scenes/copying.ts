/** A hit that ends inside a page: whoever goes on writes on a copy. */
import type { Moment } from '../moment.ts';
import type { Chosen, Scene } from '../scene.ts';
import { Stage } from '../stage.ts';

const BEGINNING = 'The owl and the pussy cat';

export const copying: Scene = {
  id: 'copying',
  title: 'Copy on write',
  about:
    'Two texts may part in the middle of a page. Both need its first half, and each will write its own second half. So whoever comes second gets a copy, made before anything is written.',
  look: 'Ben’s second page when he comes: copied, and only then written. Then leave the copy out.',
  words: [
    [
      'Copy on write',
      'pages are shared as long as they are only read. Whoever wants to write gets a copy first.',
    ],
    [
      'State',
      'some layers keep no notes of each word, but one sum of everything so far. It changes with each word, so it has to be copied too.',
    ],
  ],
  choices: [
    {
      name: 'copy',
      label: 'The copy',
      options: [
        { value: 'made', label: 'is made' },
        { value: 'left-out', label: 'is left out' },
      ],
    },
    {
      name: 'ann',
      label: 'Ann',
      options: [
        { value: 'writes', label: 'is still writing' },
        { value: 'done', label: 'is done' },
      ],
    },
  ],
  play,
};

async function* play({ copy, ann }: Chosen): AsyncGenerator<Moment, void, undefined> {
  const stage = await Stage.open({
    cache: {
      pages: 13,
      matchTokens: 2,
      groups: [
        { kind: 'full-attention', tokensPerPage: 4, pageBytes: 32 },
        { kind: 'recurrent', tokensPerPage: 4, pageBytes: 16 },
      ],
    },
  });
  if (copy === 'left-out') {
    const { worker } = stage.engine;
    const execute = worker.execute.bind(worker);
    worker.execute = (plan) => execute({ ...plan, copies: [] });
  }
  yield stage.moment(
    'Two kinds of layers: full attention keeps notes of each token, the other one keeps a state.',
  );
  stage.add('Ann', BEGINNING, ann === 'done' ? 'went' : 'went to sea in a beautiful boat');
  await stage.step();
  yield stage.moment(
    'Ann’s first four tokens fill a page. A state is kept after them: one could go on from here.',
  );
  const { plan: second } = await stage.step();
  const half = second.forward[0].tables[0][1];
  yield stage.moment(
    `Two tokens more fill half of page ${half}. That half can be found too: its key says how far it goes.`,
    { pages: [half] },
  );
  stage.add('Ben', `${BEGINNING} were not at`, 'home today');
  const forwardOf = () => stage.last!.plan.forward.find(({ requestId }) => stage.nameOf(requestId) === 'Ben');
  for (await stage.step(); forwardOf() === undefined; await stage.step()) {
    yield stage.moment(waits(stage), { pages: [half] });
  }
  const { copies } = stage.last!.plan;
  const pairs = copies.map(({ source, destination }) => `page ${source} to page ${destination}`);
  const own = copies.map(({ destination }) => Number(destination));
  const { start } = forwardOf()!;
  const { mismatches } = await stage.engine.readWitness();
  yield stage.moment(
    start === 0
      ? 'Ben comes, and nothing is found.'
      : `Ben begins like Ann: ${start} tokens are found, and they end in the middle of a page. ${
          copy === 'made'
            ? `So ${pairs.join(' and ')} is copied first, and Ben’s tokens go into the copies.`
            : `The plan says to copy ${pairs.join(' and ')}. Nobody does, and Ben reads ${mismatches} words that are not what they must be.`
        }`,
    { pages: [...copies.map(({ source }) => Number(source)), ...own] },
  );
  while (stage.engine.hasWork) {
    await stage.step();
    const found = (await stage.engine.readWitness()).mismatches;
    yield stage.moment(
      stage.engine.hasWork
        ? `${who(stage)}, and whoever writes does so on pages that are nobody else’s.${found === 0 ? ' Nobody is in anybody’s way.' : ` ${found} wrong words were read so far.`}`
        : found === 0
          ? 'Both are done. Each wrote on pages of its own, and every word that was read was right.'
          : `Both are done. ${found} words that were read were wrong: Ben wrote his tokens behind a half page that was never filled.`,
      { pages: [half, ...own] },
    );
  }
  await stage.close();
}

function waits(stage: Stage): string {
  const { copies } = stage.last!.plan;
  const kept =
    copies.length === 0
      ? ''
      : ` Meanwhile the state there is put aside, since Ann goes on from it: page ${copies[0].source} is copied to page ${copies[0].destination}.`;
  return `Ben begins like Ann. He waits until everything that he could go on from is there.${kept}`;
}

function who(stage: Stage): string {
  const names = stage.view.requests.map(({ id }) => stage.nameOf(id));
  return `${names.join(' and ')} ${names.length === 1 ? 'goes on' : 'go on'}`;
}
