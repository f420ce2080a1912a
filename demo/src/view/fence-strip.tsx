/** The fence as what it is: from each page that a store still has to read, an edge to that store. */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { EngineView, RecordedStep } from '../../../src/index.ts';
import type { CellGrid } from './cell-grid.ts';
import type { Selecting } from './selection.ts';
import type { Theme } from './theme.ts';

const CHIP_WIDTH = 92;
/** More would be a grey cloud. */
const EDGES_MAX = 240;

interface Reader {
  readonly job: number;
  readonly pages: readonly number[];
  /** Released in the last step by the fence: dashed edges to the pages that were claimed. */
  readonly isFlushed: boolean;
}

/** Stores that still have to read a page, and those that the last step flushed. */
export function fenceReaders(view: EngineView, last: RecordedStep | null): Reader[] {
  const flushed = new Set<number>(last?.outcome.flushed);
  const pagesOf = new Map<number, number[]>();
  for (const { id, unreadBy } of view.pages) {
    for (const job of unreadBy) pagesOf.set(job, [...(pagesOf.get(job) ?? []), id]);
  }
  const released = view.jobs
    .filter(({ id }) => flushed.has(id) && !pagesOf.has(id))
    .map(({ id, pages }) => ({ job: id, pages, isFlushed: true }));
  const waiting = [...pagesOf].sort(([a], [b]) => a - b);
  return [...released, ...waiting.map(([job, pages]) => ({ job, pages, isFlushed: false }))];
}

function isPointedAt(selection: Selecting['selection'], job: number, pages: readonly number[]): boolean {
  if (selection === null) return false;
  const { kind, index } = selection;
  return (kind === 'job' && index === job) || (kind === 'page' && pages.includes(index));
}

export function FenceStage(props: {
  view: EngineView;
  last: RecordedStep | null;
  theme: Theme;
  selecting: Selecting;
  grid: { readonly current: CellGrid | null };
  children: ComponentChildren;
}) {
  const { view, last, theme, selecting, grid, children } = props;
  const { selection, pick } = selecting;
  const stage = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const strip = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(800);
  const all = fenceReaders(view, last);
  const readers = all.slice(0, Math.max(1, Math.floor(width / CHIP_WIDTH) - 1));

  useEffect(() => {
    const observer = new ResizeObserver(() => setWidth(stage.current!.clientWidth));
    observer.observe(stage.current!);
    return () => observer.disconnect();
  }, []);

  useLayoutEffect(() => {
    const { clientWidth, clientHeight } = stage.current!;
    const scale = window.devicePixelRatio || 1;
    canvas.current!.width = Math.round(clientWidth * scale);
    canvas.current!.height = Math.round(clientHeight * scale);
    const context = canvas.current!.getContext('2d')!;
    context.scale(scale, scale);
    const chips = strip.current!.querySelectorAll('button');
    let edges = 0;
    // What is pointed at elsewhere has no say here.
    const isPointed = readers.some(({ job, pages }) => isPointedAt(selection, job, pages));
    for (const [index, { job, pages, isFlushed }] of readers.entries()) {
      const chip = chips[index];
      const end = { x: chip.offsetLeft + chip.offsetWidth / 2, y: chip.offsetTop };
      for (const page of pages) {
        const isMarked = !isPointed || isPointedAt(selection, job, [page]);
        edges += 1;
        if (edges > EDGES_MAX && !(isMarked && isPointed)) continue;
        const start = grid.current?.centreOf(page);
        if (!start) continue;
        context.globalAlpha = isMarked ? 1 : 0.25;
        context.lineWidth = isMarked && isPointed ? 2.5 : 1.5;
        context.setLineDash(isFlushed ? [5, 4] : []);
        for (const [colour, extra] of [
          [theme.surface, 2],
          [isFlushed ? theme.ink : theme.waiting, 0],
        ] as const) {
          context.strokeStyle = colour;
          const { lineWidth } = context;
          context.lineWidth = lineWidth + extra;
          context.beginPath();
          context.moveTo(start.x, start.y);
          context.bezierCurveTo(start.x, (start.y + end.y) / 2 + 10, end.x, end.y - 30, end.x, end.y);
          context.stroke();
          context.lineWidth = lineWidth;
        }
      }
    }
  });

  return (
    <div class="fence-stage" ref={stage}>
      {children}
      <div class="fence-strip" role="group" aria-label="Stores that the fence watches" ref={strip}>
        {readers.map(({ job, pages, isFlushed }) => (
          <button
            key={job}
            type="button"
            class={`chip-job ${isFlushed ? 'flushed' : ''}`}
            aria-pressed={selection?.kind === 'job' && selection.index === job}
            aria-label={
              isFlushed
                ? `Job ${job}: released by the fence in this step, before its pages were written`
                : `Job ${job}: still has to read ${pages.length} pages`
            }
            onPointerEnter={() => pick('job', job, 'hover')}
            onPointerLeave={() => pick('job', null, 'hover')}
            onFocus={(event) => {
              if (event.currentTarget.matches(':focus-visible')) pick('job', job, 'key');
            }}
            onClick={() => pick('job', job, 'press')}
          >
            job {job} {isFlushed ? '✓' : ''}
          </button>
        ))}
        <span class="aside">
          {all.length === 0
            ? 'No store waits: nothing to fence.'
            : all.length > readers.length && `and ${all.length - readers.length} more`}
        </span>
      </div>
      <p class="aside">
        A line leads from a page to the store that still has to read it; a dashed one to a store that the
        fence released in this step, before the page was written.
      </p>
      <canvas ref={canvas} class="fence-edges" aria-hidden="true" />
    </div>
  );
}
