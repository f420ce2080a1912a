/** The host tier: every slot by state. */
import type { EngineView, SlotState, SlotView } from '../../../src/index.ts';
import { CellMap } from './cell-map.tsx';
import { paintSlot, slotSignature } from './cells.ts';
import { Legend, type LegendItem } from './legend.tsx';
import type { Selecting } from './selection.ts';
import type { Theme } from './theme.ts';

const STATES: readonly { state: SlotState; label: string; about: string }[] = [
  { state: 'free', label: 'free', about: 'Holds nothing.' },
  {
    state: 'writing',
    label: 'being written',
    about: 'Reserved: its store is not complete, its key not published.',
  },
  { state: 'ready', label: 'ready', about: 'Can be hit, and can be evicted.' },
  { state: 'pinned', label: 'pinned', about: 'A load reads it: it cannot be evicted.' },
];

export function HostMap({
  view,
  theme,
  selecting,
}: {
  view: EngineView;
  theme: Theme;
  selecting: Selecting;
}) {
  const { slots, counts } = view;
  const { selection, pick } = selecting;
  const items: LegendItem[] = STATES.map(({ state, label, about }) => ({
    name: `slot-${state}`,
    label,
    about,
    count: counts.slots[state],
    paint: (context, box) => paintSlot(context, box, { slot: { ...EXAMPLE, state }, theme }),
  }));
  items.push({
    name: 'slot-suspect',
    label: 'stored too late',
    about: 'Its store read the page after somebody else had written it. The key is valid, the bytes are not.',
    count: slots.reduce((sum, { suspect }) => sum + Number(suspect), 0),
    paint: (context, box) =>
      paintSlot(context, box, { slot: { ...EXAMPLE, state: 'ready', suspect: true }, theme }),
  });
  return (
    <section class="panel host-map" aria-labelledby="host-map-title">
      <header>
        <h2 id="host-map-title">Host tier</h2>
        <p class="aside">Page-sized slots in host memory</p>
      </header>
      {slots.length === 0 ? (
        <p class="empty">Offloading is off: the host tier has no slots.</p>
      ) : (
        <CellMap
          label={`${slots.length} slots of the host tier`}
          count={slots.length}
          heightMax={170}
          theme={theme}
          signature={(index) => slotSignature(slots[index])}
          paint={(context, box, index) => paintSlot(context, box, { slot: slots[index], theme })}
          selected={selection?.kind === 'slot' ? selection.index : null}
          onPick={(index, how) => pick('slot', index, how)}
        />
      )}
      <Legend label="Slots by state" items={items} theme={theme} />
    </section>
  );
}

const EXAMPLE: SlotView = { id: 0 as never, state: 'free', key: null, readers: 0, suspect: false };
