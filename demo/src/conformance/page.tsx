/** The conformance page: progress, counts by subject, cases on demand. */
import { countBySubject } from '../../../src/conformance/summary.ts';
import { CopyJson } from '../view/copy-json.tsx';
import { count } from '../view/format.ts';
import { useLive } from '../view/use-live.ts';
import { CaseList } from './case-list.tsx';
import type { ConformanceRun, RunState } from './conformance-run.ts';
import { SubjectTable } from './subject-table.tsx';

export function ConformancePage({ run }: { run: ConformanceRun }) {
  const state = useLive(run);
  const { results, result, problem } = state;
  const notPassed = results.filter(({ status }) => status !== 'passed');
  return (
    <main data-status={state.status} data-adapter={state.adapter ?? ''} class="conformance">
      <header class="masthead">
        <div>
          <h1>WebGPU conformance</h1>
          <p class="lead">
            Every promise of the <a href="./index.html">cache</a> (<a href="./tour.html">tour</a>) stands on
            something that the WebGPU specification says: that a copy touches its range and no other byte,
            that work runs in the order in which it was submitted, that a new buffer reads zero. Each case
            checks one of these in this browser.
          </p>
        </div>
        <Place state={state} />
      </header>
      <section class="controls" aria-label="Run">
        <div class="buttons">
          <button
            type="button"
            class="primary"
            disabled={state.status === 'running'}
            onClick={() => void run.start()}
          >
            Run again
          </button>
          <CopyJson result={result} />
        </div>
        <Progress state={state} />
      </section>
      {problem !== null && (
        <div class="problem" role="alert">
          <b>No WebGPU here, so nothing was run</b>
          <p>{problem}</p>
        </div>
      )}
      {results.length > 0 && <SubjectTable subjects={countBySubject(results)} results={results} />}
      {notPassed.length > 0 && (
        <section class="panel" aria-labelledby="not-passed">
          <header>
            <h2 id="not-passed">Not passed</h2>
            <p class="aside">
              A deviation is a failure that the specification allows, or one that is known of this browser.
            </p>
          </header>
          <CaseList results={notPassed} />
        </section>
      )}
      <p class="visually-hidden" role="status">
        {result !== null &&
          `Finished: ${result.passed} passed, ${result.deviates} deviate, ${result.failed} failed.`}
      </p>
    </main>
  );
}

function Place({ state: { adapter, software, problem } }: { state: RunState }) {
  if (problem !== null) return <p class="place simulated">No WebGPU</p>;
  if (adapter === null) return <p class="place">Looking for a GPU…</p>;
  return (
    <p class="place webgpu">
      <b>WebGPU</b> {adapter}
      {software && '. This adapter computes on the CPU.'}
    </p>
  );
}

function Progress({ state: { status, results, total, result } }: { state: RunState }) {
  if (status === 'failed') return <p class="status">Not run</p>;
  if (result !== null) {
    const { passed, deviates, failed, seconds } = result;
    return (
      <p class="status">
        <b class={failed > 0 ? 'wrong' : 'right'}>
          {failed > 0 ? `${count(failed)} failed` : 'Nothing failed'}
        </b>
        <span>
          {count(passed)} passed, {count(deviates)} {deviates === 1 ? 'deviates' : 'deviate'}, in{' '}
          {seconds.toFixed(1)} s
        </span>
      </p>
    );
  }
  return (
    <p class="status">
      <b>Running</b>
      <span>
        {count(results.length)} of {count(total)}
      </span>
      <progress max={total} value={results.length} aria-label="Cases that have run" />
    </p>
  );
}
