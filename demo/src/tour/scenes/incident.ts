/** The incident that the fence is named after, on the small sibling of the layout in which it happened. */
import { cachePreset, type EngineConfig, type StoreJob } from '../../../../src/index.ts';
import { jobsText } from '../lines.ts';
import type { BytesFigure, Moment } from '../moment.ts';
import type { Chosen, Scene } from '../scene.ts';
import { Stage } from '../stage.ts';

const PIA = 'You are a helpful guide to the town';
const BEN = 'Please write a poem about the old harbour';
const BEN_ON = 'where white gulls cry above the boats';
const ADA = 'Tell me the story of the seven ravens';
const ADA_ON = 'and of their sister who went out to find them behind the end of the world';

const STATE = 2;
const RING = 3;

export const incident: Scene = {
  id: 'incident',
  title: 'The incident',
  about:
    'A page was zeroed while a copy of it still waited to be made. The copy then saved zeros, under a key that says they are Ada’s. Nothing crashed. This happened in a real serving engine, with this layout in large.',
  look: 'Follow the page of Ada’s state, and its store. Then play it again without the fence.',
  words: [
    ['Fence', 'before a step overwrites pages, it makes every waiting store of those pages read them.'],
    [
      'Parked',
      'a request whose pages are being loaded is not computed until they are there. It holds pages all the same.',
    ],
    [
      'Ring',
      'a page in which a request keeps its last few tokens and overwrites them in turn. It is never stored.',
    ],
  ],
  choices: [
    {
      name: 'fence',
      label: 'Fence',
      options: [
        { value: 'complete', label: 'on' },
        { value: 'scheduled-and-loads', label: 'as it was then' },
        { value: 'off', label: 'off' },
      ],
    },
  ],
  play,
};

async function* play({ fence }: Chosen): AsyncGenerator<Moment, void, undefined> {
  const cache = { ...cachePreset('incident-small'), pages: 19, lookaheadTokens: 1 };
  const pageBytes = Math.max(...cache.groups.map((group) => group.pageBytes));
  const stage = await Stage.open({
    cache,
    schedule: { maxTokensPerStep: 16 },
    offload: { slots: 24, fence: fence as EngineConfig['offload']['fence'] },
    transfer: {
      storeBytesPerStep: pageBytes,
      stagingBuffers: 2,
      stagingBytes: pageBytes,
      overflowBytes: 16 * pageBytes,
      acknowledgementLag: 2,
    },
  });
  yield stage.moment(
    'Four kinds of layers share these pages: full attention, compressed keys, a recurrent state, a ring. Stores to the host are slow on purpose: one page a step, two staging buffers.',
  );

  stage.add('Pia', PIA);
  while (stage.engine.hasWork) await stage.step();
  yield stage.moment(
    `Pia was answered. Copies of her ${stage.view.counts.slots.ready} pages are in the host tier, and the pages themselves are free.`,
  );

  stage.add('Ben', BEN, BEN_ON);
  await stage.step();
  const ahead = stage.view.jobs.filter(({ kind }) => kind === 'store');
  yield stage.moment(
    `Ben comes and goes on writing for a while. ${capital(jobsText(ahead.map(({ id }) => id)))} will store his pages, one page a step.`,
  );

  stage.add('Ada', `${ADA} ${ADA_ON}`);
  const t0 = await stage.step();
  const stateJob = t0.plan.stores.find(({ pages }) =>
    pages.some((page) => stage.contentOf(page)?.group === STATE),
  )!;
  const [statePage] = stateJob.pages;
  const [stateSlot] = stateJob.slots;
  const marks = { pages: [statePage], slots: [stateSlot] };
  const told = async (caption: string) => stage.moment(caption, marks);
  yield told(
    `Ada’s first 8 tokens are computed. The state after them is on page ${statePage}, and job ${stateJob.id} is to store it in slot ${stateSlot}. It queues behind Ben’s.`,
  );
  await stage.step();
  yield told(
    `Ada’s next state is made from the one on page ${statePage}. Job ${stateJob.id} ${isWaiting(stage, stateJob) ? 'still waits: it has not read that page' : 'has read it'}.`,
  );
  await stage.step();
  yield told(
    `Ada is done, and page ${statePage} is ${stage.view.pages[statePage].references === 0 ? 'free' : 'held'}. The pool does not know that job ${stateJob.id} ${isWaiting(stage, stateJob) ? 'still has to read it' : 'read it'}.`,
  );

  stage.add('Cleo', `${PIA} hall`);
  const claim = await stage.step();
  const [ringPage] = stage.table('Cleo', RING);
  yield told(claimCaption(stage, { stateJob, ringPage, flushed: claim.outcome.flushed }));

  let isRead = !isWaiting(stage, stateJob);
  while (stage.engine.hasWork && !isReady(stage, stateSlot)) {
    await stage.step();
    const reads = !isRead && !isWaiting(stage, stateJob);
    isRead ||= reads;
    if (isReady(stage, stateSlot)) yield told(storedCaption(stage, stateSlot));
    else if (reads) yield told(readCaption(stage, stateJob));
    else yield told(`Job ${stateJob.id} is ${isRead ? 'on its way to the host' : 'still waiting'}.`);
  }
  while (stage.engine.hasWork) await stage.step();
  yield stage.moment(
    `All is at rest. Slot ${stateSlot} is ready under Ada’s key, and ${stage.last === null ? '' : 'nobody has noticed anything: '}${stage.view.slots[stateSlot].suspect ? 'the key is valid, the bytes are not.' : 'its bytes are right.'}`,
    { ...marks, figures: [compared(stage, stateSlot, 'Ada’s state')] },
  );

  stage.add('Ada again', `${ADA} ,`);
  await stage.step();
  yield stage.moment(
    `Ada’s story is asked for again. Its beginning is found in the host tier and loaded: ${stage.view.requests[0]?.status === 'parked' ? 'the request is parked until the bytes are there' : 'the request runs'}.`,
    {
      slots: [stateSlot],
      pages: stage.view.jobs.flatMap(({ kind, pages }) => (kind === 'load' ? pages : [])),
    },
  );
  while (stage.engine.hasWork) await stage.step();
  const { mismatches } = await stage.engine.readWitness();
  yield stage.moment(
    mismatches === 0
      ? 'Every word that was read is what Ada’s text requires. The fence cost one copy, a few steps early, and nobody waited.'
      : `${mismatches} of the words that were read are not what Ada’s text requires. A model would go on from them and answer something else, and so would every later request that begins like Ada’s.`,
    { slots: [stateSlot], figures: [compared(stage, stateSlot, 'Ada’s state')] },
  );
  await stage.close();
}

function claimCaption(
  stage: Stage,
  { stateJob, ringPage, flushed }: { stateJob: StoreJob; ringPage: number; flushed: readonly number[] },
): string {
  const [statePage] = stateJob.pages;
  const who = `Cleo begins like Pia, so her pages are loaded from the host, and she is parked. Her ring gets page ${ringPage}`;
  if (ringPage !== statePage) return `${who}.`;
  const zeroed = stage.view.pages[ringPage].zeroed ? ', which is zeroed now' : '';
  if (flushed.includes(stateJob.id)) {
    return `${who}${zeroed}. But first the fence made job ${stateJob.id} read it: the list of pages to be zeroed names it.`;
  }
  return isWaiting(stage, stateJob)
    ? `${who}${zeroed}. Job ${stateJob.id} has not read it yet. She is not scheduled and rings are not stored, so nobody looked.`
    : `${who}${zeroed}.`;
}

function readCaption(stage: Stage, { id, pages: [page] }: StoreJob): string {
  const isLate = stage.transfers.lateReads > 0;
  return isLate
    ? `There is room: job ${id} reads page ${page}. It is too late: what it finds is not Ada’s state any more.`
    : `Job ${id} reads page ${page}.`;
}

function storedCaption(stage: Stage, slot: number): string {
  const [now] = stage.slotWords(slot).now;
  const zeros = now.filter((word) => word === 0).length;
  return stage.view.slots[slot].suspect
    ? `The copy arrives in slot ${slot}, and the key is published: ${zeros} of its ${now.length} words are zero.`
    : `The copy arrives in slot ${slot}, and the key is published. Its bytes are Ada’s.`;
}

/** What was computed beside what the host tier keeps, on each rank. */
function compared(stage: Stage, slot: number, what: string): BytesFigure {
  const { now, expected } = stage.slotWords(slot);
  return {
    kind: 'bytes',
    title: `${what}: what was computed, and what slot ${slot} keeps`,
    rows: now.flatMap((words, rank) => [
      { label: `computed, rank ${rank}`, words: expected[rank] },
      { label: `slot ${slot}, rank ${rank}`, words },
    ]),
  };
}

function isWaiting(stage: Stage, { id, pages: [page] }: StoreJob): boolean {
  return stage.view.pages[page].unreadBy.includes(id);
}

function isReady(stage: Stage, slot: number): boolean {
  const { state } = stage.view.slots[slot];
  return state === 'ready' || state === 'pinned';
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
