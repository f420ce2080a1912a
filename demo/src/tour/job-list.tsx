/** Transfers that are not complete: what they read, and whether they have read it. */
import type { CachePicture } from './moment.ts';
import { pagesText, slotsText } from './lines.ts';

export function JobList({ cache, names }: { cache: CachePicture; names: readonly string[] }) {
  const { jobs, pages, slots } = cache.view;
  if (slots.length === 0) return null;
  return (
    <section class="panel tour-jobs" aria-labelledby="tour-jobs-title">
      <header>
        <h3 id="tour-jobs-title">Jobs under way</h3>
        <p class="aside">
          A line leads from a page to the store that still has to read it. These are the lines that the fence
          looks at.
        </p>
      </header>
      {jobs.length === 0 && <p class="empty">None.</p>}
      <ul>
        {jobs.map((job) => {
          const unread = job.pages.filter((page) => pages[page].unreadBy.includes(job.id));
          const isWaiting = unread.length > 0;
          return (
            <li key={job.id} data-job={job.id} class={`job ${job.kind} ${isWaiting ? 'waiting' : 'moving'}`}>
              <b>
                {job.kind === 'store' ? 'Store' : 'Load'} {job.id}
              </b>
              <span>
                {job.kind === 'store'
                  ? `${pagesText(job.pages)} of ${names[Number(job.request)]} to ${slotsText(job.slots)}`
                  : `${slotsText(job.slots)} to ${pagesText(job.pages)} of ${names[Number(job.request)]}`}
              </span>
              <i>{isWaiting ? `still has to read ${pagesText(unread)}` : 'under way'}</i>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
