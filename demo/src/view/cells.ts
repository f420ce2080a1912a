/** How pages and slots look. A state shows by colour and by pattern or glyph, so that neither is needed alone. */
import type { PageView, SlotView } from '../../../src/index.ts';
import { OWNER_COLOURS, type ColourName, type Theme } from './theme.ts';

export interface Box {
  readonly x: number;
  readonly y: number;
  readonly size: number;
}

export type Context = CanvasRenderingContext2D;

/** Whether held pages take the colour of their state or of their first owner. */
export type ColourBy = 'state' | 'request';

export type PageLook = 'null' | 'free' | 'cached' | 'owned' | 'shared' | 'loading';

/** A page that is being loaded is held by its parked request; what matters is that its bytes are on their way. */
export function pageLook(page: PageView): PageLook {
  return page.load === null ? page.state : 'loading';
}

/** From this size on a cell has room for a number, and from this one for glyphs. */
const NUMBER_SIZE = 24;
const GLYPH_SIZE = 11;

/** For legends: a free page, of which single fields are replaced. */
export const EXAMPLE_PAGE: PageView = {
  id: 0 as never,
  state: 'free',
  references: 0,
  owners: [],
  key: null,
  stores: [],
  unreadBy: [],
  load: null,
  zeroed: false,
  computed: false,
  loaded: false,
  suspect: false,
};

/** What to replace for each look. */
export const LOOK_EXAMPLES: Readonly<Record<PageLook, Partial<PageView>>> = {
  null: { state: 'null' },
  free: { state: 'free' },
  cached: { state: 'cached' },
  owned: { state: 'owned', references: 1, owners: ['0' as never] },
  shared: { state: 'shared', references: 2, owners: ['0' as never] },
  loading: { state: 'owned', references: 1, owners: ['0' as never], load: 0 as never },
};

const PAGE_LOOKS: readonly PageLook[] = ['null', 'free', 'cached', 'owned', 'shared', 'loading'];

/** Equal numbers look equal: what a cell's picture depends on, packed. */
export function pageSignature(page: PageView, colourBy: ColourBy): number {
  const flags =
    Number(page.unreadBy.length > 0) |
    (Number(page.stores.length > 0) << 1) |
    (Number(page.suspect) << 2) |
    (Number(page.zeroed) << 3) |
    (Number(page.computed || page.loaded) << 4);
  const owner = colourBy === 'request' && page.owners.length > 0 ? 1 + ownerColour(page.owners[0]) : 0;
  return (((page.references * 8 + owner) * 8 + PAGE_LOOKS.indexOf(pageLook(page))) << 5) | flags;
}

export function paintPage(
  context: Context,
  box: Box,
  options: { page: PageView; theme: Theme; colourBy: ColourBy },
): void {
  const { page, theme, colourBy } = options;
  const look = pageLook(page);
  const ink = paintGround(context, box, {
    look,
    theme,
    owner: colourBy === 'request' ? page.owners[0] : undefined,
  });
  const { size } = box;
  if (page.suspect) cross(context, box, theme);
  else if (look === 'shared') label(context, box, { text: `×${page.references}`, ink });
  else if (look === 'loading') arrow(context, box, { direction: 'down', colour: ink });
  else if (look !== 'null' && size >= NUMBER_SIZE)
    label(context, box, { text: String(page.id), ink, faint: true });
  if (page.computed || page.loaded) bar(context, box, ink);
  if (page.zeroed) dot(context, box, ink);
  if (page.stores.length > 0) storeMark(context, box, { theme, isWaiting: page.unreadBy.length > 0 });
}

/** The ground of a page; gives the colour of what is written on it. */
function paintGround(
  context: Context,
  box: Box,
  options: { look: PageLook; theme: Theme; owner: string | undefined },
): string {
  const { look, theme, owner } = options;
  switch (look) {
    case 'null':
      fill(context, box, theme.surface);
      hatch(context, box, { colour: theme.null, both: true });
      frame(context, box, theme.null);
      return theme.ink;
    case 'free':
      fill(context, box, theme.surface);
      frame(context, box, theme.line);
      return theme.ink;
    case 'cached':
      fill(context, box, theme.cached);
      hatch(context, box, { colour: theme['cached-line'] });
      frame(context, box, theme['cached-line']);
      return theme.ink;
    case 'owned':
    case 'shared':
    case 'loading': {
      if (owner === undefined) {
        fill(context, box, theme[look]);
        return theme[`${look}-ink`];
      }
      fill(context, box, theme[`owner-${ownerColour(owner)}` as ColourName]);
      return theme['owner-ink'];
    }
  }
}

const SLOT_STATES = ['free', 'writing', 'ready', 'pinned'] as const;

export function slotSignature(slot: SlotView): number {
  return (SLOT_STATES.indexOf(slot.state) << 1) | Number(slot.suspect);
}

export function paintSlot(
  context: Context,
  box: Box,
  { slot, theme }: { slot: SlotView; theme: Theme },
): void {
  switch (slot.state) {
    case 'free':
      fill(context, box, theme.surface);
      frame(context, box, theme.line);
      break;
    case 'writing':
      fill(context, box, theme.surface);
      frame(context, box, theme.writing);
      arrow(context, box, { direction: 'up', colour: theme.writing });
      break;
    case 'ready':
      fill(context, box, theme.ready);
      break;
    case 'pinned':
      fill(context, box, theme.pinned);
      if (!slot.suspect) arrow(context, box, { direction: 'down', colour: theme['loading-ink'] });
      break;
  }
  if (slot.suspect) cross(context, box, theme);
}

/** Consecutive requests get different colours; there are more requests than colours, so names are shown as well. */
export function ownerColour(id: string): number {
  return Number(id) % OWNER_COLOURS;
}

function inner({ x, y, size }: Box): Box {
  const gap = size >= 8 ? 1 : size >= 5 ? 0.5 : 0.25;
  return { x: x + gap, y: y + gap, size: size - 2 * gap };
}

function fill(context: Context, box: Box, colour: string): void {
  const { x, y, size } = inner(box);
  context.fillStyle = colour;
  context.beginPath();
  context.roundRect(x, y, size, size, size / 8);
  context.fill();
}

function frame(context: Context, box: Box, colour: string): void {
  const { x, y, size } = inner(box);
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  context.roundRect(x + 0.5, y + 0.5, size - 1, size - 1, size / 8);
  context.stroke();
}

function hatch(
  context: Context,
  box: Box,
  { colour, both = false }: { colour: string; both?: boolean },
): void {
  const { x, y, size } = inner(box);
  const pitch = Math.max(3, size / 5);
  context.save();
  context.beginPath();
  context.rect(x, y, size, size);
  context.clip();
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.beginPath();
  for (let offset = pitch; offset < 2 * size; offset += pitch) {
    context.moveTo(x + offset, y);
    context.lineTo(x + offset - size, y + size);
    if (!both) continue;
    context.moveTo(x + size - offset, y);
    context.lineTo(x + 2 * size - offset, y + size);
  }
  context.stroke();
  context.restore();
}

function label(
  context: Context,
  box: Box,
  { text, ink, faint = false }: { text: string; ink: string; faint?: boolean },
): void {
  if (box.size < (faint ? NUMBER_SIZE : 15)) return;
  const pixels = faint ? Math.min(12, box.size * 0.34) : Math.min(15, box.size * 0.42);
  context.fillStyle = ink;
  context.font = `${faint ? 400 : 700} ${pixels}px system-ui, sans-serif`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.fillText(text, box.x + box.size / 2, box.y + box.size / 2 + 0.5);
}

function arrow(
  context: Context,
  box: Box,
  { direction, colour }: { direction: 'up' | 'down'; colour: string },
): void {
  const { x, y, size } = inner(box);
  if (size < GLYPH_SIZE - 4) return;
  const half = size * 0.24;
  const middle = x + size / 2;
  const centre = y + size / 2;
  const tip = direction === 'down' ? centre + half : centre - half;
  const tail = direction === 'down' ? centre - half : centre + half;
  context.strokeStyle = colour;
  context.lineWidth = Math.max(1.5, size / 12);
  context.beginPath();
  context.moveTo(middle, tail);
  context.lineTo(middle, tip);
  context.moveTo(middle - half, centre);
  context.lineTo(middle, tip);
  context.lineTo(middle + half, centre);
  context.stroke();
}

/** Rows were written in the last step. */
function bar(context: Context, box: Box, colour: string): void {
  const { x, y, size } = inner(box);
  if (size < GLYPH_SIZE - 2) return;
  context.fillStyle = colour;
  context.fillRect(x + size * 0.18, y + size * 0.84, size * 0.64, Math.max(1.5, size * 0.07));
}

/** Zeroed in the last step: a nought. */
function dot(context: Context, box: Box, colour: string): void {
  const { x, y, size } = inner(box);
  if (size < GLYPH_SIZE) return;
  context.strokeStyle = colour;
  context.lineWidth = Math.max(1, size / 22);
  context.beginPath();
  context.ellipse(x + size * 0.2, y + size * 0.24, size * 0.09, size * 0.14, 0, 0, 2 * Math.PI);
  context.stroke();
}

/** A corner: full while the store still has to read the page, an outline once it has. */
function storeMark(
  context: Context,
  box: Box,
  { theme, isWaiting }: { theme: Theme; isWaiting: boolean },
): void {
  const { x, y, size } = inner(box);
  const leg = Math.max(3, size * 0.42);
  context.beginPath();
  context.moveTo(x + size - leg, y);
  context.lineTo(x + size, y);
  context.lineTo(x + size, y + leg);
  context.closePath();
  context.fillStyle = isWaiting ? theme.waiting : theme.surface;
  context.fill();
  context.strokeStyle = isWaiting ? theme.surface : theme.waiting;
  context.lineWidth = size >= 16 ? 1.25 : 0.75;
  context.stroke();
}

function cross(context: Context, box: Box, theme: Theme): void {
  const { x, y, size } = inner(box);
  const inset = size * 0.24;
  const lines = () => {
    context.beginPath();
    context.moveTo(x + inset, y + inset);
    context.lineTo(x + size - inset, y + size - inset);
    context.moveTo(x + size - inset, y + inset);
    context.lineTo(x + inset, y + size - inset);
    context.stroke();
  };
  context.strokeStyle = theme.surface;
  context.lineWidth = Math.max(3, size / 5);
  lines();
  context.strokeStyle = theme.wrong;
  context.lineWidth = Math.max(1.5, size / 9);
  lines();
  context.lineWidth = Math.max(1.5, size / 14);
  context.strokeRect(x + 1, y + 1, size - 2, size - 2);
}
