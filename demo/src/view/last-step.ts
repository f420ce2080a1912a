/** One step in words. */
import type { RecordedStep } from '../../../src/index.ts';
import type { Look } from '../run/look.ts';
import type { LoadedTrace } from '../run/load-trace.ts';
import { counted, requestName } from './format.ts';

const NAMES_MAX = 4;

export function lastStep(look: Look | null, trace: LoadedTrace | null): string {
  if (!look?.last) return 'Nothing has run yet. Press Run, or Step for one step at a time.';
  const { plan } = look.last;
  const parts = [computed(look.last, trace), ...moved(look.last), ...fenced(look.last, look)];
  return `${plan.step}: ${parts.join(' ')}`;
}

function computed({ plan, finished }: RecordedStep, trace: LoadedTrace | null): string {
  const names = (ids: readonly string[]) => {
    const shown = ids.slice(0, NAMES_MAX).map((id) => requestName(trace, id));
    return ids.length > NAMES_MAX
      ? `${shown.join(', ')} and ${ids.length - NAMES_MAX} more`
      : shown.join(', ');
  };
  const tokens = plan.forward.reduce((sum, { start, end }) => sum + end - start, 0);
  const ids = plan.forward.map(({ requestId }) => requestId);
  const ran = ids.length === 0 ? 'No request ran.' : `${names(ids)} computed ${counted(tokens, 'token')}.`;
  return finished.length === 0 ? ran : `${ran} ${names(finished.map(({ id }) => id))} finished.`;
}

function moved({ plan, outcome }: RecordedStep): string[] {
  const pages = (jobs: readonly { readonly pages: readonly unknown[] }[]) =>
    jobs.reduce((sum, job) => sum + job.pages.length, 0);
  const parts: string[] = [];
  const zeroed = plan.newPageIdsToZero.reduce((sum, { pages }) => sum + pages.length, 0);
  if (zeroed > 0) parts.push(`${counted(zeroed, 'page')} zeroed.`);
  if (plan.loads.length > 0) parts.push(`${counted(pages(plan.loads), 'page')} asked back from the host.`);
  if (plan.stores.length > 0) parts.push(`${counted(pages(plan.stores), 'page')} queued for the host.`);
  const failed = outcome.acknowledgements.filter(({ ok }) => !ok).length;
  const done = outcome.acknowledgements.length - failed;
  if (done > 0) parts.push(`${counted(done, 'transfer')} complete.`);
  if (failed > 0) parts.push(`${counted(failed, 'transfer')} failed.`);
  return parts;
}

function fenced({ outcome }: RecordedStep, { exposedInLastStep: exposed }: Look): string[] {
  const parts: string[] = [];
  if (outcome.flushed.length > 0) {
    parts.push(
      `The fence forced ${counted(outcome.flushed.length, 'store')} out first: a page of theirs was about to be written.`,
    );
  }
  if (exposed.length > 0) {
    const [named, it] =
      exposed.length === 1 ? [`Page ${exposed[0]} was`, 'it'] : [`Pages ${exposed.join(', ')} were`, 'them'];
    parts.push(`${named} written although a store still has to read ${it}.`);
  }
  return parts;
}
