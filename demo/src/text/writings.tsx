/** The prompts, and what the model writes behind them. */
import { ownerColour } from '../view/cells.ts';
import { count } from '../view/format.ts';
import type { LiveText, Writing } from './live-text.ts';

export function Writings({ live }: { live: LiveText }) {
  const { status, writings } = live.state;
  return (
    <section class="panel writings" aria-labelledby="writings-title">
      <header>
        <h2 id="writings-title">Texts</h2>
        <p class="aside">All are written at once. Those that begin alike share pages.</p>
      </header>
      <ol>
        {writings.map((writing, i) => (
          <li key={i}>
            <label>
              <i
                class={writing.id === null ? 'chip' : `chip owner-${ownerColour(writing.id)}`}
                aria-hidden="true"
              />
              <span>Prompt {i + 1}</span>
              <input
                type="text"
                value={writing.prompt}
                maxLength={300}
                disabled={status === 'writing'}
                onInput={(event) => live.setPrompt(i, event.currentTarget.value)}
              />
            </label>
            <Output writing={writing} />
          </li>
        ))}
      </ol>
    </section>
  );
}

function Output({ writing: { prompt, id, output, result } }: { writing: Writing }) {
  if (id === null) return null;
  return (
    <>
      <p class="output" data-output>
        <span>{prompt}</span>
        {output}
      </p>
      {result && (
        <p class="aside">
          {count(result.ids.length)} tokens; of {count(result.promptIds.length)} in the prompt{' '}
          {count(result.hits.device)} found on the device, {count(result.hits.host)} in host memory
        </p>
      )}
    </>
  );
}
