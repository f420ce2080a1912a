/** The colours of the canvases, from the same custom properties that style the rest of the page. */
import { useEffect, useState } from 'preact/hooks';

const NAMES = [
  'surface',
  'ink',
  'line',
  'null',
  'cached',
  'cached-line',
  'owned',
  'owned-ink',
  'shared',
  'shared-ink',
  'loading',
  'loading-ink',
  'waiting',
  'wrong',
  'writing',
  'ready',
  'pinned',
  'owner-0',
  'owner-1',
  'owner-2',
  'owner-3',
  'owner-4',
  'owner-5',
  'owner-ink',
] as const;

export type ColourName = (typeof NAMES)[number];
export type Theme = Readonly<Record<ColourName, string>>;

export const OWNER_COLOURS = 6;

function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(
    NAMES.map((name) => [name, style.getPropertyValue(`--map-${name}`).trim()]),
  ) as Theme;
}

/** Changes with the system's preference for light or dark. */
export function useTheme(): Theme {
  const [theme, setTheme] = useState(readTheme);
  useEffect(() => {
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const update = () => setTheme(readTheme());
    dark.addEventListener('change', update);
    // Style sheets may arrive after the first drawing.
    addEventListener('load', update);
    return () => {
      dark.removeEventListener('change', update);
      removeEventListener('load', update);
    };
  }, []);
  return theme;
}
