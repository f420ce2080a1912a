/** Mismatches: what the witness found, what it means, and what the last step did. */
import type { Look } from '../run/look.ts';
import type { LoadedTrace } from '../run/load-trace.ts';
import type { RunSettings } from '../run/settings.ts';
import { count, counted } from './format.ts';
import { lastStep } from './last-step.ts';

export function Truth(props: { look: Look | null; trace: LoadedTrace | null; fence: RunSettings['fence'] }) {
  const { look, trace, fence } = props;
  const mismatches = look?.witness.mismatches ?? 0;
  const checked = look?.witness.checkedWords ?? 0;
  return (
    <section class={`panel truth ${mismatches > 0 ? 'bad' : 'good'}`} aria-labelledby="truth-title">
      <div class="figure">
        <b data-mismatches={mismatches}>{count(mismatches)}</b>
        <h2 id="truth-title">{mismatches === 1 ? 'mismatch' : 'mismatches'}</h2>
        <small>in {count(checked)} words read</small>
      </div>
      <div class="story">
        <p>{explain({ mismatches, checked, fence, exposedPages: look?.exposedPages ?? 0 })}</p>
        <p class="last-step">
          <b>Last step</b> {lastStep(look, trace)}
        </p>
      </div>
    </section>
  );
}

function explain(facts: {
  mismatches: number;
  checked: number;
  fence: RunSettings['fence'];
  exposedPages: number;
}): string {
  const { mismatches, checked, fence, exposedPages } = facts;
  if (mismatches > 0) {
    return (
      'Requests read 4-byte words that are not what their prompts require. ' +
      `${counted(exposedPages, 'page')} had been zeroed or rewritten while a store still had to read them, so other ` +
      'bytes went to the host under a valid key and came back on a hit. A model would have answered from them: no ' +
      'crash, no error, wrong answers.'
    );
  }
  const rule =
    'Each page is filled with a pattern that follows from its prompt, and every word a request reads is checked against it.';
  if (checked === 0) return `${rule} A mismatch is one word that is not what it must be.`;
  if (fence === 'off') {
    return exposedPages > 0
      ? `${rule} ${counted(exposedPages, 'page')} were written while a store still had to read them. The damage shows once one of them comes back from the host.`
      : `${rule} The fence is off, but nothing has gone wrong so far.`;
  }
  return `${rule} With the fence, a page that a store still has to read is copied before anybody writes it.`;
}
