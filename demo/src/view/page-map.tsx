/** The pool: every page by state or by request. */
import { useRef, useState } from 'preact/hooks';
import type { EngineView, PageView, RecordedStep } from '../../../src/index.ts';
import type { CellGrid } from './cell-grid.ts';
import { CellMap } from './cell-map.tsx';
import {
  EXAMPLE_PAGE,
  LOOK_EXAMPLES,
  pageLook,
  pageSignature,
  paintPage,
  type ColourBy,
  type PageLook,
} from './cells.ts';
import { FenceStage } from './fence-strip.tsx';
import { Legend, type LegendItem } from './legend.tsx';
import type { Selecting } from './selection.ts';
import type { Theme } from './theme.ts';

const LOOKS: readonly { look: PageLook; label: string; about: string }[] = [
  { look: 'owned', label: 'held by one request', about: 'It stands in one page table.' },
  { look: 'shared', label: 'shared', about: 'It stands in several page tables: their prompts begin alike.' },
  {
    look: 'loading',
    label: 'being loaded',
    about: 'Its bytes come from the host; the request that holds it is parked.',
  },
  {
    look: 'cached',
    label: 'cached but free',
    about: 'Nobody holds it. A prompt that begins alike finds it, and whoever needs a page may claim it.',
  },
  { look: 'free', label: 'free', about: 'Nobody holds it, and nobody can find it.' },
  { look: 'null', label: 'null page', about: 'Page 0 is never given out. It fills gaps in page tables.' },
];

const MARKS: readonly { name: string; label: string; about: string; marks: Partial<PageView> }[] = [
  {
    name: 'waiting',
    label: 'a store still has to read it',
    about: 'It must not be written before that: this is what the fence sees to.',
    marks: { stores: [0 as never], unreadBy: [0 as never] },
  },
  {
    name: 'staged',
    label: 'read, on its way to the host',
    about: 'The copy is submitted: the page may be written, its key is not published yet.',
    marks: { stores: [0 as never] },
  },
  {
    name: 'zeroed',
    label: 'zeroed in this step',
    about: 'Newly claimed pages hold old bytes.',
    marks: { zeroed: true },
  },
  {
    name: 'written',
    label: 'written in this step',
    about: 'By the forward pass or by a load.',
    marks: { computed: true },
  },
  {
    name: 'suspect',
    label: 'loaded from a late store',
    about: 'It was loaded from a slot whose store read its page too late.',
    marks: { suspect: true },
  },
];

export function PageMap({
  view,
  last,
  marked,
  theme,
  selecting,
}: {
  view: EngineView;
  /** The step that led to it. */
  last: RecordedStep | null;
  /** Pages that belong to what is pointed at elsewhere. */
  marked: ReadonlySet<number>;
  theme: Theme;
  selecting: Selecting;
}) {
  const [colourBy, setColourBy] = useState<ColourBy>('state');
  const grid = useRef<CellGrid | null>(null);
  const { pages } = view;
  const { selection, pick } = selecting;
  return (
    <section class="panel page-map" aria-labelledby="page-map-title">
      <header>
        <h2 id="page-map-title">Pages on the device</h2>
        <fieldset class="segmented">
          <legend>Colour by</legend>
          {(['state', 'request'] as const).map((value) => (
            <label key={value}>
              <input
                type="radio"
                name="colour-by"
                checked={colourBy === value}
                onChange={() => setColourBy(value)}
              />
              <span>{value}</span>
            </label>
          ))}
        </fieldset>
      </header>
      <FenceStage view={view} last={last} theme={theme} selecting={selecting} grid={grid}>
        <CellMap
          label={`${pages.length} pages of the pool`}
          count={pages.length}
          heightMax={330}
          theme={theme}
          variant={colourBy}
          signature={(index) => pageSignature(pages[index], colourBy)}
          paint={(context, box, index) => paintPage(context, box, { page: pages[index], theme, colourBy })}
          marked={marked}
          gridRef={grid}
          selected={selection?.kind === 'page' ? selection.index : null}
          onPick={(index, how) => pick('page', index, how)}
        />
      </FenceStage>
      <Legend
        label="Pages by state"
        items={legendItems(pages, theme, colourBy)}
        theme={theme}
        variant={colourBy}
      />
      {colourBy === 'request' && <p class="aside">Held pages have the colour of their first request.</p>}
    </section>
  );
}

function legendItems(pages: readonly PageView[], theme: Theme, colourBy: ColourBy): LegendItem[] {
  const counts = new Map<PageLook, number>();
  const marked = { waiting: 0, staged: 0, zeroed: 0, written: 0, suspect: 0 };
  for (const page of pages) {
    counts.set(pageLook(page), (counts.get(pageLook(page)) ?? 0) + 1);
    marked.waiting += Number(page.unreadBy.length > 0);
    marked.staged += Number(page.stores.length > page.unreadBy.length);
    marked.zeroed += Number(page.zeroed);
    marked.written += Number(page.computed || page.loaded);
    marked.suspect += Number(page.suspect);
  }
  const paint =
    (marks: Partial<PageView>): LegendItem['paint'] =>
    (context, box) =>
      paintPage(context, box, { page: { ...EXAMPLE_PAGE, ...marks }, theme, colourBy });
  return [
    ...LOOKS.map(({ look, label, about }) => ({
      name: look,
      label,
      about,
      count: counts.get(look) ?? 0,
      paint: paint(LOOK_EXAMPLES[look]),
    })),
    ...MARKS.map(({ name, label, about, marks }) => ({
      name,
      label,
      about,
      count: marked[name as keyof typeof marked],
      paint: paint({ state: 'free', ...marks }),
    })),
  ];
}
