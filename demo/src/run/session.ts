/**
 * Which run is live, and what it does. At most one is: starts wait for the run before to be closed, and one that has
 * been overtaken by a later start is dropped, however late it comes.
 */
import type { RunLog } from '../../../src/index.ts';
import { linkTo, readLink, type LinkedMoment } from '../time/link.ts';
import { isRunFile, readRun, writeRun, type SavedRun } from '../time/run-file.ts';
import { LiveRun } from './live-run.ts';
import { loadFiles, loadSample, SAMPLES, type LoadedTrace, type Sample } from './load-trace.ts';
import { lookAt, type Counted, type Look } from './look.ts';
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
  /** The present: after the last step. */
  readonly look: Look | null;
  /** What has been recorded of the run. It grows with it. */
  readonly log: RunLog<Counted> | null;
  /** The moment that is shown instead of the present; null: the present. */
  readonly moment: number | null;
  /** Whether the recording is played, from `moment` on. */
  readonly isPlaying: boolean;
  readonly bookmarks: readonly number[];
  /** The file that the run was opened from, and where its pages were; null: it is live. */
  readonly saved: { readonly name: string; readonly place: string } | null;
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
    log: null,
    moment: null,
    isPlaying: false,
    bookmarks: [],
    saved: null,
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
  /** The moment that a link asked for: until then it runs as fast as it goes. */
  private goal: number | null = null;
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
    void this.openEither(files);
  }

  /** A run that was saved. It is shown and played; Reset starts a new run of the same trace and settings. */
  async openRun(file: File): Promise<void> {
    this.request += 1;
    const request = this.request;
    this.pause();
    this.set({ isPlaying: false });
    try {
      const saved = readRun(file.name, await file.text());
      if (request !== this.request) return;
      this.turn = this.turn.then(() => this.showSaved(request, file.name, saved));
      await this.turn;
    } catch (error) {
      if (request !== this.request) return;
      this.set({ problem: { title: 'This run cannot be opened', message: messageOf(error) } });
    }
  }

  /** A link of this page: the same trace and settings run up to the same moment. Ignores addresses that name no run. */
  openLink(hash: string): boolean {
    try {
      const linked = readLink(hash);
      if (linked === null) return false;
      const sample = SAMPLES.find(({ id }) => id === linked.sample)!;
      const read = async () => ({ trace: await loadSample(sample), settings: linked.settings });
      void this.open({ sample: linked.sample, linked }, read);
    } catch (error) {
      this.set({ problem: { title: 'This link cannot be opened', message: messageOf(error) } });
      return false;
    }
    return true;
  }

  /** The link to what is shown, from `#` on; null where the trace is a file of one's own. */
  link(): string | null {
    const { sample, applied, bookmarks, log } = this.current;
    if (sample === null || log === null) return null;
    return linkTo({ sample, settings: applied, moment: this.shownMoment, bookmarks });
  }

  /** The recorded run as the text of a file, and a name for it. Null before there is one. */
  save(): { readonly name: string; readonly text: string } | null {
    const { trace, applied, place, bookmarks, log, saved } = this.current;
    if (trace === null || log === null) return null;
    const where = place?.kind === 'webgpu' ? `WebGPU, ${place.adapter}` : 'Simulated worker';
    const text = writeRun({
      trace,
      settings: applied,
      place: saved?.place ?? where,
      moment: this.shownMoment,
      bookmarks,
      log,
    });
    return { name: `${trace.name.replace(/\.[a-z.]*$/, '')}-${log.length}-steps.run.json`, text };
  }

  /** The moment that is shown: the chosen one, or the last. */
  get shownMoment(): number {
    return this.current.moment ?? this.current.log?.length ?? 0;
  }

  /** Shows a moment of the recording; the last one is the present. A run that runs is paused. */
  scrubTo(moment: number): void {
    this.pause();
    if (this.current.isPlaying) this.set({ isPlaying: false });
    this.showMoment(moment);
  }

  /** Back to the present. */
  goLive(): void {
    this.set({ moment: null, isPlaying: false });
  }

  toggleBookmark(): void {
    const { bookmarks } = this.current;
    const moment = this.shownMoment;
    this.set({
      bookmarks: bookmarks.includes(moment)
        ? bookmarks.filter((marked) => marked !== moment)
        : [...bookmarks, moment].sort((a, b) => a - b),
    });
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
    const { status, moment } = this.current;
    if (moment !== null) {
      this.credit = 1;
      this.frameAt = performance.now();
      this.set({ isPlaying: true });
      cancelAnimationFrame(this.frame);
      this.frame = requestAnimationFrame(this.onFrame);
    } else if (status === 'ready' || status === 'paused') this.go();
    else if (status !== 'running') this.reset({ andRun: true });
  }

  pause(): void {
    this.goal = null;
    if (this.current.isPlaying) this.set({ isPlaying: false });
    if (this.current.status !== 'running' || !this.run) return;
    this.set({ status: 'paused' });
    if (!this.run.busy) void this.pump(this.run);
  }

  step(): void {
    this.pause();
    const { status, moment } = this.current;
    if (moment !== null) {
      this.showMoment(moment + 1);
      return;
    }
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

  private showMoment(moment: number): void {
    const end = this.current.log?.length ?? 0;
    this.set({ moment: moment >= end ? null : Math.max(0, moment) });
  }

  private async openEither(files: readonly File[]): Promise<void> {
    const isRun = files.length === 1 && isRunFile(await files[0].slice(0, 64).text());
    if (isRun) await this.openRun(files[0]);
    else await this.open({ sample: null }, () => loadFiles(files));
  }

  private async showSaved(request: number, name: string, saved: SavedRun): Promise<void> {
    if (request !== this.request) return;
    const old = this.run;
    this.run = null;
    await old?.close();
    if (request !== this.request) return;
    const { trace, settings, log, moment, bookmarks, place } = saved;
    this.set({
      status: 'finished',
      problem: null,
      sample: null,
      trace,
      applied: settings,
      draft: settings,
      place: null,
      look: lookAt(log, log.length),
      log,
      moment: moment >= log.length ? null : moment,
      isPlaying: false,
      bookmarks,
      saved: { name, place },
      runs: this.current.runs + 1,
    });
  }

  private async open(
    origin: { sample: Sample['id'] | null; linked?: LinkedMoment },
    read: () => Promise<{ trace: LoadedTrace; settings: RunSettings }>,
  ): Promise<void> {
    this.request += 1;
    const request = this.request;
    const { status } = this.current;
    const before = status === 'ready' || status === 'finished' ? status : 'paused';
    cancelAnimationFrame(this.frame);
    this.set({ status: 'reading', problem: null, isPlaying: false });
    try {
      const { trace, settings: suited } = await read();
      if (request !== this.request) return;
      // Where the pages live is the reader's choice for good. The fence is on again: a new trace begins as it should be.
      const { linked } = origin;
      const settings = linked ? suited : { ...suited, worker: this.current.draft.worker };
      this.set({ trace, sample: origin.sample, draft: settings });
      await this.restart({ trace, settings, andRun: false });
      if (linked && request + 1 === this.request && this.run !== null) this.runTo(linked);
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
    this.goal = null;
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
        log: run.log,
        moment: null,
        isPlaying: false,
        bookmarks: [],
        saved: null,
        runs: this.current.runs + 1,
      });
      if (andRun) this.go();
    } catch (error) {
      if (request !== this.request) return;
      this.set({
        status: 'failed',
        look: null,
        log: null,
        moment: null,
        problem: { title: 'The run cannot start', message: messageOf(error) },
      });
    }
  }

  /** Runs to a moment as fast as it goes, and pauses there. */
  private runTo({ moment, bookmarks }: LinkedMoment): void {
    this.set({ bookmarks });
    if (moment === 0) return;
    this.go();
    this.goal = moment;
  }

  private go(): void {
    this.credit = 1;
    this.wanted = 0;
    this.frameAt = performance.now();
    this.set({ status: 'running', problem: null, moment: null });
    this.frame = requestAnimationFrame(this.onFrame);
  }

  /** The browser calls it for visible tabs only: a hidden one stands still and goes on where it was. */
  private readonly onFrame = (now: number): void => {
    const { run } = this;
    const { status, speed, isPlaying } = this.current;
    if (isPlaying) {
      this.playOn(now);
      return;
    }
    if (!run || status !== 'running') return;
    const seconds = Math.max(0, now - this.frameAt) / 1000;
    this.frameAt = now;
    this.credit =
      speed === Infinity || this.goal !== null
        ? Infinity
        : Math.min(this.credit + seconds * speed, 1 + speed * CREDIT_SECONDS);
    if (!run.busy && this.credit >= 1) void this.pump(run);
    this.frame = requestAnimationFrame(this.onFrame);
  };

  /** The recording goes on; at its end a run that was paused does, and one that is over stays so. */
  private playOn(now: number): void {
    const { speed, moment, log, status } = this.current;
    const seconds = Math.max(0, now - this.frameAt) / 1000;
    this.frameAt = now;
    // A picture shows one moment: faster than pictures come, moments are left out.
    this.credit =
      speed === Infinity ? 1 : Math.min(this.credit + seconds * speed, 1 + speed * CREDIT_SECONDS);
    const steps = Math.floor(this.credit);
    this.credit -= steps;
    if (steps > 0 && moment !== null) this.showMoment(moment + steps);
    if (this.current.moment !== null && log !== null) {
      this.frame = requestAnimationFrame(this.onFrame);
      return;
    }
    this.set({ isPlaying: false });
    if (this.run !== null && status === 'paused') this.go();
  }

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
      this.set({ status: 'finished', look: run.look(), problem: this.missedGoal(run) });
      this.goal = null;
      return;
    }
    this.publish(run);
    // Asked for while the witness was being read.
    if (this.wanted > 0) void this.pump(run);
  }

  private missedGoal(run: LiveRun): Problem | null {
    if (this.goal === null) return null;
    const message = `It is over after ${run.log.length} steps; the link names moment ${this.goal}.`;
    return { title: 'This run is shorter than its link says', message };
  }

  private takeStep(end: number): boolean {
    const { status } = this.current;
    if (status === 'paused' && this.wanted > 0) {
      this.wanted -= 1;
      return true;
    }
    if (status === 'running' && this.goal !== null && (this.run?.log.length ?? 0) >= this.goal) {
      this.goal = null;
      this.set({ status: 'paused' });
      return false;
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
