/** Settings of the next run. */
import { useState } from 'preact/hooks';
import type { Session, SessionState } from '../run/session.ts';
import { BOUNDS, type RunSettings, type SettingName } from '../run/settings.ts';

const FIELDS: readonly { name: SettingName; label: string }[] = [
  { name: 'poolPages', label: 'Pages of the pool' },
  { name: 'hostSlots', label: 'Host slots' },
  { name: 'concurrency', label: 'Requests at once' },
  { name: 'storePagesPerStep', label: 'Pages stored a step' },
];

export function SettingsForm({ session, state }: { session: Session; state: SessionState }) {
  const { draft, applied } = state;
  const isChanged = JSON.stringify(draft) !== JSON.stringify(applied);
  return (
    <form
      class="panel settings"
      aria-labelledby="settings-title"
      onSubmit={(event) => {
        event.preventDefault();
        session.reset();
      }}
    >
      <h2 id="settings-title">Settings</h2>
      {FIELDS.map(({ name, label }) => (
        <NumberField
          key={name}
          name={name}
          label={label}
          value={draft[name]}
          onChange={(value) => session.change({ [name]: value })}
        />
      ))}
      <label>
        <span>Output tokens</span>
        <select
          name="outputTokens"
          value={String(draft.outputTokens)}
          onChange={(event) =>
            session.change({ outputTokens: event.currentTarget.value === 'trace' ? 'trace' : 1 })
          }
        >
          <option value="1">1 a request</option>
          <option value="trace">as recorded</option>
        </select>
      </label>
      <label>
        <span>Host policy</span>
        <select
          name="policy"
          value={draft.policy}
          onChange={(event) => session.change({ policy: event.currentTarget.value as RunSettings['policy'] })}
        >
          <option value="lru">LRU</option>
          <option value="arc-tier">ARC (arc-tier)</option>
        </select>
      </label>
      <label>
        <span>Worker</span>
        <select
          name="worker"
          value={draft.worker}
          onChange={(event) => session.change({ worker: event.currentTarget.value as RunSettings['worker'] })}
        >
          <option value="auto">automatic</option>
          <option value="simulated">simulated</option>
        </select>
      </label>
      <p class="apply">
        <button type="submit" class={isChanged ? 'primary' : ''} disabled={!isChanged}>
          Reset and apply
        </button>
        <span>
          {isChanged ? 'Changed; the run still has the old ones.' : 'They take effect with the next reset.'}
        </span>
      </p>
    </form>
  );
}

interface NumberFieldProps {
  readonly name: SettingName;
  readonly label: string;
  readonly value: number;
  readonly onChange: (value: number) => void;
}

/** Keeps what is being typed: a run draws the page anew many times a second. */
function NumberField({ name, label, value, onChange }: NumberFieldProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const { min, max } = BOUNDS[name];
  const settle = (text: string) => {
    setTyped(null);
    const number = Math.round(Number(text));
    if (text !== '' && Number.isFinite(number)) onChange(Math.min(max, Math.max(min, number)));
  };
  return (
    <label>
      <span>{label}</span>
      <input
        type="number"
        name={name}
        min={min}
        max={max}
        value={typed ?? value}
        onInput={(event) => setTyped(event.currentTarget.value)}
        onChange={(event) => settle(event.currentTarget.value)}
      />
    </label>
  );
}
