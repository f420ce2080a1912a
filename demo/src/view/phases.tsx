/** The step that led to the shown moment, phase by phase. A phase that is chosen marks its pages in the pool. */
import type { RunLog } from '../../../src/index.ts';
import type { LoadedTrace } from '../run/load-trace.ts';
import type { Counted } from '../run/look.ts';
import { phasesOf } from '../time/phases.ts';
import { requestName } from './format.ts';
import type { Selecting } from './selection.ts';

export function Phases(props: {
  log: RunLog<Counted>;
  moment: number;
  trace: LoadedTrace | null;
  selecting: Selecting;
}) {
  const { log, moment, trace, selecting } = props;
  const step = moment === 0 ? null : log.step(moment - 1);
  const phases =
    step === null
      ? []
      : phasesOf(step, {
          spanOf: (job) => log.jobs.of(job as never),
          nameOf: (request) => requestName(trace, request),
        });
  const { phase, choosePhase } = selecting;
  return (
    <details class="phases">
      <summary>{step === null ? 'No step yet' : `Step ${step.plan.step} phase by phase`}</summary>
      <ol>
        {phases.map(({ name, about, told, pages }, index) => (
          <li key={name}>
            <button
              type="button"
              aria-pressed={phase === name}
              title={about}
              onClick={() => choosePhase(phase === name ? null : name)}
              onKeyDown={(event) => {
                const move = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0;
                const next = phases[index + move];
                if (move === 0 || next === undefined) return;
                event.preventDefault();
                choosePhase(next.name);
                const list = event.currentTarget.closest('ol');
                list?.querySelectorAll('button')[index + move].focus();
              }}
            >
              {name}
            </button>
            <span>{told === '' ? 'nothing' : told}</span>
            {phase === name && (
              <em>
                {about} {pages.length > 0 && 'Its pages are ringed in the pool.'}
              </em>
            )}
          </li>
        ))}
      </ol>
    </details>
  );
}
