/** What happened, in words: the engine's events, and one step in the order of its phases. */
import type { CacheEvent, OffloadEvent, StepReport } from '../../../src/index.ts';
import type { Line } from './moment.ts';

export type NameOf = (request: string) => string;

const REASONS = {
  evicted: 'evicted',
  withdrawn: 'never computed',
  replaced: 'it stands for more now',
} as const;

/** `page 3`, `pages 3, 4`. */
export function pagesText(pages: readonly number[]): string {
  return `${pages.length === 1 ? 'page' : 'pages'} ${pages.join(', ')}`;
}

export function slotsText(slots: readonly number[]): string {
  return `${slots.length === 1 ? 'slot' : 'slots'} ${slots.join(', ')}`;
}

export function jobsText(jobs: readonly number[]): string {
  return `${jobs.length === 1 ? 'job' : 'jobs'} ${jobs.join(', ')}`;
}

/** `null` for what a tour need not tell. */
export function cacheLine(event: CacheEvent, nameOf: NameOf): Line | null {
  const line = (text: string, pages: readonly number[]): Line => ({ text, pages });
  switch (event.type) {
    case 'allocated':
      if (event.owner === null) return null;
      return line(`${nameOf(event.owner.request)} gets ${pagesText(event.pages)}`, event.pages);
    case 'touched': {
      const pages = event.pages.filter((page) => page !== 0);
      if (event.owner === null || pages.length === 0) return null;
      return line(`${nameOf(event.owner.request)} finds ${pagesText(pages)}: one reference more`, pages);
    }
    case 'freed': {
      const pages = event.pages.filter((page) => page !== 0);
      if (pages.length === 0) return null;
      const who = event.owner === null ? 'A copy' : nameOf(event.owner.request);
      return line(`${who} gives back ${pagesText(pages)}`, pages);
    }
    case 'replaced':
      return null;
    case 'stored': {
      const pages = event.pages.filter((page) => page !== 0);
      if (pages.length === 0) return null;
      return line(
        `${capital(pagesText(pages))} can be found by ${pages.length === 1 ? 'its key' : 'their keys'}`,
        pages,
      );
    }
    case 'removed':
      return line(`Page ${event.page} loses its key: ${REASONS[event.reason]}`, [event.page]);
    case 'moved':
      return line(`The keys of page ${event.source} are on page ${event.destination} now`, [
        event.source,
        event.destination,
      ]);
    case 'cleared':
      return line('All keys are forgotten', []);
    case 'zeroed':
    case 'copied':
      // The step that carries them out tells.
      return null;
  }
}

export function offloadLine(event: OffloadEvent, nameOf: NameOf): Line | null {
  switch (event.type) {
    case 'store-prepared':
      return {
        text: `Store job ${event.job}: ${pagesText(event.pages)} of ${nameOf(event.requestId)} to ${slotsText(event.slots)}`,
        pages: event.pages,
      };
    case 'load-prepared':
      return {
        text: `Load job ${event.job}: ${slotsText(event.slots)} to ${pagesText(event.pages)} of ${nameOf(event.requestId)}`,
        pages: event.pages,
      };
    case 'store-ended':
      return {
        text: event.ok
          ? `Store job ${event.job} is complete: its key is published`
          : `Store job ${event.job} failed: its key is not published`,
        pages: [],
      };
    case 'load-ended':
      return { text: `Load job ${event.job} ${event.ok ? 'is complete' : 'failed'}`, pages: [] };
    default:
      return null;
  }
}

/** One step in the order of its phases, with those left out in which nothing happens. */
export function deedsOf({ plan, outcome, finished }: StepReport, nameOf: NameOf, zeroing: string): Line[] {
  const deeds: Line[] = [];
  const say = (text: string, pages: readonly number[] = []) => deeds.push({ text, pages });
  const submitted = outcome.released.filter((job) => !outcome.flushed.includes(job));
  if (submitted.length > 0) say(`Read for the host: the pages of ${jobsText(submitted)}`);
  if (outcome.flushed.length > 0) {
    const over = outcome.overflowedPages > 0 ? ', through the overflow buffer' : '';
    say(`Fence: ${jobsText(outcome.flushed)} must read first${over}`);
  }
  for (const { pages } of plan.newPageIdsToZero) {
    if (pages.length > 0) say(`${zeroing === 'poison' ? 'Poison' : 'Zero'}: ${pagesText(pages)}`, pages);
  }
  for (const { source, destination } of plan.copies) {
    say(`Copy: page ${source} to page ${destination}`, [source, destination]);
  }
  for (const { id, slots, pages } of plan.loads) {
    say(`Load: job ${id}, ${slotsText(slots)} to ${pagesText(pages)}`, pages);
  }
  for (const { requestId, start, end } of plan.forward) {
    const tokens = end - start === 1 ? `token ${start + 1}` : `tokens ${start + 1} to ${end}`;
    say(`Compute: ${tokens} of ${nameOf(requestId)}`);
  }
  const stores = plan.stores.map(({ id }) => id);
  if (stores.length > 0) say(`Queue: ${jobsText(stores)} will be read in a later step`);
  // Each rank acknowledges by itself.
  const ended = (ok: boolean) => [
    ...new Set(outcome.acknowledgements.filter((one) => one.ok === ok).map(({ job }) => job)),
  ];
  const done = ended(true);
  const failed = ended(false);
  if (done.length > 0) say(`Arrived: ${jobsText(done)}`);
  if (failed.length > 0) say(`Failed: ${jobsText(failed)}`);
  for (const { id } of finished) say(`${nameOf(id)} is done`);
  return deeds;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
