/** Everything that is drawn of a run, at one moment. */
import type {
  EngineStatistics,
  EngineView,
  RecordedStep,
  ReplayProgress,
  RunCounters,
  RunLog,
  WitnessReport,
} from '../../../src/index.ts';

/** What is counted at each moment of a run. */
export interface Counted extends RunCounters {
  readonly progress: ReplayProgress;
}

export interface Look {
  readonly view: EngineView;
  readonly progress: ReplayProgress;
  readonly statistics: EngineStatistics;
  /** As of the last time it was read back. */
  readonly witness: WitnessReport;
  /** Pages written while a store still had to read them, and pages that stores then read. */
  readonly exposedPages: number;
  readonly lateReads: number;
  /** Those that the last step wrote. */
  readonly exposedInLastStep: readonly number[];
  readonly last: RecordedStep | null;
}

const UNREAD: WitnessReport = { mismatches: 0, checkedWords: 0, pages: [] };

/** A moment of a recorded run, computed from what was recorded and nothing else. */
export function lookAt(log: RunLog<Counted>, moment: number): Look {
  const { view, counters, last, witness } = log.at(moment);
  return {
    view,
    ...counters,
    witness: witness?.report ?? UNREAD,
    exposedInLastStep: last?.exposed ?? [],
    last,
  };
}
