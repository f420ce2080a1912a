/**
 * Which run is live, and what it does. At most one is: starts wait for the run before to be closed, and one that has
 * been overtaken by a later start is dropped, however late it comes.
 */
import { LiveRun, type Look } from './live-run.ts';
import { loadFiles, loadSample, SAMPLES, type LoadedTrace, type Sample } from './load-trace.ts';
import { messageOf, type Place } from './open-device.ts';
import type { RunSettings } from './settings.ts';

/** `reading`: a trace. `starting`: a device and an engine. `failed`: see `problem`; what ran before may still show. */
export type Status = 'reading' | 'starting' | 'ready' | 'running' | 'paused' | 'finished' | 'failed' | 'lost';

export interface Problem {
  readonly title: string;
  readonly message: string;
}

export interface SessionState {
  readonly status: Status;
  readonly problem: Problem | null;
  readonly sample: Sample['id'] | null;
  readonly trace: LoadedTrace | null;
  /** What the live run was started with, and what the next one will be. */
  readonly applied: RunSettings;
  readonly draft: RunSettings;
  readonly place: Place | null;
  readonly look: Look | null;
  /** Steps a second; Infinity: as many as there is time for. */
  readonly speed: number;
  /** Starts so far. */
  readonly runs: number;
}

/**
 * Milliseconds that steps may take between two pictures. The simulated worker holds the page up meanwhile; steps on a
 * device are mostly waiting, and the page stays responsive.
 */
const STEPS_MS = { simulated: 24, webgpu: 40 } as const;
/** Seconds of steps that may pile up: after a hidden tab or on a slow device nothing is caught up with. */
const CREDIT_SECONDS = 0.25;
const WITNESS_STEPS = 64;
const WITNESS_MS = 300;

export class Session {
  private current: SessionState = {
    status: 'reading',
    problem: null,
    sample: SAMPLES[0].id,
    trace: null,
    applied: SAMPLES[0].settings,
    draft: SAMPLES[0].settings,
    place: null,
    look: null,
    speed: 15,
    runs: 0,
  };
  private readonly listeners = new Set<() => void>();
  private run: LiveRun | null = null;
  /** Counts what was asked for. Whoever comes back from an await and finds another number has been overtaken. */
  private request = 0;
  private turn: Promise<void> = Promise.resolve();
  private frame = 0;
  private frameAt = 0;
  private credit = 0;
  private witnessAt = 0;
  private publishedAt = 0;
  private publishCost = 0;
  /** Steps asked for one by one. */
  private wanted = 0;
  /** Whether the run that is being started is to run at once. */
  private runsNext = false;

  get state(): SessionState {
    return this.current;
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  chooseSample(id: Sample['id']): void {
    const sample = SAMPLES.find((candidate) => candidate.id === id)!;
    void this.open({ sample: id }, async () => ({
      trace: await loadSample(sample),
      settings: sample.settings,
    }));
  }

  openFiles(files: readonly File[]): void {
    if (files.length === 0) return;
    void this.open({ sample: null }, () => loadFiles(files));
  }

  change(settings: Partial<RunSettings>): void {
    this.set({ draft: { ...this.current.draft, ...settings } });
  }

  /** Starts over with the other fence, and goes on running if it ran. */
  setFence(fence: RunSettings['fence']): void {
    const { status } = this.current;
    this.change({ fence });
    this.reset({ andRun: status === 'running' || (status === 'starting' && this.runsNext) });
  }

  setSpeed(speed: number): void {
    this.credit = 0;
    this.set({ speed });
  }

  /** Runs on; from the beginning where the run is over or there is none. */
  start(): void {
    const { status } = this.current;
    if (status === 'ready' || status === 'paused') this.go();
    else if (status !== 'running') this.reset({ andRun: true });
  }

  pause(): void {
    if (this.current.status !== 'running' || !this.run) return;
    this.set({ status: 'paused' });
    if (!this.run.busy) void this.pump(this.run);
  }

  step(): void {
    this.pause();
    const { status } = this.current;
    if (!this.run || (status !== 'ready' && status !== 'paused')) return;
    this.wanted += 1;
    this.set({ status: 'paused', problem: null });
    if (!this.run.busy) void this.pump(this.run);
  }

  /** Closes the run and makes a new one from the draft settings: new adapter, new device, first request. */
  reset(options: { andRun?: boolean } = {}): void {
    const { trace, sample, draft } = this.current;
    if (trace === null) {
      if (sample !== null) this.chooseSample(sample);
      return;
    }
    void this.restart({ trace, settings: draft, andRun: options.andRun ?? false });
  }

  private async open(
    origin: { sample: Sample['id'] | null },
    read: () => Promise<{ trace: LoadedTrace; settings: RunSettings }>,
  ): Promise<void> {
    this.request += 1;
    const request = this.request;
    const { status } = this.current;
    const before = status === 'ready' || status === 'finished' ? status : 'paused';
    cancelAnimationFrame(this.frame);
    this.set({ status: 'reading', problem: null });
    try {
      const { trace, settings: suited } = await read();
      if (request !== this.request) return;
      // Where the pages live is the reader's choice for good. The fence is on again: a new trace begins as it should be.
      const settings = { ...suited, worker: this.current.draft.worker };
      this.set({ trace, sample: origin.sample, draft: settings });
      await this.restart({ trace, settings, andRun: false });
    } catch (error) {
      await this.turn;
      if (request !== this.request) return;
      // The run before is untouched: whoever dropped a bad file may go on with it.
      this.set({
        status: this.run === null ? 'failed' : before,
        problem: { title: 'This trace cannot be read', message: messageOf(error) },
      });
    }
  }

  private restart(options: { trace: LoadedTrace; settings: RunSettings; andRun: boolean }): Promise<void> {
    this.request += 1;
    const request = this.request;
    cancelAnimationFrame(this.frame);
    this.wanted = 0;
    this.runsNext = options.andRun;
    this.set({ status: 'starting', problem: null });
    this.turn = this.turn.then(() => this.replaceRun(request, options));
    return this.turn;
  }

  private async replaceRun(
    request: number,
    { trace, settings, andRun }: { trace: LoadedTrace; settings: RunSettings; andRun: boolean },
  ): Promise<void> {
    const old = this.run;
    this.run = null;
    await old?.close();
    if (request !== this.request) return;
    try {
      const run = await LiveRun.open({
        trace,
        settings,
        onLost: (lost, message) => this.lose(lost, message),
      });
      if (request !== this.request) {
        await run.close();
        return;
      }
      this.run = run;
      this.set({
        status: 'ready',
        applied: settings,
        place: run.place,
        look: run.look(),
        runs: this.current.runs + 1,
      });
      if (andRun) this.go();
    } catch (error) {
      if (request !== this.request) return;
      this.set({
        status: 'failed',
        look: null,
        problem: { title: 'The run cannot start', message: messageOf(error) },
      });
    }
  }

  private go(): void {
    this.credit = 1;
    this.wanted = 0;
    this.frameAt = performance.now();
    this.set({ status: 'running', problem: null });
    this.frame = requestAnimationFrame(this.onFrame);
  }

  /** The browser calls it for visible tabs only: a hidden one stands still and goes on where it was. */
  private readonly onFrame = (now: number): void => {
    const { run } = this;
    const { status, speed } = this.current;
    if (!run || status !== 'running') return;
    const seconds = Math.max(0, now - this.frameAt) / 1000;
    this.frameAt = now;
    this.credit =
      speed === Infinity ? Infinity : Math.min(this.credit + seconds * speed, 1 + speed * CREDIT_SECONDS);
    if (!run.busy && this.credit >= 1) void this.pump(run);
    this.frame = requestAnimationFrame(this.onFrame);
  };

  /** The steps that were asked for, or what the speed and the frame allow. Then the witness, if it is due. */
  private async pump(run: LiveRun): Promise<void> {
    const isLive = () => run === this.run;
    const end = performance.now() + STEPS_MS[run.place.kind];
    let isOver = false;
    run.busy = true;
    try {
      while (isLive() && !isOver && this.takeStep(end)) isOver = !(await run.step());
      if (isLive() && this.isWitnessDue(run, isOver)) {
        // Reading back waits for everything submitted so far.
        this.publish(run);
        await run.readWitness();
        this.witnessAt = performance.now();
      }
    } catch (error) {
      if (isLive()) this.fail(run, error);
      return;
    } finally {
      run.busy = false;
    }
    if (!isLive()) return;
    const { status } = this.current;
    if (isOver && (status === 'running' || status === 'paused')) {
      this.wanted = 0;
      this.set({ status: 'finished', look: run.look() });
      return;
    }
    this.publish(run);
    // Asked for while the witness was being read.
    if (this.wanted > 0) void this.pump(run);
  }

  private takeStep(end: number): boolean {
    const { status } = this.current;
    if (status === 'paused' && this.wanted > 0) {
      this.wanted -= 1;
      return true;
    }
    if (status !== 'running' || this.credit < 1 || performance.now() > end) return false;
    this.credit -= 1;
    return true;
  }

  private isWitnessDue(run: LiveRun, isOver: boolean): boolean {
    if (run.unreadSteps === 0) return false;
    if (isOver || this.current.status !== 'running' || run.unreadSteps >= WITNESS_STEPS) return true;
    return performance.now() - this.witnessAt > WITNESS_MS;
  }

  /** A picture of the run. While it runs, pictures of large pools are drawn less often, so that steps get their time. */
  private publish(run: LiveRun): void {
    const now = performance.now();
    if (this.current.status === 'running' && now - this.publishedAt < 3 * this.publishCost) return;
    this.set({ look: run.look() });
    this.publishedAt = performance.now();
    this.publishCost = this.publishedAt - now;
  }

  private lose(run: LiveRun, message: string): void {
    if (run !== this.run) return;
    this.run = null;
    cancelAnimationFrame(this.frame);
    const told = message === '' ? '' : ` The browser says: ${message}`;
    this.set({
      status: 'lost',
      look: run.look(),
      problem: {
        title: 'The GPU device was lost',
        message: `The run ended at the step shown. Press Reset for a new run on a new device.${told}`,
      },
    });
    this.turn = this.turn.then(() => run.close());
  }

  private fail(run: LiveRun, error: unknown): void {
    this.run = null;
    cancelAnimationFrame(this.frame);
    const isLost = error instanceof Error && /device lost/i.test(error.message);
    this.set({
      status: isLost ? 'lost' : 'failed',
      look: run.look(),
      problem: {
        title: isLost ? 'The GPU device was lost' : 'The run ended with an error',
        message: `${messageOf(error)} Press Reset for a new run.`,
      },
    });
    this.turn = this.turn.then(() => run.close());
  }

  private set(change: Partial<SessionState>): void {
    this.current = { ...this.current, ...change };
    for (const listener of this.listeners) listener();
  }
}
