/**
 * The commands of one submit. They are kept as data until `submit`, because their lists have to be on the device
 * before the first of them is recorded (see `parameters.ts`).
 */
import { ceilDiv } from '../units.ts';
import type { BufferLedger } from './buffers.ts';
import { ParameterArena, type ParameterRegion } from './parameters.ts';
import type { Pipeline } from './pipelines.ts';

/** A buffer, part of one, or a list that was reserved in `parameters`. */
export type Binding = GPUBuffer | GPUBufferBinding | ParameterRegion;

type Command =
  | {
      readonly kind: 'dispatch';
      readonly pipeline: Pipeline;
      readonly bindings: readonly Binding[];
      readonly workgroups: number;
    }
  | {
      readonly kind: 'copy';
      readonly source: GPUBuffer;
      readonly sourceOffset: number;
      readonly destination: GPUBuffer;
      readonly destinationOffset: number;
      readonly bytes: number;
    }
  | { readonly kind: 'clear'; readonly buffer: GPUBuffer; readonly offset: number; readonly bytes: number };

/** Workgroups that one dispatch can take when they are numbered with 32 bits; far below 65,535 squared. */
export const WORKGROUPS_MAX = 2 ** 31;

/** Spreads workgroups over x and y, since one dimension ends at `perDimensionMax`; a few of them may be surplus. */
export function workgroupGrid(workgroups: number, perDimensionMax: number): { x: number; y: number } {
  const y = ceilDiv(workgroups, perDimensionMax);
  return { x: ceilDiv(workgroups, y), y };
}

export class CommandList {
  readonly parameters: ParameterArena;
  private readonly device: GPUDevice;
  private commands: Command[] = [];

  private readonly perDimensionMax: number;

  /** `workgroupsPerDimensionMax`: below the device's own, for tests that want many rows of workgroups. */
  constructor(ledger: BufferLedger, options: { workgroupsPerDimensionMax?: number } = {}) {
    this.device = ledger.device;
    this.perDimensionMax =
      options.workgroupsPerDimensionMax ?? ledger.device.limits.maxComputeWorkgroupsPerDimension;
    this.parameters = new ParameterArena(ledger);
  }

  /** Whether nothing was recorded since the last submit. */
  get empty(): boolean {
    return this.commands.length === 0;
  }

  /** Runs a kernel, bindings by number. Its lists must have been reserved since the last submit. */
  dispatch(pipeline: Pipeline, bindings: readonly Binding[], workgroups: number): void {
    if (workgroups > 0) this.commands.push({ kind: 'dispatch', pipeline, bindings, workgroups });
  }

  copy(
    source: GPUBuffer,
    sourceOffset: number,
    destination: GPUBuffer,
    destinationOffset: number,
    bytes: number,
  ): void {
    this.commands.push({ kind: 'copy', source, sourceOffset, destination, destinationOffset, bytes });
  }

  clear(buffer: GPUBuffer, offset: number, bytes: number): void {
    this.commands.push({ kind: 'clear', buffer, offset, bytes });
  }

  /** Submits all commands in their order. Nothing is submitted where there are none. */
  submit(label: string): void {
    if (this.commands.length === 0) return;
    this.parameters.upload();
    const encoder = this.device.createCommandEncoder({ label });
    // Dispatches in one pass still see each other's writes: each is a usage scope of its own.
    let pass: GPUComputePassEncoder | null = null;
    for (const command of this.commands) {
      if (command.kind === 'dispatch') {
        pass ??= encoder.beginComputePass({ label });
        this.encodeDispatch(pass, command);
        continue;
      }
      pass?.end();
      pass = null;
      if (command.kind === 'clear') {
        encoder.clearBuffer(command.buffer, command.offset, command.bytes);
      } else {
        const { source, sourceOffset, destination, destinationOffset, bytes } = command;
        encoder.copyBufferToBuffer(source, sourceOffset, destination, destinationOffset, bytes);
      }
    }
    pass?.end();
    this.commands = [];
    this.device.queue.submit([encoder.finish({ label })]);
  }

  /** Forgets what was recorded: for a step that cannot be carried out. */
  discard(): void {
    this.commands = [];
    this.parameters.discard();
  }

  private encodeDispatch(pass: GPUComputePassEncoder, command: Command & { kind: 'dispatch' }): void {
    const { pipeline, bindings, workgroups } = command;
    const { name } = pipeline.kernel;
    const entries = bindings.map((binding, index) => ({ binding: index, resource: this.resource(binding) }));
    pass.setPipeline(pipeline.pipeline);
    pass.setBindGroup(0, this.device.createBindGroup({ label: name, layout: pipeline.layout, entries }));
    const { x, y } = workgroupGrid(workgroups, this.perDimensionMax);
    pass.dispatchWorkgroups(x, y);
  }

  private resource(binding: Binding): GPUBufferBinding {
    if ('byteOffset' in binding) return this.parameters.binding(binding);
    return 'buffer' in binding ? binding : { buffer: binding };
  }
}
