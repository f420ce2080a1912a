/** One run of the conformance suite in this page, and what there is to show of it. */
import { CASES } from '../../../src/conformance/cases.ts';
import { runConformance, type CaseResult, type ConformanceResult } from '../../../src/conformance/suite.ts';
import { acquireAdapter } from '../../../src/runtime/browser.ts';
import { whyNoAdapter } from '../run/open-device.ts';

export interface RunState {
  readonly status: 'running' | 'finished' | 'failed';
  /** Printable name of the adapter, as soon as there is one. */
  readonly adapter: string | null;
  readonly software: boolean;
  /** Of the cases that have run. */
  readonly results: readonly CaseResult[];
  readonly total: number;
  /** Once all have run. */
  readonly result: ConformanceResult | null;
  /** Why nothing could be run. */
  readonly problem: string | null;
}

/** Milliseconds between two drawings. */
const DRAW_MS = 100;

const BEGIN: RunState = {
  status: 'running',
  adapter: null,
  software: false,
  results: [],
  total: CASES.length,
  result: null,
  problem: null,
};

export class ConformanceRun {
  state: RunState = BEGIN;
  private readonly listeners = new Set<() => void>();
  private drawnAt = 0;

  /** Calls `listener` after each change. Returns how to undo it. */
  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Runs all cases. Never rejects. */
  async start(): Promise<void> {
    this.change(BEGIN);
    const results: CaseResult[] = [];
    try {
      const result = await runConformance({
        acquire: async () => {
          const acquired = await acquireAdapter();
          const { description, software } = acquired;
          if (this.state.adapter === null) this.change({ adapter: description, software });
          return acquired;
        },
        onResult: async (one) => {
          results.push(one);
          if (performance.now() - this.drawnAt < DRAW_MS) return;
          this.change({ results: results.slice() });
          // The page is drawn and answers before the next case begins.
          await new Promise((resolve) => setTimeout(resolve));
        },
      });
      this.change({ status: 'finished', results: result.cases, result });
    } catch (error) {
      this.change({ status: 'failed', problem: whyNoAdapter(error) });
    }
  }

  private change(part: Partial<RunState>): void {
    this.state = { ...this.state, ...part };
    this.drawnAt = performance.now();
    for (const listener of this.listeners) listener();
  }
}
