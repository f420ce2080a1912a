/** A grid of cells that can be pointed at, and walked through with the arrow keys. */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import type { Box, Context } from './cells.ts';
import { CellGrid } from './cell-grid.ts';
import type { Theme } from './theme.ts';

/** `hover` is passing, the other two are meant to last. */
export type PickedBy = 'hover' | 'press' | 'key';

export interface CellMapProps {
  readonly label: string;
  readonly count: number;
  readonly heightMax: number;
  readonly signature: (index: number) => number;
  readonly paint: (context: Context, box: Box, index: number) => void;
  readonly theme: Theme;
  /** Redraws everything when it changes, as the theme does. */
  readonly variant?: string;
  readonly selected: number | null;
  /** Ringed as well. */
  readonly marked?: ReadonlySet<number>;
  /** Tells where cells are drawn. */
  readonly gridRef?: { current: CellGrid | null };
  readonly onPick: (index: number | null, how: PickedBy) => void;
}

const NOTHING: ReadonlySet<number> = new Set();

export function CellMap(props: CellMapProps) {
  const { count, theme, variant = '', selected } = props;
  const canvas = useRef<HTMLCanvasElement>(null);
  const grid = useRef<CellGrid | null>(null);
  const epoch = useRef({ theme, variant });
  if (epoch.current.theme !== theme || epoch.current.variant !== variant) epoch.current = { theme, variant };

  useLayoutEffect(() => {
    grid.current ??= new CellGrid(canvas.current!, { heightMax: props.heightMax });
    if (props.gridRef) props.gridRef.current = grid.current;
    const { signature, paint } = props;
    grid.current.draw({
      count,
      signature,
      paint,
      epoch: epoch.current,
      selected,
      marked: props.marked ?? NOTHING,
      ink: theme.ink,
      surface: theme.surface,
    });
  });

  useEffect(() => {
    const box = canvas.current!.parentElement!;
    let width = box.clientWidth;
    const observer = new ResizeObserver(() => {
      if (box.clientWidth === width) return;
      width = box.clientWidth;
      grid.current?.resize(width);
    });
    observer.observe(box);
    return () => observer.disconnect();
  }, []);

  const pick = (event: PointerEvent, how: PickedBy) => {
    const area = canvas.current!.getBoundingClientRect();
    props.onPick(grid.current!.indexAt(event.clientX - area.left, event.clientY - area.top), how);
  };
  const walk = (event: KeyboardEvent) => {
    const next = target(event.key, { from: selected, count, columns: grid.current!.columns });
    if (next === undefined) return;
    event.preventDefault();
    props.onPick(next, 'key');
  };
  return (
    <div class="cell-map">
      <canvas
        ref={canvas}
        tabIndex={0}
        role="application"
        aria-roledescription="map of cells"
        aria-label={`${props.label}. Use the arrow keys to look at one after the other.`}
        onPointerMove={(event) => pick(event, 'hover')}
        onPointerDown={(event) => pick(event, 'press')}
        onPointerLeave={() => props.onPick(null, 'hover')}
        onKeyDown={walk}
      />
    </div>
  );
}

/** Where a key leads: an index, `null` for nowhere, `undefined` for a key that means nothing here. */
function target(
  key: string,
  { from, count, columns }: { from: number | null; count: number; columns: number },
): number | null | undefined {
  if (key === 'Escape') return from === null ? undefined : null;
  const moves: Record<string, number> = {
    ArrowLeft: -1,
    ArrowRight: 1,
    ArrowUp: -columns,
    ArrowDown: columns,
  };
  if (key === 'Home') return 0;
  if (key === 'End') return count - 1;
  if (!(key in moves)) return undefined;
  // Nothing is selected, or what was selected in a larger pool.
  if (from === null || from >= count) return 0;
  const next = from + moves[key];
  return next >= 0 && next < count ? next : from;
}
