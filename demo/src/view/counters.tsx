/** What the run amounted to so far. */
import type { ComponentChildren } from 'preact';
import type { Look } from '../run/look.ts';
import type { LoadedTrace } from '../run/load-trace.ts';
import { bytes, count, percent } from './format.ts';

type Row = readonly [name: string, label: string, value: ComponentChildren, about?: string];

export function Counters({ look, trace }: { look: Look; trace: LoadedTrace | null }) {
  const { progress, statistics } = look;
  const { hits, blockReferences, requestsDone, requestsRefused } = progress;
  const computed = blockReferences - hits.device - hits.host;
  const { pages } = statistics;
  const share = (part: number) => (
    <>
      {count(part)} <small>{percent(part, blockReferences)}</small>
    </>
  );
  const sized = (jobs: number, size: number) => (
    <>
      {count(jobs)} <small>{bytes(size)}</small>
    </>
  );
  return (
    <section class="panel counters" aria-labelledby="counters-title">
      <h2 id="counters-title">Counters</h2>
      <div class="groups">
        <Group
          title="Requests"
          rows={[
            ['requests-done', 'finished', `${count(requestsDone)} of ${count(trace?.requests.length ?? 0)}`],
            ['requests-refused', 'refused', count(requestsRefused), 'The pool could never hold them.'],
            [
              'preemptions',
              'preempted',
              count(statistics.requests.preemptions),
              'They gave their pages to others and start again.',
            ],
          ]}
        />
        <Group
          title="Blocks of finished prompts"
          rows={[
            ['hits-device', 'found on the device', share(hits.device)],
            ['hits-host', 'loaded from the host', share(hits.host)],
            ['computed', 'computed', share(computed)],
          ]}
        />
        <Group
          title="Pages"
          rows={[
            ['pages-allocated', 'allocated', count(pages.allocated)],
            ['pages-zeroed', 'zeroed', count(pages.zeroed)],
            [
              'pages-evicted',
              'evicted',
              count(pages.evicted),
              'They lost a key because they were allocated anew.',
            ],
          ]}
        />
        <Group
          title="Transfers"
          rows={[
            ['stores', 'stores', sized(statistics.stores, statistics.bytesStored)],
            [
              'stores-failed',
              'stores that failed',
              count(statistics.storesFailed),
              'There was no room to keep their pages; nothing was published.',
            ],
            ['loads', 'loads', sized(statistics.loads, statistics.bytesLoaded)],
          ]}
        />
        <Group
          title="Fence"
          rows={[
            [
              'flushes',
              'stores flushed',
              count(statistics.flushes),
              'Forced out ahead of their turn, because a page of theirs was about to be written.',
            ],
            ['flush-overflows', 'pages through the overflow', count(statistics.flushOverflows)],
            [
              'flush-waits',
              'steps that waited',
              count(statistics.flushWaits),
              'A flush never blocks: this stays 0.',
            ],
            [
              'exposed-pages',
              'pages written unread',
              count(look.exposedPages),
              'Written while a store still had to read them. With the fence this stays 0.',
            ],
          ]}
        />
      </div>
    </section>
  );
}

function Group({ title, rows }: { title: string; rows: readonly Row[] }) {
  return (
    <div class="group">
      <h3>{title}</h3>
      <dl>
        {rows.map(([name, label, value, about]) => (
          <div key={name} title={about}>
            <dt>{label}</dt>
            <dd data-counter={name}>{value}</dd>
          </div>
        ))}
      </dl>
    </div>
  );
}
