/** The page. */
import { useCallback } from 'preact/hooks';
import type { Session, SessionState } from '../run/session.ts';
import { Controls } from './controls.tsx';
import { Counters } from './counters.tsx';
import { useDroppedFiles } from './drop-target.ts';
import { Facts } from './facts.tsx';
import { count } from './format.ts';
import { HostMap } from './host-map.tsx';
import { useMarkedPages } from './marked-pages.ts';
import { PageMap } from './page-map.tsx';
import { PlaceLine } from './place-line.tsx';
import { Requests } from './requests.tsx';
import { useSelection } from './selection.ts';
import { shownLook } from '../run/shown-look.ts';
import { SettingsForm } from './settings-form.tsx';
import { Staging } from './staging.tsx';
import { TimePanel } from './time-panel.tsx';
import { useTheme } from './theme.ts';
import { Traces } from './traces.tsx';
import { Truth } from './truth.tsx';
import { useLive } from './use-live.ts';

export function App({ session }: { session: Session }) {
  const state = useLive(session);
  const theme = useTheme();
  const selecting = useSelection();
  const isDropping = useDroppedFiles(
    useCallback((files: readonly File[]) => session.openFiles(files), [session]),
  );
  const { trace, place, applied, problem, saved, log } = state;
  const look = shownLook(state);
  const marked = useMarkedPages(log, state.moment ?? log?.length ?? 0, selecting);
  return (
    <main
      data-status={state.status}
      data-step={look?.view.steps ?? 0}
      data-moment={state.moment ?? 'live'}
      data-mismatches={look?.witness.mismatches ?? 0}
      data-worker={place?.kind ?? ''}
      data-adapter={place?.kind === 'webgpu' ? place.adapter : ''}
      data-trace={trace?.name ?? ''}
      data-runs={state.runs}
      data-fence={applied.fence}
    >
      <header class="masthead">
        <div>
          <h1>pagefence</h1>
          <p class="lead">
            A language model keeps what it has read of a prompt in a KV cache. Here the cache is cut into{' '}
            <b>pages</b> of equal size: prompts that begin alike share them, and cold ones move to host memory
            and come back. Such a copy may run late. The <b>fence</b> sees to it that no page is zeroed or
            written again while a copy still has to read it; switch it off to see what happens otherwise.
          </p>
        </div>
        <PlaceLine place={place} saved={saved} />
      </header>
      <Traces session={session} state={state} />
      <Controls session={session} state={state} />
      {problem && (
        <div class="problem" role="alert">
          <b>{problem.title}</b>
          <p>{problem.message}</p>
        </div>
      )}
      <div class="columns">
        <div class="column wide">
          <Truth look={look} trace={trace} fence={applied.fence} />
          {look && (
            <PageMap view={look.view} last={look.last} marked={marked} theme={theme} selecting={selecting} />
          )}
          {look && log && <TimePanel session={session} state={state} log={log} selecting={selecting} />}
          {look && <HostMap view={look.view} theme={theme} selecting={selecting} />}
          {look && <Counters look={look} trace={trace} />}
        </div>
        <div class="column narrow">
          <Facts log={log} look={look} trace={trace} selection={selecting.selection} />
          {look && <Requests requests={look.view.requests} trace={trace} />}
          {look && <Staging view={look.view} />}
          <SettingsForm session={session} state={state} />
        </div>
      </div>
      <p class="aside elsewhere">
        <a href="./tour.html">Tour</a>: what all this is, step by step. <a href="./text.html">Live text</a>: a
        small model writes, and every token goes into a page. <a href="./conformance.html">Conformance</a>:
        does this browser keep what the cache builds on? <a href="./bandwidth.html">Bandwidth</a>: how fast
        does it move pages?
      </p>
      <p class="visually-hidden" role="status">
        {announcement(state)}
      </p>
      {isDropping && <div class="drop-veil">Drop a trace to replay it, or a saved run to open it</div>}
    </main>
  );
}

/** Changes seldom: it is read out. */
function announcement({ status, look }: SessionState): string {
  const mismatches = look?.witness.mismatches ?? 0;
  if (status === 'finished')
    return `Finished at step ${count(look?.view.steps ?? 0)}: ${count(mismatches)} mismatches.`;
  if (status === 'running') return mismatches > 0 ? 'Running. Mismatches were found.' : 'Running.';
  return {
    reading: 'Reading the trace.',
    starting: 'Starting.',
    ready: 'Ready.',
    paused: 'Paused.',
    failed: '',
    lost: '',
  }[status];
}
