/** Requests under way, each with its page tables. */
import type { RequestView } from '../../../src/index.ts';
import { ownerColour } from '../view/cells.ts';
import { counted } from '../view/format.ts';
import { KIND_NAMES } from './groups.ts';
import type { CachePicture } from './moment.ts';

const STATUS: Readonly<Record<RequestView['status'], string>> = {
  waiting: 'waits for pages',
  parked: 'parked: waits for its load',
  loaded: 'loaded, runs next',
  running: 'runs',
  preempted: 'gave way, waits',
  finished: 'finished',
};

export function RequestList({ cache, names }: { cache: CachePicture; names: readonly string[] }) {
  const { requests } = cache.view;
  return (
    <section class="panel tour-requests" aria-labelledby="tour-requests-title">
      <header>
        <h3 id="tour-requests-title">Page tables</h3>
        <p class="aside">Which pages hold a request’s text, in order. A dash: nothing is kept there.</p>
      </header>
      {requests.length === 0 && <p class="empty">No request is under way.</p>}
      <ul>
        {requests.map(({ id, status, computedTokens, tokens, tables }) => (
          <li key={id} data-request={names[Number(id)]}>
            <i class={`chip owner-${ownerColour(id)}`} aria-hidden="true" /> <b>{names[Number(id)]}</b>{' '}
            <span>
              {STATUS[status]}; {computedTokens} of {counted(tokens, 'token')}
            </span>
            {tables.map((table, group) => (
              <p key={group} class="table">
                {cache.groups.length > 1 && <span>{KIND_NAMES[cache.groups[group]]}</span>}
                {table.map((page, position) => (
                  <code key={position}>{page === 0 ? '–' : page}</code>
                ))}
              </p>
            ))}
          </li>
        ))}
      </ul>
    </section>
  );
}
