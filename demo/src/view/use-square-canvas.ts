/** A small square picture that is painted when it changes. */
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Box, Context } from './cells.ts';

/**
 * For the canvas of a square of so many CSS pixels. `paint` is a new function at each drawing, and paints the same until
 * one of `changes` is another.
 */
export function useSquareCanvas(
  size: number,
  paint: (context: Context, box: Box) => void,
  changes: readonly unknown[],
) {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    const scale = window.devicePixelRatio || 1;
    canvas.current!.width = size * scale;
    canvas.current!.height = size * scale;
    const context = canvas.current!.getContext('2d')!;
    context.scale(scale, scale);
    paint(context, { x: 0, y: 0, size });
  }, changes);
  return canvas;
}
