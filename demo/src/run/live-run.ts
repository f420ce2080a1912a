/** One run from its device to its end. It is closed once and never used again; the next run is a new one. */
import {
  ChangeWatch,
  createEngine,
  inspect,
  Replay,
  RunRecorder,
  TransferLog,
  type Engine,
  type ReplayProgress,
  type RunLog,
  type StepReport,
  type WitnessReport,
} from '../../../src/index.ts';
import type { LoadedTrace } from './load-trace.ts';
import type { Counted, Look } from './look.ts';
import { openPlace, type Place } from './open-device.ts';
import { engineConfig, type RunSettings } from './settings.ts';

export class LiveRun {
  readonly trace: LoadedTrace;
  readonly settings: RunSettings;
  readonly place: Place;
  /** Set by whoever drives the run while a step or a read-back is under way. */
  busy = false;
  private readonly engine: Engine;
  private readonly replay: Replay;
  private readonly transfers: TransferLog;
  private readonly recorder: RunRecorder<{ readonly progress: ReplayProgress }>;
  private last: StepReport | null = null;
  private witness: WitnessReport = { mismatches: 0, checkedWords: 0, pages: [] };
  private witnessStep = 0;
  private underWay: Promise<unknown> = Promise.resolve();
  private closed = false;

  private constructor(parts: {
    trace: LoadedTrace;
    settings: RunSettings;
    place: Place;
    engine: Engine;
    watch: ChangeWatch;
  }) {
    const { trace, settings, place, engine, watch } = parts;
    this.trace = trace;
    this.settings = settings;
    this.place = place;
    this.engine = engine;
    this.transfers = new TransferLog(engine.config);
    this.replay = new Replay({
      engine,
      requests: trace.requests,
      concurrency: settings.concurrency,
      outputTokens: settings.outputTokens,
    });
    this.recorder = new RunRecorder({
      engine,
      watch,
      transfers: this.transfers,
      counters: () => ({ progress: this.replay.progress }),
    });
  }

  /** `onLost` is called when the device goes away before the run was closed. */
  static async open(options: {
    trace: LoadedTrace;
    settings: RunSettings;
    onLost: (run: LiveRun, message: string) => void;
  }): Promise<LiveRun> {
    const { trace, settings, onLost } = options;
    const place = await openPlace(settings);
    const device = place.kind === 'webgpu' ? place.device : null;
    try {
      const config = engineConfig(settings, trace.blockTokens);
      const watch = new ChangeWatch();
      const { onCacheEvent, onOffloadEvent } = watch;
      const engine = await createEngine(config, {
        onCacheEvent,
        onOffloadEvent,
        ...(device === null ? {} : { device }),
      });
      const run = new LiveRun({ trace, settings, place, engine, watch });
      void device?.lost.then(({ message }) => {
        if (!run.closed) onLost(run, message);
      });
      return run;
    } catch (error) {
      device?.destroy();
      throw error;
    }
  }

  /** Every step so far. It grows with the run. */
  get log(): RunLog<Counted> {
    return this.recorder.log;
  }

  /** Steps since the witness was read. */
  get unreadSteps(): number {
    return this.engine.steps - this.witnessStep;
  }

  /** Runs one step. False when the trace is over and everything is at rest. */
  async step(): Promise<boolean> {
    const report = await this.track(this.replay.next());
    if (report === null) return false;
    this.transfers.record(report);
    this.recorder.record(report);
    this.last = report;
    // Here it costs nothing, so that each moment has its own count.
    if (this.place.kind === 'simulated') await this.readWitness();
    return true;
  }

  /** Reads the counts of mismatches back from the device. Not while a step is under way. */
  async readWitness(): Promise<void> {
    const step = this.engine.steps;
    this.witness = await this.track(this.engine.worker.readWitness());
    this.witnessStep = step;
    this.recorder.recordWitness(this.witness);
  }

  look(): Look {
    const { engine, last, transfers, witness } = this;
    return {
      view: inspect(engine, { last, transfers }),
      progress: this.replay.progress,
      statistics: engine.statistics(),
      witness,
      exposedPages: transfers.exposedPages,
      lateReads: transfers.lateReads,
      exposedInLastStep: transfers.exposedInLastStep,
      last: last === null ? null : this.log.step(this.log.length - 1),
    };
  }

  /** Waits for what is under way, then gives the device back. Never rejects: a lost device has nothing to give. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await this.underWay.catch(() => undefined);
    await this.engine.close().catch(() => undefined);
    if (this.place.kind === 'webgpu') this.place.device.destroy();
  }

  private track<Value>(promise: Promise<Value>): Promise<Value> {
    this.underWay = promise;
    return promise;
  }
}
