/** Transfers as bars on a line of steps: decided, released, complete. */
import { useRef } from 'preact/hooks';
import type { JobSpan, RunLog } from '../../../src/index.ts';
import type { LoadedTrace } from '../run/load-trace.ts';
import type { Counted } from '../run/look.ts';
import { tellSpan } from '../time/tell-span.ts';
import { counted } from './format.ts';
import type { Selecting } from './selection.ts';

/** Steps that are in sight, and rows of bars. */
const STEPS = 48;
const ROWS_MAX = 9;
const ROW = 16;

export function JobBars(props: {
  log: RunLog<Counted>;
  moment: number;
  trace: LoadedTrace | null;
  selecting: Selecting;
}) {
  const { log, moment, trace, selecting } = props;
  const { selection, pick } = selecting;
  const svg = useRef<SVGSVGElement>(null);
  const first = Math.max(0, Math.min(moment - STEPS / 2, log.length - STEPS));
  const { bars, hidden } = packed(log.jobs.all, { first, end: first + STEPS, now: log.length });
  const x = (step: number) => `${(100 * Math.min(Math.max(step - first, 0), STEPS)) / STEPS}%`;
  const width = (from: number, to: number) => {
    const inside = Math.min(to, first + STEPS) - Math.max(from, first);
    return `${Math.max(0, (100 * inside) / STEPS)}%`;
  };
  const picked = selection?.kind === 'job' ? selection.index : null;
  const readers = selection?.kind === 'page' ? selection.index : null;
  const stop = bars.some(({ span }) => span.job === picked) ? picked : bars[0]?.span.job;
  const walk = (event: KeyboardEvent, index: number) => {
    const move = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key] ?? 0;
    if (event.key === 'Escape') pick('job', null, 'key');
    const next = bars[index + move];
    if (move === 0 || next === undefined) return;
    event.preventDefault();
    svg.current?.querySelector<SVGElement>(`[data-job="${next.span.job}"]`)?.focus();
  };
  return (
    <figure class="job-bars">
      <figcaption class="aside">
        Transfers in steps {first} to {first + STEPS - 1}: <i class="key waits" /> decided, its pages must not
        be written, <i class="key staged" /> released, on its way to the host, <i class="key loads" /> a load.
        A dark stroke: forced out by the fence.
        {hidden > 0 && ` ${counted(hidden, 'more transfer')} in these steps.`}
      </figcaption>
      <svg ref={svg} height={ROWS_MAX * ROW} role="group" aria-label="Transfers by step">
        <rect class="now" x={x(moment)} y="0" width="2" height="100%" />
        {bars.map(({ span, row }, index) => {
          const { job, kind, decided, released, complete, flushed, ok } = span;
          const end = complete === null ? log.length : complete + 0.9;
          const turn =
            kind === 'load' ? decided + 0.2 : Math.min(released === null ? end : released + 0.5, end);
          const y = row * ROW + 3;
          const isMarked = job === picked || (readers !== null && span.pages.includes(readers as never));
          return (
            <g
              key={job}
              data-job={job}
              class={`bar ${kind} ${ok ? '' : 'failed'} ${isMarked ? 'marked' : ''}`}
              role="button"
              tabIndex={job === stop ? 0 : -1}
              aria-label={tellSpan(span, trace)}
              onPointerEnter={() => pick('job', job, 'hover')}
              onPointerLeave={() => pick('job', null, 'hover')}
              onClick={() => pick('job', job, 'press')}
              onFocus={(event) => {
                if ((event.currentTarget as SVGElement).matches(':focus-visible')) pick('job', job, 'key');
              }}
              onKeyDown={(event) => walk(event, index)}
            >
              <title>{tellSpan(span, trace)}</title>
              {kind === 'store' && (
                <rect
                  class="waits"
                  x={x(decided + 0.2)}
                  y={y}
                  width={width(decided + 0.2, turn)}
                  height={ROW - 6}
                />
              )}
              <rect class="staged" x={x(turn)} y={y} width={width(turn, end)} height={ROW - 6} />
              {flushed && <rect class="flushed" x={x(turn)} y={y - 2} width="3" height={ROW - 2} />}
            </g>
          );
        })}
        {/* What came later than the moment that is shown. */}
        <rect class="later" x={x(moment)} y="0" width={width(moment, first + STEPS)} height="100%" />
      </svg>
    </figure>
  );
}

interface Bar {
  readonly span: JobSpan;
  readonly row: number;
}

/** Each bar in the first row that has room for it. */
function packed(
  spans: readonly JobSpan[],
  { first, end, now }: { first: number; end: number; now: number },
): { bars: readonly Bar[]; hidden: number } {
  const free: number[] = [];
  const bars: Bar[] = [];
  let hidden = 0;
  for (const span of spans) {
    if (span.decided >= end) break;
    const until = (span.complete ?? now) + 1;
    if (until <= first) continue;
    let row = free.findIndex((from) => from <= span.decided);
    if (row < 0) row = free.length;
    if (row >= ROWS_MAX) {
      hidden += 1;
      continue;
    }
    free[row] = until;
    bars.push({ span, row });
  }
  return { bars, hidden };
}
