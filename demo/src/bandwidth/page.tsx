/** The bandwidth page: what to measure, progress, and tables that fill while it runs. */
import { useState } from 'preact/hooks';
import type { ListKind } from '../../../src/bandwidth/page-lists.ts';
import type { BandwidthResult } from '../../../src/bandwidth/result.ts';
import { formatBytes } from '../../../src/units.ts';
import { CopyJson } from '../view/copy-json.tsx';
import { useLive } from '../view/use-live.ts';
import { SIZES, type BandwidthRun, type BandwidthState } from './bandwidth-run.ts';
import { LimitTable } from './limit-table.tsx';
import { OperationTables } from './operation-tables.tsx';
import { OverlapTable } from './overlap-table.tsx';

export function BandwidthPage({ run }: { run: BandwidthRun }) {
  const state = useLive(run);
  const [bytes, setBytes] = useState(SIZES.at(-1)!);
  const [list, setList] = useState<ListKind>('scattered');
  const { status, result, problem } = state;
  const isRunning = status === 'running';
  return (
    <main data-status={status} data-adapter={result?.adapter ?? ''} class="bandwidth">
      <header class="masthead">
        <div>
          <h1>WebGPU bandwidth</h1>
          <p class="lead">
            The <a href="./index.html">cache</a> (<a href="./tour.html">tour</a>) zeroes and copies pages on
            the device, and moves them to host memory and back. There are several ways to do each, and no way
            is best everywhere. This page moves the same pages in every way, and compares that with the most
            this machine can do.
          </p>
        </div>
        <Place result={result} />
      </header>
      <section class="controls" aria-label="Run">
        <div class="buttons">
          <button type="button" class="primary" disabled={isRunning} onClick={() => void run.start(bytes)}>
            Measure
          </button>
          <button type="button" disabled={!isRunning} onClick={() => run.stop()}>
            Stop
          </button>
          <CopyJson result={isRunning ? null : result} />
        </div>
        <label>
          Move{' '}
          <select
            value={bytes}
            disabled={isRunning}
            onChange={({ currentTarget }) => setBytes(Number(currentTarget.value))}
          >
            {SIZES.map((size) => (
              <option key={size} value={size}>
                {formatBytes(size)} in each run
              </option>
            ))}
          </select>
        </label>
        <Progress state={state} />
      </section>
      {problem !== null && (
        <div class="problem" role="alert">
          <b>{result === null ? 'Nothing could be measured' : 'It could not be finished'}</b>
          <p>{problem}</p>
        </div>
      )}
      {status === 'ready' && (
        <p class="aside">
          It takes a minute or two, and up to {formatBytes(9 * bytes)} of the device's memory. Other work on
          the machine disturbs it: close what else computes.
        </p>
      )}
      {result !== null && (
        <>
          <LimitTable limits={result.limits} />
          {result.rows.length > 0 && (
            <>
              <ListChoice list={list} onChoose={setList} />
              <OperationTables result={result} list={list} />
              <OverlapTable result={result} list={list} />
            </>
          )}
        </>
      )}
      <p class="visually-hidden" role="status">
        {status === 'finished' && (state.stopped ? 'Stopped.' : 'Finished.')}
      </p>
    </main>
  );
}

function Place({ result }: { result: BandwidthResult | null }) {
  if (result === null) return null;
  return (
    <p class="place webgpu">
      <b>WebGPU</b> {result.adapter}
      {result.software && '. This adapter computes on the CPU.'}
    </p>
  );
}

const LISTS: readonly { readonly list: ListKind; readonly label: string }[] = [
  { list: 'scattered', label: 'Scattered pages, as a busy pool hands them out' },
  { list: 'neighbouring', label: 'Neighbouring pages, as a fresh pool does' },
];

function ListChoice({ list, onChoose }: { list: ListKind; onChoose: (list: ListKind) => void }) {
  return (
    <fieldset class="list-choice">
      <legend class="visually-hidden">Which pages</legend>
      {LISTS.map((one) => (
        <label key={one.list}>
          <input type="radio" name="list" checked={one.list === list} onChange={() => onChoose(one.list)} />{' '}
          {one.label}
        </label>
      ))}
    </fieldset>
  );
}

function Progress({ state: { status, done, total, stopped, result } }: { state: BandwidthState }) {
  switch (status) {
    case 'ready':
      return null;
    case 'failed':
      return <p class="status">Not finished</p>;
    case 'finished':
      return (
        <p class="status">
          <b>{stopped ? 'Stopped' : 'Finished'}</b>
          <span>after {result!.seconds.toFixed(0)} s</span>
        </p>
      );
    case 'running':
      return (
        <p class="status">
          <b>Measuring</b>
          <progress max={Math.max(total, 1)} value={done} aria-label="Lists of pages that were moved" />
        </p>
      );
  }
}
