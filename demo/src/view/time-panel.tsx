/** The time line: any moment of the run, back and forth; bookmarks, a link, and the run as a file. */
import { useRef, useState } from 'preact/hooks';
import type { RunLog } from '../../../src/index.ts';
import type { Counted } from '../run/look.ts';
import type { Session, SessionState } from '../run/session.ts';
import { count, counted } from './format.ts';
import { JobBars } from './job-bars.tsx';
import { Phases } from './phases.tsx';
import type { Selecting } from './selection.ts';

/** Steps that Page Up and Page Down go. */
const PAGE_STEPS = 10;

export function TimePanel(props: {
  session: Session;
  state: SessionState;
  log: RunLog<Counted>;
  selecting: Selecting;
}) {
  const { session, state, log, selecting } = props;
  const { bookmarks, moment, trace } = state;
  const at = moment ?? log.length;
  const isLive = moment === null;
  return (
    <section class="panel time" aria-labelledby="time-title">
      <header>
        <h2 id="time-title">Time</h2>
        <p class="aside">
          {isLive
            ? `${state.saved ? 'The end' : 'The present'}: ${counted(log.length, 'step')} recorded`
            : `After step ${count(at - 1)} of ${count(log.length)}, computed from the recording`.replace(
                'step -1 of',
                'no step of',
              )}
        </p>
      </header>
      <div class="scrub">
        <button
          type="button"
          aria-label="One step back"
          disabled={at === 0}
          onClick={() => session.scrubTo(at - 1)}
        >
          ◀
        </button>
        <div class="slider">
          <input
            type="range"
            min={0}
            max={log.length}
            step={1}
            value={at}
            aria-label="Moment"
            aria-valuetext={`after ${counted(at, 'step')} of ${count(log.length)}`}
            onKeyDown={(event) => {
              // Browsers jump by a tenth of all, which is nothing to count with.
              const jump = { PageUp: PAGE_STEPS, PageDown: -PAGE_STEPS }[event.key];
              if (jump === undefined) return;
              event.preventDefault();
              session.scrubTo(at + jump);
            }}
            onInput={(event) => session.scrubTo(Number(event.currentTarget.value))}
          />
          <Marks bookmarks={bookmarks} end={log.length} />
        </div>
        <button
          type="button"
          aria-label="One step on"
          disabled={isLive}
          onClick={() => session.scrubTo(at + 1)}
        >
          ▶
        </button>
        <button
          type="button"
          class={isLive ? '' : 'primary'}
          disabled={isLive}
          onClick={() => session.goLive()}
        >
          {state.saved ? 'End' : 'Live'}
        </button>
      </div>
      <JobBars log={log} moment={at} trace={trace} selecting={selecting} />
      <Phases log={log} moment={at} trace={trace} selecting={selecting} />
      <Bookmarks session={session} bookmarks={bookmarks} at={at} end={log.length} />
      <Share session={session} state={state} />
    </section>
  );
}

/** Where bookmarks are, on the slider. */
function Marks({ bookmarks, end }: { bookmarks: readonly number[]; end: number }) {
  return (
    <svg class="marks" aria-hidden="true">
      {bookmarks.map((moment) => (
        <rect key={moment} x={`${(100 * moment) / Math.max(end, 1)}%`} width="3" height="7" />
      ))}
    </svg>
  );
}

function Bookmarks(props: { session: Session; bookmarks: readonly number[]; at: number; end: number }) {
  const { session, bookmarks, at, end } = props;
  const isMarked = bookmarks.includes(at);
  return (
    <div class="bookmarks" role="group" aria-label="Bookmarks">
      <button type="button" aria-pressed={isMarked} onClick={() => session.toggleBookmark()}>
        {isMarked ? 'Remove bookmark' : 'Bookmark this moment'}
      </button>
      {bookmarks.map((moment) => (
        <button
          key={moment}
          type="button"
          class="bookmark"
          disabled={moment > end}
          aria-label={`Go to moment ${moment}`}
          onClick={() => session.scrubTo(moment)}
        >
          {count(moment)}
        </button>
      ))}
    </div>
  );
}

function Share({ session, state }: { session: Session; state: SessionState }) {
  const input = useRef<HTMLInputElement>(null);
  const [told, setTold] = useState('');
  const copy = async () => {
    const link = session.link();
    if (link === null) return;
    history.replaceState(null, '', link);
    try {
      await navigator.clipboard.writeText(location.href);
      setTold('Link copied. It is in the address bar, too.');
    } catch {
      setTold('The link is in the address bar: copy it from there.');
    }
  };
  const save = () => {
    const file = session.save();
    if (file === null) return;
    const address = URL.createObjectURL(new Blob([file.text], { type: 'application/json' }));
    const anchor = document.createElement('a');
    anchor.href = address;
    anchor.download = file.name;
    anchor.click();
    URL.revokeObjectURL(address);
    setTold(`Saved as ${file.name}.`);
  };
  const canLink = state.sample !== null;
  return (
    <div class="share">
      <button type="button" disabled={!canLink} onClick={() => void copy()}>
        Copy link to this moment
      </button>
      <button type="button" onClick={save}>
        Save run
      </button>
      <button type="button" onClick={() => input.current?.click()}>
        Open run
      </button>
      <input
        ref={input}
        type="file"
        accept=".json"
        aria-label="Run file"
        class="visually-hidden"
        tabIndex={-1}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          if (file) void session.openRun(file);
          event.currentTarget.value = '';
        }}
      />
      <p class="aside" role="status">
        {told}
      </p>
      <p class="aside">
        {canLink
          ? 'Nothing in a run is left to chance, so a link runs it again up to the same moment. On another GPU the same pages move in the same steps; what may differ is when mismatches are read back, and transfers that a device fails.'
          : 'A link cannot carry a trace or a recording of your own; save the run instead.'}
      </p>
    </div>
  );
}
