/** The host tier, slot by slot, with its bytes. */
import type { SlotView } from '../../../src/index.ts';
import type { Theme } from '../view/theme.ts';
import { contentText } from './groups.ts';
import type { CachePicture, Moment, SlotPicture } from './moment.ts';
import { SlotTile } from './tile.tsx';
import { WordsStrip, wordsText } from './words-strip.tsx';

const STATES: Readonly<Record<SlotView['state'], string>> = {
  free: 'free',
  writing: 'reserved',
  ready: 'ready',
  pinned: 'being read',
};

export function HostList({ moment, cache, theme }: { moment: Moment; cache: CachePicture; theme: Theme }) {
  const slots = cache.view.slots;
  if (slots.length === 0) return null;
  const used = slots.filter(({ state }) => state !== 'free');
  return (
    <section class="panel tour-host" aria-labelledby="tour-host-title">
      <header>
        <h3 id="tour-host-title">Host tier</h3>
        <p class="aside">
          Ordinary memory of the machine, in slots of one page: {used.length} of {slots.length} in use
        </p>
      </header>
      <ul class="cards">
        {used.map((slot) => (
          <li
            key={slot.id}
            class={`card ${moment.marked.slots.includes(slot.id) ? 'marked' : ''}`}
            data-slot={slot.id}
            data-wrong-words={cache.slots[slot.id].wrongWords}
          >
            <SlotTile slot={slot} theme={theme} />
            <span class="of">
              <b>{slot.id}</b>
              <i>{STATES[slot.state]}</i>
            </span>
            <Bytes slot={slot} picture={cache.slots[slot.id]} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Bytes({ slot, picture: { content, words, wrongWords } }: { slot: SlotView; picture: SlotPicture }) {
  return (
    <>
      <span class="text">{content ? contentText(content) : ' '}</span>
      {words.length > 0 && <WordsStrip words={words} />}
      {wrongWords > 0 && <strong class="bad">{wrongWords} wrong words under a valid key</strong>}
      {slot.state !== 'writing' && <span class="visually-hidden">Bytes: {wordsText(words)}</span>}
    </>
  );
}
