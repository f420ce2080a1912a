/** A page of the cache as a vessel: how full it is, whose it is, and for which layers. */
import type { PageView } from '../../../src/index.ts';
import { ownerColour, pageLook, type Box, type Context } from '../view/cells.ts';
import type { ColourName, Theme } from '../view/theme.ts';
import type { PageContent } from './page-contents.ts';

export interface TextCell {
  readonly page: PageView;
  readonly content: PageContent | undefined;
}

const LOOKS = ['null', 'free', 'cached', 'owned', 'shared', 'loading'] as const;

/** Equal numbers look equal. */
export function textSignature({ page, content }: TextCell): number {
  const owner = page.owners.length > 0 ? 1 + ownerColour(page.owners[0]) : 0;
  const rows = content ? Math.round((16 * content.rows) / content.rowsMax) : 0;
  const group = content?.group ?? 0;
  const stored = page.stores.length > 0 ? 1 : 0;
  const look = LOOKS.indexOf(pageLook(page));
  return ((((page.references * 8 + owner) * 8 + look) * 32 + rows) * 4 + group) * 2 + stored;
}

export function paintTextPage(
  context: Context,
  box: Box,
  { cell, theme }: { cell: TextCell; theme: Theme },
): void {
  const { page, content } = cell;
  const look = pageLook(page);
  const { x, y, size } = { x: box.x + 1, y: box.y + 1, size: box.size - 2 };
  // Sliding windows are round, so that the two kinds can be told apart without colour.
  const radius = content?.group === 1 && look !== 'free' && look !== 'null' ? size / 2.6 : size / 10;
  const colour = colourOf(page, theme);
  context.save();
  context.beginPath();
  context.roundRect(x, y, size, size, radius);
  context.fillStyle = theme.surface;
  context.fill();
  context.clip();
  const part = look === 'free' || look === 'null' ? 0 : content ? content.rows / content.rowsMax : 1;
  context.fillStyle = colour;
  context.fillRect(x, y + size * (1 - part), size, size * part);
  context.restore();
  context.strokeStyle = look === 'free' || look === 'null' ? theme.line : colour;
  context.lineWidth = look === 'cached' ? 1 : 1.5;
  context.setLineDash(look === 'null' ? [2, 2] : []);
  context.beginPath();
  context.roundRect(x + 0.75, y + 0.75, size - 1.5, size - 1.5, radius);
  context.stroke();
  context.setLineDash([]);
  const text = look === 'shared' ? `×${page.references}` : look === 'loading' ? '↓' : '';
  if (text !== '' && size >= 15) {
    context.fillStyle = look === 'shared' ? theme['shared-ink'] : theme['loading-ink'];
    context.font = `700 ${Math.min(14, size * 0.42)}px system-ui, sans-serif`;
    context.textAlign = 'center';
    context.textBaseline = 'middle';
    context.fillText(text, x + size / 2, y + size / 2 + 0.5);
  }
}

function colourOf(page: PageView, theme: Theme): string {
  switch (pageLook(page)) {
    case 'shared':
      return theme.shared;
    case 'loading':
      return theme.loading;
    case 'cached':
      return theme['cached-line'];
    case 'owned':
      return theme[`owner-${ownerColour(page.owners[0])}` as ColourName];
    default:
      return theme.line;
  }
}
