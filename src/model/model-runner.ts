/**
 * Runs a model as the forward part of an engine's steps: on a device, or on the CPU. Both keep the logits of the last
 * step until the next one, for whoever samples.
 */
import { DeviceError, invariant } from '../errors.ts';
import type { PageSegment } from '../gpu/page-buffers.ts';
import type { WebGpuWorker } from '../gpu/worker.ts';
import type { StepPlan } from '../schedule/step-plan.ts';
import { pageId, type RequestId } from '../units.ts';
import { ForwardPass, type ForwardPassOptions } from './gpu/forward-pass.ts';
import type { Model } from './model.ts';
import { ReferenceModel } from './reference/forward.ts';
import type { PageSizes } from './attention-shape.ts';

type Logits = Float32Array<ArrayBuffer>;

export interface ModelRunner {
  /** The logits of a request's last token in the last step, [vocabulary]. */
  logits(request: RequestId): Promise<Logits>;
  close(): Promise<void>;
}

/** The logits of one step, by request. */
class StepLogits {
  private requests: readonly RequestId[] = [];
  private rows: Promise<readonly Logits[]> = Promise.resolve([]);

  keep({ forward }: StepPlan, rows: Promise<readonly Logits[]>): void {
    this.requests = forward.map(({ requestId }) => requestId);
    this.rows = rows;
    // Nobody may ask: a step of chunks alone samples nothing.
    rows.catch(() => undefined);
  }

  async of(request: RequestId): Promise<Logits> {
    const row = this.requests.indexOf(request);
    invariant(row >= 0, `request ${request} was not computed in the last step`);
    return (await this.rows)[row];
  }
}

/** Give `run` to the worker as its `forward`. */
export class DeviceModelRunner implements ModelRunner {
  private readonly step = new StepLogits();
  private pass: ForwardPass | null = null;

  /** Before the first step with a forward part: the worker is there only after its `forward` is chosen. */
  async attach(
    worker: Pick<WebGpuWorker, 'locate' | 'device'>,
    options: Omit<ForwardPassOptions, 'device' | 'segments'> & { readonly pages: number },
  ): Promise<void> {
    const segments = segmentsOf(worker, options.pages);
    this.pass = await ForwardPass.create({ ...options, device: worker.device, segments });
  }

  readonly run = (plan: StepPlan): void => {
    if (plan.forward.length === 0) return;
    if (this.pass === null)
      throw new DeviceError('the model is not attached to the worker yet; attach it first');
    this.step.keep(plan, this.pass.run(plan.forward));
  };

  logits(request: RequestId): Promise<Logits> {
    return this.step.of(request);
  }

  async close(): Promise<void> {
    await this.pass?.close();
  }
}

/** Give `run` to a `SimulatedWorker` as its `forward`. */
export class ReferenceModelRunner implements ModelRunner {
  private readonly step = new StepLogits();
  private readonly reference: ReferenceModel;

  constructor(model: Model, sizes: PageSizes) {
    this.reference = new ReferenceModel(model, sizes);
  }

  readonly run = (plan: StepPlan, pool: Uint32Array<ArrayBuffer>): void => {
    if (plan.forward.length === 0) return;
    const rows = this.reference.forward(new Float32Array(pool.buffer), plan.forward);
    this.step.keep(plan, Promise.resolve(rows));
  };

  logits(request: RequestId): Promise<Logits> {
    return this.step.of(request);
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
