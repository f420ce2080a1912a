/** What stands in the page that is looked at. */
import type { PageView } from '../../../src/index.ts';
import { pageLook } from '../view/cells.ts';
import { shortKey } from '../view/format.ts';
import type { Selection } from '../view/selection.ts';
import type { LiveState } from './live-text.ts';

const STATES = {
  null: 'the null page: never given out',
  free: 'free',
  cached: 'cached but free',
  owned: 'held by one text',
  shared: 'shared',
  loading: 'coming from the host',
} as const;

const KINDS: Readonly<Record<string, string>> = {
  'full-attention': 'full attention',
  'sliding-window': 'sliding window of 64 tokens',
};

export function TextFacts({ state, selection }: { state: LiveState; selection: Selection | null }) {
  const page = selection?.kind === 'page' ? state.view?.pages[selection.index] : undefined;
  return (
    <section class="panel facts" aria-labelledby="text-facts-title">
      <h2 id="text-facts-title">{page ? `Page ${page.id}` : 'Page facts'}</h2>
      {page ? (
        <Told page={page} state={state} />
      ) : (
        <p class="empty">
          Point at a page, or move through the map with the arrow keys, to read the text whose keys and values
          it holds. A press keeps it in view.
        </p>
      )}
      <p class="visually-hidden" aria-live="polite">
        {page && selection?.byKey === true && `Page ${page.id}: ${STATES[pageLook(page)]}`}
      </p>
    </section>
  );
}

function Told({ page, state }: { page: PageView; state: LiveState }) {
  const content = state.contents.get(page.id);
  const isEmpty = page.state === 'free' || page.state === 'null' || content === undefined;
  const rows: [string, string][] = [['State', STATES[pageLook(page)]]];
  if (!isEmpty) {
    rows.push(
      ['Layers', KINDS[content.kind] ?? content.kind],
      ['Tokens', `${content.rows} of ${content.rowsMax}, from token ${content.firstToken} on`],
    );
  }
  const holders = page.owners.map((id) => state.writings.findIndex((one) => one.id === id) + 1);
  if (holders.length > 0) rows.push(['Texts', holders.join(', ')]);
  rows.push(['Key', page.key === null ? 'none: it is not full' : shortKey(page.key)]);
  return (
    <>
      {!isEmpty && <blockquote class="page-text">{content.text}</blockquote>}
      <dl>
        {rows.map(([term, value]) => (
          <div key={term}>
            <dt>{term}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}
