/** A grid of cells on a canvas. Draws what changed; thousands of cells stay smooth. */
import type { Box, Context } from './cells.ts';

export interface GridContent {
  readonly count: number;
  /** Equal numbers look equal. */
  readonly signature: (index: number) => number;
  readonly paint: (context: Context, box: Box, index: number) => void;
  /** Changes when every cell has to be drawn again, whatever its signature: colours, for instance. */
  readonly epoch: unknown;
  readonly selected: number | null;
  /** Ringed: what belongs to something that is pointed at elsewhere. */
  readonly marked: ReadonlySet<number>;
  readonly ink: string;
  readonly surface: string;
}

const SIZE_MIN = 3;
const SIZE_MAX = 60;

export class CellGrid {
  columns = 1;
  private size = SIZE_MIN;
  private readonly canvas: HTMLCanvasElement;
  private readonly heightMax: number;
  private content: GridContent | null = null;
  private signatures = new Float64Array(0);
  private drawnSelected: number | null = null;
  private drawnMarked: ReadonlySet<number> = new Set();
  private drawnEpoch: unknown = null;

  /** `heightMax` in CSS pixels; more cells than fit at the smallest size make the canvas taller. */
  constructor(canvas: HTMLCanvasElement, options: { heightMax: number }) {
    this.canvas = canvas;
    this.heightMax = options.heightMax;
  }

  /** Fits the cells into the width. Draws everything. */
  resize(width: number): void {
    if (!this.content || width <= 0) return;
    const { count } = this.content;
    this.size = fittingSize({ count, width, heightMax: this.heightMax });
    this.columns = Math.max(1, Math.min(Math.floor(width / this.size), count));
    const height = Math.ceil(count / this.columns) * this.size;
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.columns * this.size * scale);
    this.canvas.height = Math.round(height * scale);
    this.canvas.style.width = `${this.columns * this.size}px`;
    this.canvas.style.height = `${height}px`;
    this.signatures = new Float64Array(count).fill(Number.NaN);
    this.draw(this.content);
  }

  draw(content: GridContent): void {
    const isNewSize = this.content?.count !== content.count;
    this.content = content;
    if (isNewSize || this.signatures.length !== content.count) {
      this.resize(this.canvas.parentElement!.clientWidth);
      return;
    }
    const context = this.canvas.getContext('2d')!;
    const scale = window.devicePixelRatio || 1;
    context.setTransform(scale, 0, 0, scale, 0, 0);
    if (this.drawnEpoch !== content.epoch) this.signatures.fill(Number.NaN);
    this.drawnEpoch = content.epoch;
    for (const index of [this.drawnSelected, content.selected]) {
      if (index !== null && index < content.count) this.signatures[index] = Number.NaN;
    }
    this.drawnSelected = content.selected;
    if (this.drawnMarked !== content.marked) {
      for (const index of [...this.drawnMarked, ...content.marked]) this.signatures[index] = Number.NaN;
      this.drawnMarked = content.marked;
    }
    for (let index = 0; index < content.count; index += 1) {
      const signature = content.signature(index);
      if (this.signatures[index] === signature) continue;
      this.signatures[index] = signature;
      const box = this.boxOf(index);
      context.clearRect(box.x, box.y, box.size, box.size);
      content.paint(context, box, index);
      if (index === content.selected || content.marked.has(index)) this.mark(context, box, content);
    }
  }

  /** The cell at a point of the canvas in CSS pixels. */
  indexAt(x: number, y: number): number | null {
    const column = Math.floor(x / this.size);
    const index = Math.floor(y / this.size) * this.columns + column;
    const isInside = column >= 0 && column < this.columns && index >= 0 && index < (this.content?.count ?? 0);
    return isInside ? index : null;
  }

  /** The middle of a cell in CSS pixels of the canvas. */
  centreOf(index: number): { x: number; y: number } {
    const { x, y, size } = this.boxOf(index);
    return { x: x + size / 2, y: y + size / 2 };
  }

  private boxOf(index: number): Box {
    const { size, columns } = this;
    return { x: (index % columns) * size, y: Math.floor(index / columns) * size, size };
  }

  private mark(context: Context, { x, y, size }: Box, { ink, surface }: GridContent): void {
    context.lineWidth = 3;
    context.strokeStyle = surface;
    context.strokeRect(x + 1.5, y + 1.5, size - 3, size - 3);
    context.lineWidth = 2;
    context.strokeStyle = ink;
    context.strokeRect(x + 1, y + 1, size - 2, size - 2);
  }
}

/** The largest whole size at which the cells fit into the height, or the smallest that can still be told apart. */
function fittingSize({
  count,
  width,
  heightMax,
}: {
  count: number;
  width: number;
  heightMax: number;
}): number {
  for (let size = SIZE_MAX; size > SIZE_MIN; size -= 1) {
    const columns = Math.floor(width / size);
    if (columns > 0 && Math.ceil(count / columns) * size <= heightMax) return size;
  }
  return SIZE_MIN;
}
