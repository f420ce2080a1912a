/** What the cells of a map mean, painted as in the map, with how many there are. */
import type { Box, Context } from './cells.ts';
import { count } from './format.ts';
import type { Theme } from './theme.ts';
import { useSquareCanvas } from './use-square-canvas.ts';

export interface LegendItem {
  readonly name: string;
  readonly label: string;
  readonly about: string;
  /** `null`: not a state that is counted. */
  readonly count: number | null;
  readonly paint: (context: Context, box: Box) => void;
}

export interface LegendProps {
  readonly label: string;
  readonly items: readonly LegendItem[];
  readonly theme: Theme;
  /** The examples are painted again when it changes, as when the theme does. */
  readonly variant?: string;
}

export function Legend({ label, items, theme, variant = '' }: LegendProps) {
  return (
    <ul class="legend" aria-label={label}>
      {items.map((item) => (
        <li key={item.name} title={item.about}>
          <Swatch paint={item.paint} theme={theme} variant={variant} />
          <span>{item.label}</span>
          {item.count !== null && <b data-legend={item.name}>{count(item.count)}</b>}
        </li>
      ))}
    </ul>
  );
}

const SWATCH_SIZE = 22;

function Swatch({
  paint,
  theme,
  variant,
}: Pick<LegendItem, 'paint'> & Required<Pick<LegendProps, 'theme' | 'variant'>>) {
  const canvas = useSquareCanvas(SWATCH_SIZE, paint, [theme, variant]);
  return <canvas ref={canvas} class="swatch" aria-hidden="true" />;
}
