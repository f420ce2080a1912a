/** Every page of the pool: whose it is, what stands in it, and its bytes. */
import { EXAMPLE_PAGE, LOOK_EXAMPLES, paintPage, pageLook, type PageLook } from '../view/cells.ts';
import type { PageView } from '../../../src/index.ts';
import { Legend, type LegendItem } from '../view/legend.tsx';
import type { Theme } from '../view/theme.ts';
import { contentText, KIND_NAMES } from './groups.ts';
import type { CachePicture, Moment } from './moment.ts';
import { Names } from './names.tsx';
import { PageTile } from './tile.tsx';
import { WordsStrip, wordsText } from './words-strip.tsx';

const STATES: Readonly<Record<PageLook, string>> = {
  null: 'the null page, never given out',
  free: 'free',
  cached: 'cached',
  owned: 'held',
  shared: 'shared',
  loading: 'being loaded',
};

const MARKS: readonly {
  name: string;
  label: string;
  has: (page: PageView) => boolean;
  page: Partial<PageView>;
}[] = [
  {
    name: 'unread',
    label: 'a store still has to read it',
    has: ({ unreadBy }) => unreadBy.length > 0,
    page: { stores: [0 as never], unreadBy: [0 as never] },
  },
  {
    name: 'staged',
    label: 'read, on its way to the host',
    has: ({ stores, unreadBy }) => stores.length > unreadBy.length,
    page: { stores: [0 as never] },
  },
  {
    name: 'zeroed',
    label: 'overwritten before use in this step',
    has: ({ zeroed }) => zeroed,
    page: { zeroed: true },
  },
  {
    name: 'written',
    label: 'written in this step',
    has: ({ computed, loaded }) => computed || loaded,
    page: { computed: true },
  },
  { name: 'suspect', label: 'its bytes are wrong', has: ({ suspect }) => suspect, page: { suspect: true } },
];

export function PageList({
  moment,
  cache,
  theme,
  selected,
  onSelect,
}: {
  moment: Moment;
  cache: CachePicture;
  theme: Theme;
  selected: number | null;
  onSelect: (page: number | null) => void;
}) {
  const { pages } = cache.view;
  return (
    <section class="panel tour-pages" aria-labelledby="tour-pages-title">
      <header>
        <h3 id="tour-pages-title">Pages on the device</h3>
        <p class="aside">Press one to follow it. The bars are its bytes; a hollow one is zero.</p>
      </header>
      <ul class="cards">
        {pages.slice(1).map((page) => (
          <li key={page.id}>
            <button
              type="button"
              class={`card ${moment.marked.pages.includes(page.id) ? 'marked' : ''}`}
              data-page={page.id}
              data-state={pageLook(page)}
              aria-pressed={selected === page.id}
              onClick={() => onSelect(selected === page.id ? null : page.id)}
            >
              <span class="visually-hidden">{describe(page, cache, moment.names)}</span>
              <span class="contents" aria-hidden="true">
                <Card page={page} cache={cache} theme={theme} names={moment.names} />
              </span>
            </button>
          </li>
        ))}
      </ul>
      <Legend label="Pages by state" items={legendOf(pages, theme)} theme={theme} />
    </section>
  );
}

function Card({
  page,
  cache,
  theme,
  names,
}: {
  page: PageView;
  cache: CachePicture;
  theme: Theme;
  names: readonly string[];
}) {
  const { content, words, used } = cache.pages[page.id];
  const isOld = page.references === 0 && page.key === null;
  return (
    <>
      <PageTile page={page} theme={theme} />
      <span class="of">
        <b>{page.id}</b>
        {page.owners.length > 0 ? (
          <Names owners={page.owners} names={names} />
        ) : (
          <i>{STATES[pageLook(page)]}</i>
        )}
      </span>
      <span class={isOld ? 'text old' : 'text'}>{content ? contentText(content) : ' '}</span>
      <WordsStrip words={words} used={used} />
    </>
  );
}

function describe(page: PageView, cache: CachePicture, names: readonly string[]): string {
  const { content, words } = cache.pages[page.id];
  const parts = [`Page ${page.id}: ${STATES[pageLook(page)]}`];
  if (page.owners.length > 0) {
    parts.push(`in ${page.references} page tables: ${page.owners.map((id) => names[Number(id)]).join(', ')}`);
  }
  if (content) parts.push(`${KIND_NAMES[content.kind]}, ${contentText(content)}`);
  parts.push(wordsText(words));
  for (const { label, has } of MARKS) if (has(page)) parts.push(label);
  return parts.join('; ');
}

/** Only what there is in this picture, so that there is little to read. */
function legendOf(pages: readonly PageView[], theme: Theme): LegendItem[] {
  const item = (name: string, label: string, count: number, example: Partial<PageView>): LegendItem => ({
    name,
    label,
    about: label,
    count,
    paint: (context, box) =>
      paintPage(context, box, { page: { ...EXAMPLE_PAGE, ...example }, theme, colourBy: 'request' }),
  });
  const looks = (Object.keys(LOOK_EXAMPLES) as PageLook[])
    .filter((look) => look !== 'null')
    .map((look) =>
      item(
        look,
        look === 'cached' ? 'cached: free, but can be found' : STATES[look],
        pages.filter((page) => pageLook(page) === look).length,
        LOOK_EXAMPLES[look],
      ),
    );
  const marks = MARKS.map(({ name, label, has, page }) => item(name, label, pages.filter(has).length, page));
  return [...looks, ...marks].filter(({ count }) => count !== 0);
}
