/** Sizes of the cache, and how texts are written. */
import { useState } from 'preact/hooks';
import type { LiveText, TextSettings } from './live-text.ts';

const FIELDS: readonly {
  name: keyof TextSettings;
  label: string;
  min: number;
  max: number;
  step?: number;
}[] = [
  { name: 'tokensPerPage', label: 'Tokens a page', min: 1, max: 64 },
  { name: 'poolPages', label: 'Pages of the pool', min: 8, max: 1024 },
  { name: 'hostSlots', label: 'Host slots', min: 0, max: 4096 },
  { name: 'maxTokens', label: 'Tokens to write', min: 1, max: 200 },
  { name: 'temperature', label: 'Temperature', min: 0, max: 2, step: 0.1 },
];

export function TextSettingsForm({ live }: { live: LiveText }) {
  const [draft, setDraft] = useState(live.state.settings);
  const isBusy = live.state.status !== 'ready' && live.state.status !== 'failed';
  return (
    <form
      class="panel settings"
      aria-labelledby="text-settings-title"
      onSubmit={(event) => {
        event.preventDefault();
        void live.apply(draft);
      }}
    >
      <h2 id="text-settings-title">Settings</h2>
      {FIELDS.map(({ name, label, min, max, step = 1 }) => (
        <label key={name}>
          <span>{label}</span>
          <input
            type="number"
            name={name}
            min={min}
            max={max}
            step={step}
            required
            value={draft[name]}
            onInput={(event) => setDraft({ ...draft, [name]: Number(event.currentTarget.value) })}
          />
        </label>
      ))}
      <div class="apply">
        <button type="submit" disabled={isBusy}>
          Apply
        </button>
        <span>Other sizes begin with an empty cache.</span>
      </div>
    </form>
  );
}
