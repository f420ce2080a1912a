/** Stores on their way: the queue, the staging ring, the overflow buffer. */
import type { EngineView } from '../../../src/index.ts';
import { count } from './format.ts';

export function Staging({ view }: { view: EngineView }) {
  const { staging, jobs } = view;
  if (staging === null) return null;
  const { queuedPages, overflowPages, overflowPlaces, pagesPerBuffer, buffers } = staging;
  const loads = jobs.filter(({ kind }) => kind === 'load');
  return (
    <section class="panel staging" aria-labelledby="staging-title">
      <h2 id="staging-title">On the way</h2>
      <dl>
        <div>
          <dt>Pages that wait to be stored</dt>
          <dd data-queued={queuedPages}>{count(queuedPages)}</dd>
        </div>
        <div>
          <dt>Staging ring</dt>
          <dd class="ring">
            {buffers.map((pages, buffer) => (
              <span
                key={buffer}
                class={pages > 0 ? 'buffer full' : 'buffer'}
                title={`buffer ${buffer}: ${pages} of ${pagesPerBuffer} pages`}
              >
                {pages > 0 ? count(pages) : 'free'}
              </span>
            ))}
          </dd>
        </div>
        <div>
          <dt>Overflow buffer</dt>
          <dd>
            {count(overflowPages)} of {count(overflowPlaces)}
          </dd>
        </div>
        <div>
          <dt>Loads under way</dt>
          <dd>{count(loads.length)}</dd>
        </div>
      </dl>
    </section>
  );
}
