/** Which trace is replayed: a bundled one, or files of one's own. */
import { useRef } from 'preact/hooks';
import { SAMPLES, type LoadedTrace } from '../run/load-trace.ts';
import type { Session, SessionState } from '../run/session.ts';
import type { RunSettings } from '../run/settings.ts';
import { counted } from './format.ts';

export function Traces({ session, state }: { session: Session; state: SessionState }) {
  const { sample, trace, applied } = state;
  const input = useRef<HTMLInputElement>(null);
  const chosen = SAMPLES.find(({ id }) => id === sample);
  return (
    <section class="traces" aria-label="Trace">
      <fieldset class="segmented">
        <legend>Trace</legend>
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
      <div class="drop">
        <button type="button" onClick={() => input.current?.click()}>
          Open trace files
        </button>
        <span>or drop them here: Mooncake, agent sessions, own format</span>
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
      <p class="about">{chosen ? chosen.about : trace && ownTrace(trace, applied)}</p>
    </section>
  );
}

function ownTrace({ name, requests, blockTokens }: LoadedTrace, { outputTokens }: RunSettings): string {
  const produced = outputTokens === 'trace' ? 'as many tokens as were recorded' : 'one token';
  return (
    `${name}: ${counted(requests.length, 'request')} in pages of ${counted(blockTokens, 'token')}. The settings below ` +
    `were chosen to fit it; each request produces ${produced}.`
  );
}
