/** Everything about the cell that is looked at. */
import type { ComponentChildren } from 'preact';
import type { EngineView, JobSpan, PageView, RunLog, SlotView } from '../../../src/index.ts';
import type { Counted, Look } from '../run/look.ts';
import type { LoadedTrace } from '../run/load-trace.ts';
import { tellSpan } from '../time/tell-span.ts';
import { pageLook } from './cells.ts';
import { counted, requestName, shortKey } from './format.ts';
import type { Selection } from './selection.ts';

const PAGE_STATES = {
  null: 'the null page: never given out',
  free: 'free',
  cached: 'cached but free',
  owned: 'held by one request',
  shared: 'shared',
  loading: 'being loaded; its request is parked',
} as const;

const SLOT_STATES = {
  free: 'free',
  writing: 'being written; its key is not published yet',
  ready: 'ready',
  pinned: 'pinned by a load',
} as const;

const SLOT_BYTES = {
  free: 'nobody’s',
  writing: 'on their way',
  ready: 'right, as far as the log tells',
  pinned: 'right, as far as the log tells',
} as const;

type Row = readonly [term: string, value: ComponentChildren];

export function Facts(props: {
  log: RunLog<Counted> | null;
  look: Look | null;
  trace: LoadedTrace | null;
  selection: Selection | null;
}) {
  const { log, look, trace, selection } = props;
  const told =
    selection?.kind === 'job'
      ? tellJob(log?.jobs.of(selection.index as never) ?? null, trace)
      : look && selection
        ? tell(look, trace, selection)
        : null;
  return (
    <section class="panel facts" aria-labelledby="facts-title">
      <h2 id="facts-title">{told?.title ?? 'Page facts'}</h2>
      {told === null ? (
        <p class="empty">
          Point at a page or a slot, or move through the map with the arrow keys, to see who holds it, which
          key it carries and what still reads it. A press keeps it in view.
        </p>
      ) : (
        <dl>
          {told.rows.map(([term, value]) => (
            <div key={term}>
              <dt>{term}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      )}
      {/* Spoken for moves by key only: a run that changes the page many times a second would never stop talking. */}
      <p class="visually-hidden" aria-live="polite">
        {told !== null && selection?.byKey === true && `${told.title}: ${told.summary}`}
      </p>
    </section>
  );
}

interface Told {
  readonly title: string;
  readonly summary: string;
  readonly rows: readonly Row[];
}

function tell(look: Look, trace: LoadedTrace | null, { kind, index }: Selection): Told | null {
  if (kind === 'page') {
    const page = look.view.pages[index];
    return page ? tellPage(page, look, trace) : null;
  }
  const slot = look.view.slots[index];
  return slot ? tellSlot(slot, look.view) : null;
}

function tellJob(span: JobSpan | null, trace: LoadedTrace | null): Told | null {
  if (span === null) return null;
  const { job, kind, request, pages, slots, decided, released, flushed, complete, ok } = span;
  const rows: Row[] = [
    ['Kind', kind === 'store' ? 'store, to the host' : 'load, from the host'],
    ['Request', request === null ? 'not known' : requestName(trace, request)],
    ['Pages', pages.join(', ')],
    ['Slots', slots.join(', ')],
    ['Decided', `step ${decided}`],
  ];
  if (kind === 'store') {
    const how = flushed ? ', by the fence' : '';
    rows.push(['Released', released === null ? 'not in this recording' : `step ${released}${how}`]);
  }
  const end = complete === null ? 'not in this recording' : `step ${complete}`;
  rows.push([ok ? 'Complete' : 'Failed', end]);
  return { title: `Job ${job}`, rows, summary: tellSpan(span, trace) };
}

function tellPage(page: PageView, look: Look, trace: LoadedTrace | null): Told {
  const state = PAGE_STATES[pageLook(page)];
  const inStep = [
    page.zeroed && 'zeroed',
    page.computed && 'written by the forward pass',
    page.loaded && 'written by a load',
  ].filter((part) => part !== false);
  const found = look.witness.pages.filter((report) => report.page === page.id);
  const slot = page.key === null ? undefined : look.view.slots.find(({ key }) => key === page.key);
  const rows: Row[] = [
    ['State', state],
    ['References', page.references],
    [
      'Requests',
      page.owners.length === 0 ? 'none' : page.owners.map((id) => requestName(trace, id)).join(', '),
    ],
    ['Key', <Key value={page.key} />],
    ['On the host', slot === undefined ? 'no' : `slot ${slot.id}, ${SLOT_STATES[slot.state]}`],
    ['Stores', storesOf(page)],
    ['Last step', inStep.length === 0 ? 'nothing' : inStep.join(', ')],
    ['Bytes', bytesOf(page)],
  ];
  if (found.length > 0)
    rows.push(['Mismatches', `found in step ${found.map(({ step }) => step).join(', ')}`]);
  return { title: `Page ${page.id}`, rows, summary: `${state}, ${counted(page.references, 'reference')}` };
}

function bytesOf({ suspect, state }: PageView): string {
  if (suspect) return 'not to be trusted: loaded from a slot that was stored too late';
  if (state === 'null') return 'never used';
  return state === 'free' ? 'what its last owner left' : 'right, as far as the log tells';
}

function storesOf({ stores, unreadBy }: PageView): string {
  if (stores.length === 0) return 'none pending';
  if (unreadBy.length === 0) return `job ${stores.join(', ')}: read, on its way`;
  return `job ${unreadBy.join(', ')} still has to read it`;
}

function tellSlot(slot: SlotView, view: EngineView): Told {
  const state = SLOT_STATES[slot.state];
  const page = slot.key === null ? undefined : view.pages.find(({ key }) => key === slot.key);
  return {
    title: `Slot ${slot.id}`,
    summary: state,
    rows: [
      ['State', state],
      ['Key', <Key value={slot.key} />],
      ['Loads', slot.readers === 0 ? 'none reads it' : counted(slot.readers, 'load')],
      ['On the device', page === undefined ? 'no' : `page ${page.id}`],
      [
        'Bytes',
        slot.suspect ? 'not to be trusted: its page was written before it was read' : SLOT_BYTES[slot.state],
      ],
    ],
  };
}

function Key({ value }: { value: string | null }) {
  return value === null ? <>none</> : <code title={value}>{shortKey(value)}</code>;
}
