/** A transfer in words. */
import type { JobSpan } from '../../../src/index.ts';
import type { LoadedTrace } from '../run/load-trace.ts';

export function tellSpan(span: JobSpan, trace: LoadedTrace | null): string {
  const { job, kind, request, pages, decided, released, flushed, complete, ok } = span;
  const name = request === null ? '' : ` for ${trace?.requests[Number(request)]?.id ?? request}`;
  const which = pages.length === 1 ? `page ${pages[0]}` : `pages ${pages.join(', ')}`;
  const parts = [`decided in step ${decided}`];
  if (released !== null) parts.push(`released in step ${released}${flushed ? ' by the fence' : ''}`);
  if (complete !== null) parts.push(`${ok ? 'complete' : 'failed'} in step ${complete}`);
  return `Job ${job}, ${kind} of ${which}${name}: ${parts.join(', ')}`;
}
