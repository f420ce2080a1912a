/** The page: prompts, pages, host tier. */
import { HostMap } from '../view/host-map.tsx';
import { useSelection } from '../view/selection.ts';
import { useLive } from '../view/use-live.ts';
import { useTheme } from '../view/theme.ts';
import type { LiveState, LiveText } from './live-text.ts';
import { TextFacts } from './text-facts.tsx';
import { TextMap } from './text-map.tsx';
import { TextSettingsForm } from './text-settings.tsx';
import { Writings } from './writings.tsx';

export function TextPage({ live }: { live: LiveText }) {
  const state = useLive(live);
  const theme = useTheme();
  const selecting = useSelection();
  const { status, view, happened, problem } = state;
  return (
    <main data-status={status} data-place={state.place?.kind ?? ''} class="live-text">
      <header class="masthead">
        <div>
          <h1>Live text</h1>
          <p class="lead">
            A small language model writes in this page, and its whole memory is the{' '}
            <a href="./index.html">paged cache</a>, which the <a href="./tour.html">tour</a> explains: each
            token's keys and values go into a page. Write once, and watch pages fill. Write again: what the
            prompts had in common with earlier ones is found, not computed. Change a prompt, and pages that
            nobody finds are pushed out to host memory, and come back.
          </p>
        </div>
        <Place state={state} />
      </header>
      <section class="controls" aria-label="Write">
        <div class="buttons">
          <button
            type="button"
            class="primary"
            disabled={status !== 'ready'}
            onClick={() => void live.write()}
          >
            Write
          </button>
          <button type="button" disabled={status !== 'writing'} onClick={() => live.stop()}>
            Stop
          </button>
        </div>
        <p class="status" role="status">
          <b>{STATUS[status]}</b>
          <span>{status === 'writing' ? '' : happened}</span>
        </p>
      </section>
      {problem !== null && (
        <div class="problem" role="alert">
          <b>That did not work</b>
          <p>{problem}</p>
        </div>
      )}
      <div class="columns">
        <div class="column wide">
          <Writings live={live} />
          <TextMap state={state} theme={theme} selecting={selecting} />
          {view !== null && view.slots.length > 0 && (
            <HostMap view={view} theme={theme} selecting={selecting} />
          )}
        </div>
        <div class="column narrow">
          <TextFacts state={state} selection={selecting.selection} />
          <TextSettingsForm live={live} />
        </div>
      </div>
    </main>
  );
}

const STATUS: Readonly<Record<LiveState['status'], string>> = {
  opening: 'Loading the model…',
  ready: 'Ready',
  writing: 'Writing…',
  failed: 'Not ready',
};

function Place({ state: { place } }: { state: LiveState }) {
  if (place === null) return <p class="place">Looking for a GPU…</p>;
  return (
    <p class={`place ${place.kind === 'webgpu' ? 'webgpu' : 'simulated'}`}>
      <b>{place.kind === 'webgpu' ? 'WebGPU' : 'JavaScript'}</b> {place.about}
    </p>
  );
}
