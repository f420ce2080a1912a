/** Requests that are not finished, in the colours of the map. */
import type { RequestView } from '../../../src/index.ts';
import type { LoadedTrace } from '../run/load-trace.ts';
import { ownerColour } from './cells.ts';
import { count, counted, requestName } from './format.ts';

const SHOWN_MAX = 8;

const STATUS: Readonly<Record<RequestView['status'], string>> = {
  waiting: 'waits for pages',
  parked: 'parked: its pages are being loaded',
  loaded: 'loaded, runs next',
  running: 'runs',
  preempted: 'preempted, waits',
  finished: 'finished',
};

export function Requests({
  requests,
  trace,
}: {
  requests: readonly RequestView[];
  trace: LoadedTrace | null;
}) {
  return (
    <section class="panel requests" aria-labelledby="requests-title">
      <h2 id="requests-title">Requests</h2>
      {requests.length === 0 && <p class="empty">None is under way.</p>}
      <ul>
        {requests.slice(0, SHOWN_MAX).map((request) => (
          <li key={request.id}>
            <i class={`chip owner-${ownerColour(request.id)}`} aria-hidden="true" />
            <b>{requestName(trace, request.id)}</b>
            <span>
              {STATUS[request.status]}; {count(request.computedTokens)} of {counted(request.tokens, 'token')}{' '}
              in {counted(request.pages.length, 'page')}
            </span>
          </li>
        ))}
      </ul>
      {requests.length > SHOWN_MAX && <p class="aside">and {count(requests.length - SHOWN_MAX)} more</p>}
    </section>
  );
}
