/** Which trace is replayed: a bundled one, or files of one's own. */
import { useRef } from 'preact/hooks';
import { SAMPLES } from '../run/load-trace.ts';
import type { Session, SessionState } from '../run/session.ts';
import { counted } from './format.ts';

export function Traces({ session, state }: { session: Session; state: SessionState }) {
  const { sample, trace } = state;
  const input = useRef<HTMLInputElement>(null);
  const chosen = SAMPLES.find(({ id }) => id === sample);
  return (
    <section class="panel traces" aria-labelledby="traces-title">
      <header>
        <h2 id="traces-title">Trace</h2>
        <fieldset class="segmented">
          <legend class="visually-hidden">Bundled traces</legend>
          {SAMPLES.map(({ id, title }) => (
            <label key={id}>
              <input
                type="radio"
                name="sample"
                value={id}
                checked={sample === id}
                onChange={() => session.chooseSample(id)}
              />
              <span>{title}</span>
            </label>
          ))}
        </fieldset>
      </header>
      <p class="about">
        {chosen
          ? chosen.about
          : trace &&
            `${trace.name}: ${counted(trace.requests.length, 'request')}, ${trace.blockTokens} tokens a page.`}
      </p>
      <div class="drop">
        <button type="button" onClick={() => input.current?.click()}>
          Open a trace file
        </button>
        <span>or drop it anywhere: Mooncake JSONL, an agent session, or the own format</span>
        <input
          ref={input}
          type="file"
          multiple
          accept=".jsonl,.json,.ndjson,.txt"
          aria-label="Trace files"
          class="visually-hidden"
          tabIndex={-1}
          onChange={(event) => {
            session.openFiles([...(event.currentTarget.files ?? [])]);
            // The same file can be chosen again.
            event.currentTarget.value = '';
          }}
        />
      </div>
    </section>
  );
}
