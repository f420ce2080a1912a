/** Lines from pages to the stores that still have to read them, over the panels of both. */
import { useLayoutEffect, useState, type MutableRef } from 'preact/hooks';
import type { CachePicture } from './moment.ts';

interface Edge {
  readonly key: string;
  readonly path: string;
  readonly isMarked: boolean;
}

export function FenceEdges({
  within,
  cache,
  marked,
}: {
  within: MutableRef<HTMLElement | null>;
  cache: CachePicture;
  /** Pages whose lines stand out. */
  marked: readonly number[];
}) {
  const [edges, setEdges] = useState<readonly Edge[]>([]);
  useLayoutEffect(() => {
    const box = within.current!;
    const measure = () => setEdges(edgesOf(box, cache, marked));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, [cache]);
  return (
    <svg class="fence-edges" aria-hidden="true">
      {edges.map(({ key, path, isMarked }) => (
        <path key={key} d={path} class={isMarked ? 'marked' : ''} data-edge={key} />
      ))}
    </svg>
  );
}

function edgesOf(box: HTMLElement, cache: CachePicture, marked: readonly number[]): Edge[] {
  const origin = box.getBoundingClientRect();
  const areaOf = (selector: string) => box.querySelector(selector)?.getBoundingClientRect();
  return cache.view.pages.flatMap(({ id, unreadBy }) =>
    unreadBy.flatMap((job) => {
      const page = areaOf(`[data-page="${id}"] .tile`);
      const target = areaOf(`[data-job="${job}"]`);
      if (!page || !target) return [];
      // From the corner that says so, to the job's left edge: across where it is beside, down where it is below.
      const from = { x: page.right - origin.left - 2, y: page.top - origin.top + 2 };
      const to = { x: target.left - origin.left, y: target.top + target.height / 2 - origin.top };
      const path = target.left >= page.right ? across(from, to) : down(from, to);
      return [{ key: `${id}-${job}`, path, isMarked: marked.includes(id) }];
    }),
  );
}

interface Point {
  readonly x: number;
  readonly y: number;
}

function across(from: Point, to: Point): string {
  const bend = Math.max(24, (to.x - from.x) / 2);
  return `M${from.x} ${from.y}C${from.x + bend} ${from.y} ${to.x - bend} ${to.y} ${to.x} ${to.y}`;
}

function down(from: Point, to: Point): string {
  return `M${from.x} ${from.y}C${from.x + 14} ${from.y + 40} ${to.x - 14} ${to.y - 60} ${to.x} ${to.y}`;
}
