/** A recorded step in the order in which it was worked off: what each phase did, and to which pages and jobs. */
import type { JobSpan, PageId, RecordedStep } from '../../../src/index.ts';

export interface Phase {
  readonly name: 'schedule' | 'connector' | 'flush' | 'zero' | 'copy' | 'load' | 'forward' | 'queue' | 'poll';
  readonly about: string;
  readonly pages: readonly PageId[];
  readonly jobs: readonly number[];
  readonly told: string;
}

export function phasesOf(
  { plan, outcome, computed }: RecordedStep,
  options: { readonly spanOf: (job: number) => JobSpan | null; readonly nameOf: (request: string) => string },
): readonly Phase[] {
  const { spanOf, nameOf } = options;
  const pagesOf = (jobs: readonly number[]) => jobs.flatMap((job) => spanOf(job)?.pages ?? []);
  const zeroed = plan.newPageIdsToZero.flatMap(({ pages }) => pages);
  const stores = plan.stores.map(({ id }) => id);
  const loads = plan.loads.map(({ id }) => id);
  const queued = plan.stores.filter(({ isLast }) => isLast !== true).map(({ id }) => id);
  const ended = outcome.acknowledgements.map(({ job }) => job);
  const failed = outcome.acknowledgements.filter(({ ok }) => !ok).map(({ job }) => job);
  const inTurn = outcome.released.filter((job) => !outcome.flushed.includes(job));
  const loaded = plan.loads.flatMap(({ pages }) => pages);
  const copied = plan.copies.map(({ destination }) => destination);
  return [
    {
      name: 'schedule',
      about: 'Requests are chosen and get their pages.',
      pages: zeroed,
      jobs: [],
      told:
        plan.forward.length === 0
          ? 'no request runs'
          : plan.forward
              .map(({ requestId, start, end }) => `${nameOf(requestId)}: tokens ${start} to ${end - 1}`)
              .join('; '),
    },
    {
      name: 'connector',
      about: 'Stores and loads are decided, and which stores must be released first.',
      pages: pagesOf([...stores, ...loads]),
      jobs: [...stores, ...loads],
      told: sentence([
        list('stores', stores),
        list('loads', loads),
        list('to release first', plan.jobsToFlush),
      ]),
    },
    {
      name: 'flush',
      about: 'Copies are submitted: those whose turn it is, then those that the fence names.',
      pages: pagesOf(outcome.released),
      jobs: outcome.released,
      told: sentence([list('released in turn', inTurn), list('released by the fence', outcome.flushed)]),
    },
    {
      name: 'zero',
      about: 'Newly claimed pages lose their old bytes.',
      pages: zeroed,
      jobs: [],
      told: list('pages', zeroed),
    },
    {
      name: 'copy',
      about: 'Pages that are shared are copied before they are written.',
      pages: copied,
      jobs: [],
      told: list('onto pages', copied),
    },
    {
      name: 'load',
      about: 'Pages come back from the host.',
      pages: loaded,
      jobs: loads,
      told: list('pages', loaded),
    },
    {
      name: 'forward',
      about: 'Rows are computed into pages.',
      pages: computed,
      jobs: [],
      told: list('pages', computed),
    },
    {
      name: 'queue',
      about: 'Stores of this step get in line; their copies are submitted in later steps.',
      pages: pagesOf(queued),
      jobs: queued,
      told: list('jobs', queued),
    },
    {
      name: 'poll',
      about: 'Transfers that have arrived are told of.',
      pages: pagesOf(ended),
      jobs: ended,
      told: sentence([
        list(
          'complete',
          ended.filter((job) => !failed.includes(job)),
        ),
        list('failed', failed),
      ]),
    },
  ];
}

const SHOWN_MAX = 12;

function list(what: string, items: readonly number[]): string {
  if (items.length === 0) return '';
  const more = items.length > SHOWN_MAX ? ` and ${items.length - SHOWN_MAX} more` : '';
  return `${what} ${items.slice(0, SHOWN_MAX).join(', ')}${more}`;
}

function sentence(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('; ');
}
