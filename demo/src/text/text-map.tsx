/** The pool while a model writes: every page, how full it is, and what stands in it. */
import type { PageView } from '../../../src/index.ts';
import { CellMap } from '../view/cell-map.tsx';
import { EXAMPLE_PAGE, pageLook } from '../view/cells.ts';
import { counted } from '../view/format.ts';
import { Legend, type LegendItem } from '../view/legend.tsx';
import type { Selecting } from '../view/selection.ts';
import type { Theme } from '../view/theme.ts';
import type { LiveState } from './live-text.ts';
import type { PageContent } from './page-contents.ts';
import { paintTextPage, textSignature } from './paint-text-page.ts';

const HALF: PageContent = { kind: '', group: 0, text: '', rows: 5, rowsMax: 8, firstToken: 0, owner: '0' };
const FULL: PageContent = { ...HALF, rows: 8 };

interface Kind {
  readonly name: string;
  readonly label: string;
  readonly about: string;
  readonly page: Partial<PageView>;
  readonly content?: PageContent;
  readonly counts: (page: PageView, content: PageContent | undefined) => boolean;
}

const OWNED: Partial<PageView> = { state: 'owned', references: 1, owners: ['0' as never] };

const KINDS: readonly Kind[] = [
  {
    name: 'full-attention',
    label: 'full attention',
    about:
      'Keys and values of the layers that look at the whole text. It fills from below, a token at a time.',
    page: OWNED,
    content: HALF,
    counts: (page, content) => pageLook(page) === 'owned' && content?.group === 0,
  },
  {
    name: 'sliding-window',
    label: 'sliding window',
    about: 'Keys and values of the layers that look at the last 64 tokens. Older pages are given back.',
    page: OWNED,
    content: { ...HALF, group: 1 },
    counts: (page, content) => pageLook(page) === 'owned' && content?.group === 1,
  },
  {
    name: 'shared',
    label: 'shared',
    about: 'Texts that begin alike hold the same page.',
    page: { state: 'shared', references: 2, owners: ['0' as never] },
    content: FULL,
    counts: (page) => pageLook(page) === 'shared',
  },
  {
    name: 'loading',
    label: 'coming from the host',
    about: 'Its bytes are on their way; the text that holds it waits.',
    page: { ...OWNED, load: 0 as never },
    content: FULL,
    counts: (page) => pageLook(page) === 'loading',
  },
  {
    name: 'cached',
    label: 'cached but free',
    about: 'Nobody holds it. A text that begins alike finds it, and whoever needs a page may claim it.',
    page: { state: 'cached' },
    content: FULL,
    counts: (page) => pageLook(page) === 'cached',
  },
  {
    name: 'free',
    label: 'free',
    about: 'Nobody holds it, and nobody can find it.',
    page: {},
    counts: (page) => pageLook(page) === 'free',
  },
];

export function TextMap({
  state,
  theme,
  selecting,
}: {
  state: LiveState;
  theme: Theme;
  selecting: Selecting;
}) {
  const { view, contents } = state;
  if (view === null) return null;
  const { pages } = view;
  const { selection, pick } = selecting;
  const items = KINDS.map(({ name, label, about, page, content, counts }): LegendItem => {
    const cell = { page: { ...EXAMPLE_PAGE, ...page }, content };
    return {
      name,
      label,
      about,
      count: pages.filter((one) => counts(one, contents.get(one.id))).length,
      paint: (context, box) => paintTextPage(context, box, { cell, theme }),
    };
  });
  const index = selection?.kind === 'page' ? selection.index : null;
  return (
    <section class="panel page-map" aria-labelledby="text-map-title">
      <header>
        <h2 id="text-map-title">Pages on the device</h2>
        <p class="aside">
          Each holds the keys and values of {counted(state.settings.tokensPerPage, 'token')}
        </p>
      </header>
      <CellMap
        label={`${pages.length} pages of the pool`}
        count={pages.length}
        heightMax={330}
        theme={theme}
        signature={(at) => textSignature({ page: pages[at], content: contents.get(at) })}
        paint={(context, box, at) =>
          paintTextPage(context, box, { cell: { page: pages[at], content: contents.get(at) }, theme })
        }
        selected={index}
        onPick={(at, how) => pick('page', at, how)}
      />
      <Legend label="Pages by kind" items={items} theme={theme} />
    </section>
  );
}
