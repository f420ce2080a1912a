/** Lines from pages to the stores that still have to read them, over the panels of both. */
import { useLayoutEffect, useRef, useState, type MutableRef } from 'preact/hooks';
import type { CachePicture } from './moment.ts';

interface Edge {
  readonly key: string;
  readonly path: string;
}

export function FenceEdges({
  within,
  cache,
}: {
  within: MutableRef<HTMLElement | null>;
  cache: CachePicture;
}) {
  const svg = useRef<SVGSVGElement>(null);
  const [edges, setEdges] = useState<readonly Edge[]>([]);
  useLayoutEffect(() => {
    const box = within.current!;
    const measure = () => setEdges(edgesOf(box, cache));
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(box);
    return () => observer.disconnect();
  }, [cache]);
  return (
    <svg ref={svg} class="fence-edges" aria-hidden="true">
      {edges.map(({ key, path }) => (
        <path key={key} d={path} />
      ))}
    </svg>
  );
}

function edgesOf(box: HTMLElement, cache: CachePicture): Edge[] {
  const origin = box.getBoundingClientRect();
  const areaOf = (selector: string) => box.querySelector(selector)?.getBoundingClientRect();
  return cache.view.pages.flatMap(({ id, unreadBy }) =>
    unreadBy.flatMap((job) => {
      const page = areaOf(`[data-page="${id}"]`);
      const target = areaOf(`[data-job="${job}"]`);
      if (!page || !target) return [];
      const isBeside = target.left >= page.right;
      const from = { x: page.left + page.width / 2 - origin.left, y: page.bottom - 4 - origin.top };
      if (isBeside) Object.assign(from, { x: page.right - 4 - origin.left, y: page.top + 10 - origin.top });
      const to = { x: target.left - origin.left, y: target.top + target.height / 2 - origin.top };
      const bend = Math.max(24, Math.abs(to.x - from.x) / 3);
      const path = `M${from.x} ${from.y}C${from.x + (isBeside ? bend : 0)} ${from.y + (isBeside ? 0 : bend)} ${to.x - bend} ${to.y} ${to.x} ${to.y}`;
      return [{ key: `${id}-${job}`, path }];
    }),
  );
}
