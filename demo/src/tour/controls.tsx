/** Back, play, forward, restart, the place in the scene, and what can be chosen. */
import { PACES, type TourPlayer, type TourState } from './player.ts';

export function TourControls({ player, state }: { player: TourPlayer; state: TourState }) {
  const { status, scene, chosen, moments, at, pace } = state;
  const isReady = moments.length > 0;
  const isPlaying = status === 'playing';
  return (
    <section class="controls tour-controls" aria-label="Controls">
      <div class="buttons">
        <button type="button" disabled={!isReady || at === 0} onClick={() => player.show(at - 1)}>
          Back
        </button>
        <button
          type="button"
          class="primary"
          disabled={!isReady}
          onClick={() => (isPlaying ? player.pause() : player.play())}
        >
          {isPlaying ? 'Pause' : 'Play'}
        </button>
        <button
          type="button"
          disabled={!isReady || at === moments.length - 1}
          onClick={() => player.show(at + 1)}
        >
          Forward
        </button>
        <button type="button" disabled={!isReady} onClick={() => player.show(0)}>
          Restart
        </button>
      </div>
      <label class="scrub">
        <span class="visually-hidden">Moment</span>
        <input
          type="range"
          min={1}
          max={Math.max(1, moments.length)}
          value={at + 1}
          disabled={!isReady}
          aria-valuetext={isReady ? `${at + 1} of ${moments.length}: ${moments[at].title}` : ''}
          onInput={(event) => player.show(Number(event.currentTarget.value) - 1)}
        />
        <output>
          {isReady ? at + 1 : 0} of {moments.length}
        </output>
      </label>
      <label class="speed">
        <span>Pace</span>
        <select value={pace} onChange={(event) => player.setPace(Number(event.currentTarget.value))}>
          {PACES.map(({ label }, i) => (
            <option key={label} value={i}>
              {label}
            </option>
          ))}
        </select>
      </label>
      {scene.choices.map(({ name, label, options }) => (
        <fieldset key={`${scene.id}-${name}`} class="segmented">
          <legend>{label}</legend>
          {options.map((option) => (
            <label key={option.value}>
              <input
                type="radio"
                name={name}
                value={option.value}
                checked={chosen[name] === option.value}
                onChange={() => void player.choose(name, option.value)}
              />
              <span>{option.label}</span>
            </label>
          ))}
        </fieldset>
      ))}
    </section>
  );
}
