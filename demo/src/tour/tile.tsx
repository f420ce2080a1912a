/** One cell of a map by itself, painted as in the maps of the other pages. */
import type { PageView, SlotView } from '../../../src/index.ts';
import { pageSignature, paintPage, paintSlot, slotSignature, type Box, type Context } from '../view/cells.ts';
import type { Theme } from '../view/theme.ts';
import { useSquareCanvas } from '../view/use-square-canvas.ts';

const SIZE = 40;

export function PageTile({ page, theme }: { page: PageView; theme: Theme }) {
  return (
    <Tile
      signature={pageSignature(page, 'request') + page.id / 4096}
      theme={theme}
      paint={(context, box) => paintPage(context, box, { page, theme, colourBy: 'request' })}
    />
  );
}

export function SlotTile({ slot, theme }: { slot: SlotView; theme: Theme }) {
  return (
    <Tile
      signature={slotSignature(slot)}
      theme={theme}
      paint={(context, box) => paintSlot(context, box, { slot, theme })}
    />
  );
}

function Tile({
  signature,
  theme,
  paint,
}: {
  signature: number;
  theme: Theme;
  paint: (context: Context, box: Box) => void;
}) {
  const canvas = useSquareCanvas(SIZE, paint, [signature, theme]);
  return <canvas ref={canvas} class="tile" aria-hidden="true" />;
}
