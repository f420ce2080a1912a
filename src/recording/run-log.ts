/**
 * A recorded run: one delta a step, and the whole state now and then, so that every moment is found soon. Moment n is the
 * state after n recorded steps; moment 0 is the one before the first.
 */
import { ConfigError, invariant } from '../errors.ts';
import type { EngineView } from '../inspect.ts';
import type { WitnessReport } from '../schedule/step-plan.ts';
import type { PrefixKey } from '../units.ts';
import { counterRecord } from './counters.ts';
import { weightOf, type Delta } from './delta.ts';
import { JobSpans } from './job-spans.ts';
import { applyDelta, copyState, emptyState, type MomentState, type Sizes } from './moment-state.ts';
import type { RecordedStep } from './recorded-step.ts';
import { viewOf } from './view-of.ts';

/** A recording as plain data. `counters` names the numbers that are counted. */
export interface RunParts {
  readonly pages: number;
  readonly slots: number;
  readonly groups: number;
  readonly counters: readonly string[];
  readonly keys: readonly PrefixKey[];
  readonly first: Delta;
  readonly deltas: readonly Delta[];
  readonly witness: readonly WitnessReading[];
}

/** What the witness had found when it was read after `moment` steps. */
export interface WitnessReading {
  readonly moment: number;
  readonly report: WitnessReport;
}

/** Everything that is known of one moment. */
export interface RecordedMoment<Counters> {
  readonly moment: number;
  readonly view: EngineView;
  readonly counters: Counters;
  /** The step that led here; null at moment 0. */
  readonly last: RecordedStep | null;
  /** The last reading before or at this moment; null where there is none. */
  readonly witness: WitnessReading | null;
}

/**
 * Deltas between two whole states: as many as come to half a state, so that both take about the same room, but not so many
 * that a seek takes long, and not so few as half the state of a tiny pool.
 */
const KEYFRAME_STEPS_MIN = 16;
const KEYFRAME_STEPS_MAX = 128;

export class RunLog<Counters = Readonly<Record<string, unknown>>> {
  readonly sizes: Sizes;
  readonly counterNames: readonly string[];
  readonly keys: PrefixKey[];
  readonly witness: WitnessReading[] = [];
  /** Every transfer so far. */
  readonly jobs = new JobSpans();
  private readonly first: Delta;
  private readonly deltas: Delta[] = [];
  private readonly keyframes: { readonly moment: number; readonly state: MomentState }[] = [];
  private readonly newest: MomentState;
  private weight = 0;
  private cursor: { moment: number; state: MomentState };
  private shown: EngineView | null = null;

  /** Throws `InvariantError` where the deltas do not follow on each other. */
  constructor(parts: RunParts) {
    const { pages, slots, groups, counters, keys, first, deltas, witness } = parts;
    this.sizes = { pages, slots, groups, counters: counters.length };
    this.counterNames = counters;
    this.keys = [...keys];
    this.first = first;
    this.newest = emptyState(this.sizes);
    applyDelta(this.newest, first, this.context);
    this.newest.step = null;
    const state = copyState(this.newest);
    this.keyframes.push({ moment: 0, state });
    this.cursor = { moment: 0, state: copyState(state) };
    for (const delta of deltas) this.append(delta);
    for (const reading of witness) this.addWitness(reading);
  }

  /** Steps so far, and so the last moment. */
  get length(): number {
    return this.deltas.length;
  }

  /** Whole states that are kept. */
  get keyframeCount(): number {
    return this.keyframes.length;
  }

  /** What the last recorded step left. It changes with every step. */
  get end(): Readonly<MomentState> {
    return this.newest;
  }

  /** Throws `InvariantError` for one that does not follow on the last. */
  append(delta: Delta): void {
    applyDelta(this.newest, delta, this.context);
    this.jobs.add(this.length, delta);
    this.deltas.push(delta);
    this.weight += weightOf(delta);
    const { moment } = this.keyframes[this.keyframes.length - 1];
    const steps = this.length - moment;
    const isHeavy = this.weight >= (this.sizes.pages + this.sizes.slots) / 2;
    const due = steps >= KEYFRAME_STEPS_MAX || (isHeavy && steps >= KEYFRAME_STEPS_MIN);
    if (!due) return;
    this.keyframes.push({ moment: this.length, state: copyState(this.newest) });
    this.weight = 0;
  }

  /** Throws `InvariantError` for a moment that was not recorded, or one before the last reading. */
  addWitness(reading: WitnessReading): void {
    const last = this.witness[this.witness.length - 1];
    invariant(
      reading.moment <= this.length && reading.moment >= (last?.moment ?? 0),
      `the witness was read at moment ${reading.moment}, which was not recorded or is before the last reading`,
    );
    if (last?.moment === reading.moment) this.witness.pop();
    this.witness.push(reading);
  }

  /** The step that leads from moment `index` to the next. */
  step(index: number): RecordedStep {
    return this.deltas[index].step;
  }

  /** Throws `ConfigError` for a moment that was not recorded. */
  at(moment: number): RecordedMoment<Counters> {
    if (!Number.isInteger(moment) || moment < 0 || moment > this.length) {
      throw new ConfigError(`moment ${moment} was not recorded; use a whole number from 0 to ${this.length}`);
    }
    const state = this.seek(moment);
    this.shown = viewOf(state, { keys: this.keys, before: this.shown });
    return {
      moment,
      view: this.shown,
      counters: counterRecord(this.counterNames, state.counters) as Counters,
      last: state.step,
      witness: this.witnessAt(moment),
    };
  }

  /** All of it as plain data. */
  toParts(): RunParts {
    const { pages, slots, groups } = this.sizes;
    const { keys, first, deltas, witness, counterNames: counters } = this;
    return { pages, slots, groups, counters, keys, first, deltas, witness };
  }

  private get context() {
    return { ...this.sizes, keyCount: this.keys.length };
  }

  private seek(moment: number): MomentState {
    const keyframe = this.keyframes.findLast((candidate) => candidate.moment <= moment)!;
    if (this.cursor.moment > moment || this.cursor.moment < keyframe.moment) {
      this.cursor = { moment: keyframe.moment, state: copyState(keyframe.state) };
    }
    const { cursor, context } = this;
    for (; cursor.moment < moment; cursor.moment += 1) {
      applyDelta(cursor.state, this.deltas[cursor.moment], context);
    }
    return cursor.state;
  }

  private witnessAt(moment: number): WitnessReading | null {
    return this.witness.findLast((reading) => reading.moment <= moment) ?? null;
  }
}
