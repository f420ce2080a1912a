/**
 * Runs a model as the forward part of an engine's steps: on a device, or on the CPU. Both keep the logits of the last
 * step until the next one, for whoever samples.
 */
import { DeviceError, invariant } from '../errors.ts';
import type { PageSegment } from '../gpu/page-buffers.ts';
import type { WebGpuWorker } from '../gpu/worker.ts';
import type { StepPlan } from '../schedule/step-plan.ts';
import { NULL_PAGE, pageId, type PageId, type RequestId } from '../units.ts';
import { DeviceDrafter } from './gpu/drafter.ts';
import { ForwardPass, type ForwardPassOptions } from './gpu/forward-pass.ts';
import { draftJobOf, type DraftJob } from './drafter.ts';
import type { Model } from './model.ts';
import { ReferenceDrafter } from './reference/drafter.ts';
import { ReferenceModel } from './reference/forward.ts';
import type { PageSizes } from './attention-shape.ts';

type Logits = Float32Array<ArrayBuffer>;

export interface ModelRunner {
  /** The logits of a request's last token in the last step, or of a draft behind it (from 1 on), [vocabulary]. */
  logits(request: RequestId, draft?: number): Promise<Logits>;
  /** By request: tokens that the drafter has next. Hands off the states of the drafts that were right. */
  propose(wanted: readonly DraftWish[]): Promise<readonly (readonly number[])[]>;
  close(): Promise<void>;
}

/** Where a request stands that the last step computed. */
export interface DraftWish {
  readonly request: RequestId;
  /** Drafts of the last step that were right. */
  readonly accepted: number;
  /** The last token of the sequence, which is not computed yet. */
  readonly token: number;
  readonly tokensMax: number;
}

/** The group of the drafter's states, and its tokens a page. */
export interface DraftGroup {
  readonly group: number;
  readonly tokensPerPage: number;
}

/** Guards of a runner that tests take away. */
export interface DraftGuards {
  /** States go on from verified tokens alone. `false`: the state behind all drafts goes on, as if all were right. */
  readonly verifiedStates?: boolean;
}

/** Which pages hold the states that the last step wrote: after each draft, until it is known which are right. */
class RunningStates {
  private readonly verifies: boolean;
  private pages = new Map<RequestId, readonly PageId[]>();

  constructor({ verifiedStates = true }: DraftGuards) {
    this.verifies = verifiedStates;
  }

  /** The drafter's part of a step. */
  jobs({ forward }: StepPlan, group: DraftGroup): DraftJob[] {
    const jobs = forward.map((request) => draftJobOf(request, group));
    this.pages = new Map(forward.map(({ requestId }, i) => [requestId, jobs[i].targets]));
    return jobs;
  }

  wish({ request, accepted: verified, token, tokensMax }: DraftWish): DraftJob {
    const [running, ...drafted] = this.pages.get(request) ?? [];
    const accepted = this.verifies ? verified : drafted.length;
    const source = accepted === 0 ? running : drafted[accepted - 1];
    invariant(source !== undefined, `request ${request} has no state behind ${accepted} drafts`);
    const handOff = accepted === 0 ? NULL_PAGE : running;
    return { source, handOff, tokens: [token], targets: [], proposals: tokensMax };
  }
}

/** The logits of one step, by request. */
class StepLogits {
  private readonly firstRows = new Map<RequestId, number>();
  private rows: Promise<readonly Logits[]> = Promise.resolve([]);

  keep({ forward }: StepPlan, rows: Promise<readonly Logits[]>): void {
    this.firstRows.clear();
    let row = 0;
    for (const { requestId, drafts = 0 } of forward) {
      this.firstRows.set(requestId, row);
      row += 1 + drafts;
    }
    this.rows = rows;
    // Nobody may ask: a step of chunks alone samples nothing.
    rows.catch(() => undefined);
  }

  async of(request: RequestId, draft: number): Promise<Logits> {
    const row = this.firstRows.get(request);
    invariant(row !== undefined, `request ${request} was not computed in the last step`);
    return (await this.rows)[row + draft];
  }
}

/** Give `run` to the worker as its `forward`. */
export class DeviceModelRunner implements ModelRunner {
  private readonly step = new StepLogits();
  private readonly states: RunningStates;
  private pass: ForwardPass | null = null;
  private drafter: { readonly group: DraftGroup; readonly device: DeviceDrafter } | null = null;

  constructor(guards: DraftGuards = {}) {
    this.states = new RunningStates(guards);
  }

  /** Before the first step with a forward part: the worker is there only after its `forward` is chosen. */
  async attach(
    worker: Pick<WebGpuWorker, 'locate' | 'device'>,
    options: Omit<ForwardPassOptions, 'device' | 'segments'> & {
      readonly pages: number;
      readonly draftGroup?: DraftGroup | null;
    },
  ): Promise<void> {
    const segments = segmentsOf(worker, options.pages);
    if (options.draftGroup) {
      const device = await DeviceDrafter.create({ ...options, device: worker.device, segments });
      this.drafter = { group: options.draftGroup, device };
    }
    this.pass = await ForwardPass.create({ ...options, device: worker.device, segments });
  }

  readonly run = (plan: StepPlan): void => {
    if (plan.forward.length === 0) return;
    if (this.pass === null)
      throw new DeviceError('the model is not attached to the worker yet; attach it first');
    this.step.keep(plan, this.pass.run(plan.forward));
    if (this.drafter) this.drafter.device.advance(this.states.jobs(plan, this.drafter.group));
  };

  propose(wanted: readonly DraftWish[]): Promise<readonly (readonly number[])[]> {
    return this.drafter!.device.propose(wanted.map((wish) => this.states.wish(wish)));
  }

  logits(request: RequestId, draft = 0): Promise<Logits> {
    return this.step.of(request, draft);
  }

  async close(): Promise<void> {
    await this.pass?.close();
    await this.drafter?.device.close();
  }
}

/** Give `run` to a `SimulatedWorker` as its `forward`. */
export class ReferenceModelRunner implements ModelRunner {
  private readonly step = new StepLogits();
  private readonly reference: ReferenceModel;
  private readonly states: RunningStates;
  private readonly drafter: { readonly group: DraftGroup; readonly reference: ReferenceDrafter } | null;
  private pool = new Float32Array(0);

  constructor(model: Model, sizes: PageSizes, group: DraftGroup | null = null, guards: DraftGuards = {}) {
    this.states = new RunningStates(guards);
    this.reference = new ReferenceModel(model, sizes);
    this.drafter = group && { group, reference: new ReferenceDrafter(model, sizes) };
  }

  readonly run = (plan: StepPlan, pool: Uint32Array<ArrayBuffer>): void => {
    if (plan.forward.length === 0) return;
    this.pool = new Float32Array(pool.buffer);
    const rows = this.reference.forward(this.pool, plan.forward);
    this.step.keep(plan, Promise.resolve(rows));
    if (this.drafter === null) return;
    for (const job of this.states.jobs(plan, this.drafter.group)) this.drafter.reference.run(this.pool, job);
  };

  propose(wanted: readonly DraftWish[]): Promise<readonly (readonly number[])[]> {
    return Promise.resolve(
      wanted.map((wish) => this.drafter!.reference.run(this.pool, this.states.wish(wish))),
    );
  }

  logits(request: RequestId, draft = 0): Promise<Logits> {
    return this.step.of(request, draft);
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** The buffers that a pool's pages are in. */
function segmentsOf(worker: Pick<WebGpuWorker, 'locate'>, pages: number): PageSegment[] {
  const segments: { index: number; buffer: GPUBuffer; firstPage: number; pages: number }[] = [];
  for (let page = 0; page < pages; page += 1) {
    const { buffer } = worker.locate(pageId(page));
    const last = segments.at(-1);
    if (last?.buffer === buffer) last.pages += 1;
    else segments.push({ index: segments.length, buffer, firstPage: page, pages: 1 });
  }
  return segments;
}
