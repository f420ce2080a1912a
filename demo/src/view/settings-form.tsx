/** Settings of the next run. */
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
  const clamp = (name: SettingName, text: string) => {
    const value = Math.round(Number(text));
    const { min, max } = BOUNDS[name];
    return text === '' || !Number.isFinite(value) ? draft[name] : Math.min(max, Math.max(min, value));
  };
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
        <label key={name}>
          <span>{label}</span>
          <input
            type="number"
            name={name}
            min={BOUNDS[name].min}
            max={BOUNDS[name].max}
            value={draft[name]}
            onChange={(event) => {
              const value = clamp(name, event.currentTarget.value);
              event.currentTarget.value = String(value);
              session.change({ [name]: value });
            }}
          />
        </label>
      ))}
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
          <option value="auto">WebGPU, or simulated</option>
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
