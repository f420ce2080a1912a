/** The drafter on the device: a workgroup a request moves states on, from page to page, and proposes tokens. */
import { ConfigError } from '../../errors.ts';
import { BufferLedger, mappedBytes } from '../../gpu/buffers.ts';
import { CommandList } from '../../gpu/commands.ts';
import { BufferUsage, MapMode } from '../../gpu/constants.ts';
import { DeviceWatch } from '../../gpu/device.ts';
import type { PageSegment } from '../../gpu/page-buffers.ts';
import { compileKernel, type Pipeline } from '../../gpu/pipelines.ts';
import { WORD_BYTES } from '../../units.ts';
import type { DraftJob } from '../drafter.ts';
import type { Model } from '../model.ts';
import { toFloat32 } from '../number-formats.ts';
import { MODEL_KERNELS } from './kernels.ts';
import { words } from './model-kernels.ts';

export interface DeviceDrafterOptions {
  readonly device: GPUDevice;
  readonly model: Model;
  /** Bytes from one page to the next. */
  readonly strideBytes: number;
  readonly segments: readonly PageSegment[];
  readonly requestsMax: number;
  readonly draftTokens?: number;
}

/** `WIDTH_MAX` of `drafter.wgsl`. */
const WIDTH_MAX = 1024;

export class DeviceDrafter {
  private readonly ledger: BufferLedger;
  private readonly watch: DeviceWatch;
  private readonly commands: CommandList;
  private readonly pool: GPUBuffer;
  private readonly pipeline: Pipeline;
  private readonly weights: GPUBuffer;
  private readonly embedding: GPUBuffer;
  private readonly proposed: GPUBuffer;
  private readonly readback: GPUBuffer;

  /** Throws `ConfigError` or `DeviceError` that names what does not fit. */
  static async create(options: DeviceDrafterOptions): Promise<DeviceDrafter> {
    const { device, model, strideBytes, segments } = options;
    const { hiddenSize, vocabSize, rmsEpsilon, drafter } = model.config;
    if (segments.length > 1) {
      throw new ConfigError(
        `draftTokens needs a pool in one buffer, and this one takes ${segments.length}; use fewer poolPages`,
      );
    }
    if (hiddenSize > WIDTH_MAX) {
      throw new ConfigError(
        `a drafter of width ${hiddenSize} exceeds the ${WIDTH_MAX} of its kernel; leave draftTokens out`,
      );
    }
    const ledger = new BufferLedger(device);
    const watch = new DeviceWatch(device);
    try {
      const pipeline = await watch.guard(
        compileKernel(device, MODEL_KERNELS.drafter, {
          width: hiddenSize,
          vocabulary: vocabSize,
          page_stride: strideBytes / WORD_BYTES,
          embed_scale: drafter!.embedScale,
          epsilon: rmsEpsilon,
        }),
      );
      const made = new DeviceDrafter(options, { ledger, watch, pipeline });
      await watch.guard(ledger.settle());
      return made;
    } catch (error) {
      ledger.destroyAll();
      throw error;
    }
  }

  private constructor(
    { device, model, segments, requestsMax, draftTokens = 1 }: DeviceDrafterOptions,
    parts: { readonly ledger: BufferLedger; readonly watch: DeviceWatch; readonly pipeline: Pipeline },
  ) {
    const { input, gate, output, skip, stateNorm, norm, decay } = model.drafter!;
    const { ledger } = parts;
    this.ledger = ledger;
    this.watch = parts.watch;
    this.pipeline = parts.pipeline;
    this.commands = new CommandList(ledger);
    this.pool = segments[0].buffer;
    const upload = (label: string, numbers: Float32Array<ArrayBuffer>): GPUBuffer => {
      const buffer = ledger.create(label, numbers.byteLength, BufferUsage.STORAGE | BufferUsage.COPY_DST);
      device.queue.writeBuffer(buffer, 0, numbers);
      return buffer;
    };
    const lists = [input, gate, output, skip, stateNorm, norm].map(toFloat32);
    lists.push(toFloat32(decay).map((number) => 1 / (1 + Math.exp(-number))));
    const all = new Float32Array(lists.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const list of lists) {
      all.set(list, at);
      at += list.length;
    }
    this.weights = upload('drafter', all);
    this.embedding = upload('embedding of the drafter', toFloat32(model.weights.embedding));
    const bytes = requestsMax * draftTokens * WORD_BYTES;
    this.proposed = ledger.create('proposed tokens', bytes, BufferUsage.STORAGE | BufferUsage.COPY_SRC);
    this.readback = ledger.create('drafts read-back', bytes, BufferUsage.MAP_READ | BufferUsage.COPY_DST);
  }

  /** Submits jobs that propose nothing. */
  advance(jobs: readonly DraftJob[]): void {
    this.record(jobs);
    this.commands.submit('drafter');
  }

  /** Submits jobs and resolves to what each proposes. One call at a time. */
  async propose(jobs: readonly DraftJob[]): Promise<number[][]> {
    const count = this.record(jobs);
    const bytes = count * WORD_BYTES;
    if (count > 0) this.commands.copy(this.proposed, 0, this.readback, 0, bytes);
    this.commands.submit('drafts');
    if (count === 0) return jobs.map(() => []);
    const { readback } = this;
    try {
      await this.watch.guard(readback.mapAsync(MapMode.READ));
    } catch (error) {
      throw await this.watch.explain(error);
    }
    const tokens = new Uint32Array(mappedBytes(readback, readback.size).slice(0, bytes).buffer);
    readback.unmap();
    let at = 0;
    return jobs.map(({ proposals }) => [...tokens.subarray(at, (at += proposals))]);
  }

  close(): Promise<void> {
    this.ledger.destroyAll();
    return Promise.resolve();
  }

  /** Gives the number of tokens that are proposed. */
  private record(jobs: readonly DraftJob[]): number {
    const entries: number[] = [];
    const lists: number[] = [];
    let proposals = 0;
    for (const job of jobs) {
      const firstToken = lists.length;
      const firstTarget = firstToken + job.tokens.length;
      lists.push(...Array.from(job.tokens), ...job.targets);
      entries.push(job.source, job.handOff, firstToken, job.tokens.length, firstTarget, job.targets.length);
      entries.push(job.proposals, proposals);
      proposals += job.proposals;
    }
    if (jobs.length === 0) return 0;
    const { commands } = this;
    const bindings = [this.pool, this.weights, this.embedding, words(commands, entries)];
    commands.dispatch(this.pipeline, [...bindings, words(commands, lists), this.proposed], jobs.length);
    return proposals;
  }
}
