/** Pages that are not needed now go to the memory of the host, and come back when they are. */
import { counted } from '../../view/format.ts';
import { jobsText, pagesText } from '../lines.ts';
import type { BarsFigure, Moment } from '../moment.ts';
import type { Chosen, Scene } from '../scene.ts';
import { Stage } from '../stage.ts';

const ANN = 'In a hole in the ground there lived a mouse who had never seen the sea';
const OTHERS = [
  'My bicycle has a flat tyre and there is no shop near here that could mend it',
  'Is soup a drink or a food and what would a cook say if you asked',
];
const PAGE_BYTES = 32;

export const host: Scene = {
  id: 'host',
  title: 'To the host and back',
  about:
    'A graphics processor has little memory, the machine around it has more. Full pages are copied there, and when a text comes back whose pages have been evicted meanwhile, the copies are loaded instead of computing everything again.',
  look: 'A store is first decided, then read, then complete: three different moments. Watch the corner of a page and its slot.',
  words: [
    [
      'Host',
      'the machine that the graphics processor sits in. The host tier is a part of its ordinary memory.',
    ],
    ['Store, load', 'a copy to the host, a copy back. Each is a job with a number.'],
    [
      'Slot',
      'a place in the host tier, as large as a page. Its key is published when the bytes are in it, and not before.',
    ],
  ],
  choices: [
    {
      name: 'slots',
      label: 'Host tier',
      options: [
        { value: '12', label: '12 slots' },
        { value: '5', label: '5 slots' },
        { value: '0', label: 'none' },
      ],
    },
    {
      name: 'pace',
      label: 'Pages stored a step',
      options: [
        { value: '1', label: '1' },
        { value: '4', label: '4' },
      ],
    },
  ],
  play,
};

async function* play({ slots, pace }: Chosen): AsyncGenerator<Moment, void, undefined> {
  const stage = await Stage.open({
    cache: { pages: 7, pageBytes: PAGE_BYTES, tokensPerPage: 4 },
    offload: { slots: Number(slots) },
    transfer: {
      storeBytesPerStep: Number(pace) * PAGE_BYTES,
      stagingBuffers: 2,
      stagingBytes: Number(pace) * PAGE_BYTES,
      overflowBytes: 8 * PAGE_BYTES,
      acknowledgementLag: 2,
    },
  });
  yield stage.moment(
    `Six pages on the device, and ${slots === '0' ? 'no host tier' : `${slots} slots on the host`}.`,
  );
  stage.add('Ann', ANN);
  await stage.step();
  const own = stage.last!.plan.forward[0].tables[0].slice(0, 4);
  yield stage.moment(`Ann’s text is done. ${state(stage)}`, { pages: own });
  while (stage.engine.hasWork) {
    await stage.step();
    yield stage.moment(state(stage), { pages: own });
  }
  for (const [i, text] of OTHERS.entries()) {
    stage.add(['Ben', 'Cleo'][i], text, 'Well .');
    while (stage.engine.hasWork) await stage.step();
    const left = own.filter((page) =>
      stage.contentOf(page)?.words.every((word) => ANN.split(' ').includes(word)),
    );
    yield stage.moment(
      `${stage.nameOf(String(i + 1))} came and went. ${left.length === 0 ? 'Nothing of Ann’s is left on the device.' : `Left of Ann’s on the device: ${pagesText(left)}.`} ${state(stage)}`,
      { pages: left },
    );
  }
  stage.add('Ann again', `${ANN} or a ship`);
  let hit = { device: 0, host: 0 };
  let computed = 0;
  while (stage.view.requests.length > 0) {
    const report = await stage.step();
    for (const { start, end } of report.plan.forward) computed += end - start;
    for (const { hitTokens } of report.finished) hit = hitTokens;
    const [request] = stage.view.requests;
    if (stage.view.requests.length > 0) {
      yield stage.moment(
        request.status === 'parked'
          ? `Ann comes back. Her text is found on the host: ${pagesText(stage.view.jobs.flatMap(({ kind, pages }) => (kind === 'load' ? pages : [])))} are being loaded, and she is parked so long. Others could run meanwhile.`
          : `Ann’s pages are there: ${request.status === 'loaded' ? 'she runs in the next step' : 'she runs'}.`,
        { pages: request.pages },
      );
    }
  }
  yield stage.moment(
    `Ann is done again: ${counted(hit.host, 'token')} came from the host, ${hit.device} were still on the device, and ${computed} were computed.`,
    { figures: [work(hit, computed)] },
  );
  await stage.close();
}

function state(stage: Stage): string {
  const { jobs, pages, counts, slots } = stage.view;
  if (slots.length === 0) return 'Without a host tier nothing is stored.';
  const stores = jobs.filter(({ kind }) => kind === 'store');
  if (stores.length === 0)
    return `All is at rest: ${counted(counts.slots.ready, 'slot')} can be found on the host.`;
  const waiting = new Set(pages.flatMap(({ unreadBy }) => unreadBy));
  const parts = [`${capital(jobsText(stores.map(({ id }) => id)))} under way.`];
  const unread = pages.filter(({ unreadBy }) => unreadBy.length > 0).map(({ id }) => id);
  if (waiting.size > 0)
    parts.push(`${capital(pagesText(unread))} still ${unread.length === 1 ? 'has' : 'have'} to be read.`);
  else parts.push('The pages are read, so others may write them; the bytes have not arrived yet.');
  if (counts.slots.ready > 0) parts.push(`${counted(counts.slots.ready, 'slot')} can be found.`);
  return parts.join(' ');
}

function work(hit: { device: number; host: number }, computed: number): BarsFigure {
  const max = hit.device + hit.host + computed;
  const bar = (label: string, value: number) => ({ label, value, text: `${value} of ${max} tokens` });
  return {
    kind: 'bars',
    title: 'When Ann comes back',
    max,
    rows: [bar('from the host', hit.host), bar('on the device', hit.device), bar('computed again', computed)],
  };
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
