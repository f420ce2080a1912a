/** Run, pause, step, speed, reset, and the fence. */
import type { Session, SessionState, Status } from '../run/session.ts';
import { shownLook } from '../run/shown-look.ts';
import { count } from './format.ts';

const SPEEDS: readonly { value: number; label: string }[] = [
  { value: 2, label: '2 steps a second' },
  { value: 15, label: '15 steps a second' },
  { value: 60, label: '60 steps a second' },
  { value: 300, label: '300 steps a second' },
  { value: Infinity, label: 'as fast as it goes' },
];

const STATUS: Readonly<Record<Status, string>> = {
  reading: 'Reading the trace',
  starting: 'Starting',
  ready: 'Ready',
  running: 'Running',
  paused: 'Paused',
  finished: 'Finished',
  failed: 'Failed',
  lost: 'Device lost',
};

export function Controls({ session, state }: { session: Session; state: SessionState }) {
  const { status, trace, draft, speed, moment, isPlaying } = state;
  const look = shownLook(state);
  const isPast = moment !== null;
  const isBusy = status === 'reading' || status === 'starting';
  const isRunning = status === 'running' || isPlaying;
  const isOver = status === 'finished' || status === 'failed' || status === 'lost';
  return (
    <section class="controls" aria-label="Controls">
      <div class="buttons">
        <button
          type="button"
          class="primary"
          disabled={isBusy || trace === null}
          onClick={() => (isRunning ? session.pause() : session.start())}
        >
          <Icon name={isRunning ? 'pause' : 'run'} />
          {isRunning ? 'Pause' : isOver && !isPast ? 'Run again' : 'Run'}
        </button>
        <button
          type="button"
          disabled={isBusy || (isOver && !isPast) || trace === null}
          onClick={() => session.step()}
        >
          <Icon name="step" />
          Step
        </button>
        <button
          type="button"
          disabled={status === 'reading' || trace === null}
          onClick={() => session.reset()}
        >
          <Icon name="reset" />
          Reset
        </button>
      </div>
      <label class="speed">
        <span>Speed</span>
        <select
          value={String(speed)}
          onChange={(event) => session.setSpeed(Number(event.currentTarget.value))}
        >
          {SPEEDS.map(({ value, label }) => (
            <option key={label} value={String(value)}>
              {label}
            </option>
          ))}
        </select>
      </label>
      <label class="fence" title="Switching it starts the run again">
        <input
          type="checkbox"
          role="switch"
          checked={draft.fence === 'complete'}
          onChange={(event) => session.setFence(event.currentTarget.checked ? 'complete' : 'off')}
        />
        <span>
          Fence <b>{draft.fence === 'complete' ? 'complete' : 'off'}</b>
        </span>
      </label>
      <p class="status">
        <b>{isPlaying ? 'Playing the recording' : isPast ? 'Looking back' : STATUS[status]}</b>
        {look && (
          <span>
            step {count(look.view.steps)}, request {count(look.progress.requestsDone)} of{' '}
            {count(trace?.requests.length ?? 0)}
          </span>
        )}
        {look && trace && (
          <progress
            max={trace.requests.length}
            value={look.progress.requestsDone + look.progress.requestsRefused}
            aria-label="Requests done"
          />
        )}
      </p>
    </section>
  );
}

const PATHS = {
  run: 'M4 2.5v11l9-5.5z',
  pause: 'M4 3h3v10H4zM9 3h3v10H9z',
  step: 'M3 2.5v11l7-5.5zM11 3h2v10h-2z',
  reset: 'M8 3a5 5 0 1 1-4.8 3.6l1.5.4A3.5 3.5 0 1 0 8 4.5V7L4.5 3.8 8 .8z',
} as const;

function Icon({ name }: { name: keyof typeof PATHS }) {
  return (
    <svg viewBox="0 0 16 16" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}
