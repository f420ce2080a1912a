/** What a page is: the same texts in one long memory and in pages, side by side. */
import { ContiguousMemory } from '../contiguous.ts';
import type { BarsFigure, Figure, Moment, PlacesFigure } from '../moment.ts';
import type { Chosen, Scene } from '../scene.ts';
import { Stage } from '../stage.ts';

const PLACES = 48;
/** The longest text that may come. */
const LONGEST = 24;

interface Part {
  readonly name: string;
  readonly prompt: string;
  readonly output: string;
  /** Steps before it comes. */
  readonly after: number;
}

const CAST: readonly Part[] = [
  { name: 'Ann', prompt: 'Once upon a time', output: 'there was a fox who ran', after: 0 },
  { name: 'Ben', prompt: 'The capital of Peru', output: 'is Lima .', after: 0 },
  {
    name: 'Cleo',
    prompt: 'Please count from one',
    output: 'two three four five six seven eight nine ten',
    after: 1,
  },
  { name: 'Dan', prompt: 'How do you do ?', output: 'Very well thank you !', after: 1 },
  {
    name: 'Eve',
    prompt: 'Here is a long letter that I would like you to read first',
    output: 'Dear Eve , of course I will .',
    after: 3,
  },
];

export const pages: Scene = {
  id: 'pages',
  title: 'What a page is',
  about:
    'For each word that it has read a model keeps notes, which later words look at. Nobody knows beforehand how long a text becomes. In one long memory each text must reserve room for the longest. In pages it takes a small piece at a time, wherever one is free.',
  look: 'Who has to wait, and how much is reserved and stays empty. Try other page sizes, and reservations that know the length.',
  words: [
    ['Token', 'the piece of text that a model reads at once. Here: a word.'],
    ['Page', 'room for the notes of a few tokens. All pages are of one size, so that any of them will do.'],
    [
      'Page table',
      'the list of a text’s pages, in order. Neighbours in the text need not be neighbours in memory.',
    ],
  ],
  choices: [
    {
      name: 'reserve',
      label: 'Without pages, reserve',
      options: [
        { value: 'longest', label: 'for the longest' },
        { value: 'exact', label: 'as if the length were known' },
      ],
    },
    {
      name: 'page',
      label: 'Tokens a page',
      options: [
        { value: '4', label: '4' },
        { value: '2', label: '2' },
        { value: '8', label: '8' },
      ],
    },
  ],
  play,
};

async function* play({ reserve, page }: Chosen): AsyncGenerator<Moment, void, undefined> {
  const tokensPerPage = Number(page);
  const stage = await Stage.open({
    cache: {
      pages: PLACES / tokensPerPage + 1,
      pageBytes: tokensPerPage * 8,
      tokensPerPage,
      prefixCaching: false,
    },
  });
  const memory = new ContiguousMemory(PLACES);
  const figures = (): Figure[] => [
    longMemory(memory),
    pagedMemory(stage, tokensPerPage),
    held(memory, stage, tokensPerPage),
  ];
  yield stage.moment(
    `Both memories have room for ${PLACES} tokens: one is a single row of places, the other ${PLACES / tokensPerPage} pages of ${tokensPerPage}.`,
    { figures: figures() },
  );
  for (let step = 0; step === 0 || stage.engine.hasWork || !memory.isIdle; step += 1) {
    const come = CAST.filter(({ after }) => after === step);
    for (const { name, prompt, output } of come) {
      const id = CAST.findIndex((part) => part.name === name);
      const lengths = { promptTokens: prompt.split(' ').length, outputTokens: output.split(' ').length };
      const exact = lengths.promptTokens + lengths.outputTokens;
      memory.add({ id, ...lengths, reserved: reserve === 'exact' ? exact : LONGEST });
      stage.add(name, prompt, output);
    }
    const ran = memory.running;
    const hadWork = stage.engine.hasWork;
    memory.step();
    if (hadWork) await stage.step();
    // Once the pages are done, only who begins and who ends without them.
    if (!hadWork && memory.running === ran) continue;
    yield stage.moment(
      tell(
        come.map(({ name }) => name),
        memory,
        stage,
        tokensPerPage,
      ),
      { title: `Step ${step + 1}`, figures: figures() },
    );
  }
  await stage.close();
}

function tell(
  come: readonly string[],
  memory: ContiguousMemory,
  stage: Stage,
  tokensPerPage: number,
): string {
  const parts: string[] = [];
  if (come.length > 0) parts.push(`${come.join(' and ')} ${come.length === 1 ? 'comes' : 'come'}.`);
  const free = PLACES - memory.reserved;
  if (memory.waiting.length > 0) {
    const names = memory.waiting.map((id) => CAST[id].name);
    parts.push(
      `Without pages ${names.join(' and ')} ${names.length === 1 ? 'waits' : 'wait'}: ${free} places are not reserved, the longest gap has ${memory.longestGap}, and ${memory.reserved - memory.used} reserved ones hold nothing.`,
    );
  } else if (!memory.isIdle) {
    parts.push(`Without pages nobody waits; ${memory.reserved - memory.used} reserved places hold nothing.`);
  } else parts.push('Without pages, all are done.');
  const { requests } = stage.view;
  const waiting = requests.filter(({ status }) => status === 'waiting' || status === 'preempted').length;
  const empty = emptyPlaces(stage, tokensPerPage);
  if (requests.length === 0) parts.push('In pages, all are done.');
  else if (waiting > 0) parts.push(`In pages ${waiting === 1 ? 'one waits' : `${waiting} wait`}.`);
  else
    parts.push(
      `In pages ${requests.length === 1 ? 'one runs' : `all ${requests.length} run`}; ${empty === 1 ? 'one place' : `${empty} places`} of their pages ${empty === 1 ? 'is' : 'are'} empty.`,
    );
  return parts.join(' ');
}

function emptyPlaces(stage: Stage, tokensPerPage: number): number {
  return stage.view.requests.reduce(
    (sum, { pages: own, computedTokens }) => sum + own.length * tokensPerPage - computedTokens,
    0,
  );
}

function longMemory(memory: ContiguousMemory): PlacesFigure {
  return {
    kind: 'places',
    title: 'One long memory',
    note: 'Full: a token is there. Striped: reserved and empty.',
    places: memory.map,
  };
}

function pagedMemory(stage: Stage, tokensPerPage: number): PlacesFigure {
  const places: { owner: number | null; isUsed: boolean; isFirst: boolean }[] = [];
  for (const { id, owners } of stage.view.pages.slice(1)) {
    const owner = owners.length === 0 ? null : Number(owners[0]);
    const request = stage.view.requests.find((one) => one.id === owners[0]);
    const position = request?.tables[0].indexOf(id) ?? 0;
    const filled = request ? request.computedTokens - position * tokensPerPage : 0;
    for (let i = 0; i < tokensPerPage; i += 1) places.push({ owner, isUsed: i < filled, isFirst: i === 0 });
  }
  return {
    kind: 'places',
    title: `The same room in pages of ${tokensPerPage}`,
    note: 'A text takes the next page when its last one is full. At most one page of each text is not full.',
    places,
  };
}

function held(memory: ContiguousMemory, stage: Stage, tokensPerPage: number): BarsFigure {
  const inPages = stage.view.requests.reduce((sum, { pages: own }) => sum + own.length * tokensPerPage, 0);
  const bar = (label: string, value: number, empty: number) => ({
    label,
    value,
    text: `${value} of ${PLACES} places, ${empty} of them empty`,
  });
  return {
    kind: 'bars',
    title: 'Held',
    max: PLACES,
    rows: [
      bar('One long memory', memory.reserved, memory.reserved - memory.used),
      bar('In pages', inPages, emptyPlaces(stage, tokensPerPage)),
    ],
  };
}
