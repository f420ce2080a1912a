/** What the cases do again and again on a device: fill, submit, read back, ask for errors, compare. */
import { BufferUsage, MapMode } from '../gpu/constants.ts';
import { WORD_BYTES } from '../units.ts';
import type { CaseContext } from './case.ts';

/** Where no word is zero, and each tells its place and its seed. */
export function pattern(words: number, seed = 0): Uint32Array<ArrayBuffer> {
  return Uint32Array.from({ length: words }, (_, i) => Math.imul(i + 1 + seed * 4099, 0x9e3779b1) | 1);
}

const HEX = (value: number | undefined) => `0x${(value ?? 0).toString(16).padStart(8, '0')}`;

/** Null where both hold the same words, else one line that names the first that differs. */
export function difference(actual: Uint32Array, expected: Uint32Array, what = 'buffer'): string | null {
  if (actual.length !== expected.length) {
    return `${what}: ${actual.length} words where ${expected.length} were expected`;
  }
  let first = -1;
  let count = 0;
  for (let i = 0; i < expected.length; i += 1) {
    if (actual[i] === expected[i]) continue;
    if (count === 0) first = i;
    count += 1;
  }
  if (count === 0) return null;
  return (
    `${what}: ${count} of ${expected.length} words differ, the first at byte ${first * WORD_BYTES}: ` +
    `${HEX(actual[first])} instead of ${HEX(expected[first])}`
  );
}

/** What a promise was rejected with. `name` is that of the exception. */
export interface Rejection {
  readonly name: string;
  readonly message: string;
}

export function asRejection(error: unknown): Rejection {
  const { name = 'no name', message = String(error) } = (error ?? {}) as Partial<Rejection>;
  return { name, message };
}

/** The exception that a call throws, or null. */
export function thrownBy(call: () => unknown): Rejection | null {
  try {
    call();
    return null;
  } catch (error) {
    return asRejection(error);
  }
}

/** Null where the exception has one of these names, else the problem. */
export function expectException(
  what: string,
  actual: Rejection | null,
  ...names: readonly string[]
): string | null {
  if (actual === null) return `${what}: no exception, expected ${names.join(' or ')}`;
  if (names.includes(actual.name)) return null;
  return `${what}: ${actual.name} (${actual.message}), expected ${names.join(' or ')}`;
}

export interface Dispatch {
  readonly pipeline: GPUComputePipeline;
  /** By binding number, all in group 0. */
  readonly bindings: readonly (GPUBuffer | GPUBufferBinding)[];
  readonly workgroups: readonly [x: number, y?: number, z?: number];
}

/** Buffers that a workbench makes are small; they go with the device. */
export class Workbench {
  readonly device: GPUDevice;
  private readonly context: CaseContext;

  constructor(context: CaseContext, device: GPUDevice = context.device) {
    this.context = context;
    this.device = device;
  }

  /** A buffer that holds these words, or zeros where a number of bytes is given. */
  buffer(contents: Uint32Array | number, usage: GPUBufferUsageFlags, label = 'conformance'): GPUBuffer {
    if (typeof contents === 'number') return this.device.createBuffer({ label, size: contents, usage });
    const size = contents.byteLength;
    if (size === 0) return this.device.createBuffer({ label, size, usage });
    const buffer = this.device.createBuffer({ label, size, usage, mappedAtCreation: true });
    new Uint32Array(buffer.getMappedRange()).set(contents);
    buffer.unmap();
    return buffer;
  }

  /** A buffer for copies to and from. */
  plain(contents: Uint32Array | number): GPUBuffer {
    return this.buffer(contents, BufferUsage.COPY_SRC | BufferUsage.COPY_DST);
  }

  /** A buffer that kernels read and write as well. */
  storage(contents: Uint32Array | number): GPUBuffer {
    return this.buffer(contents, BufferUsage.STORAGE | BufferUsage.COPY_SRC | BufferUsage.COPY_DST);
  }

  /** A buffer to copy to and to map, so that it is compared without a further copy. */
  readable(contents: Uint32Array | number): GPUBuffer {
    const buffer = this.buffer(contents, BufferUsage.MAP_READ | BufferUsage.COPY_DST);
    // Some implementations hold contents back until the next submit. `mapping/map-without-submit-*` look at that alone.
    if (typeof contents !== 'number') this.device.queue.submit([]);
    return buffer;
  }

  record(calls: (encoder: GPUCommandEncoder) => void): GPUCommandBuffer {
    const encoder = this.device.createCommandEncoder({ label: 'conformance' });
    calls(encoder);
    return encoder.finish();
  }

  submit(calls: (encoder: GPUCommandEncoder) => void): void {
    this.device.queue.submit([this.record(calls)]);
  }

  /** The words of a `readable` buffer, which is unmapped again. */
  async mapped(buffer: GPUBuffer): Promise<Uint32Array> {
    if (buffer.size === 0) return new Uint32Array(0);
    await this.context.wait(buffer.mapAsync(MapMode.READ), 'mapAsync');
    const words = new Uint32Array(buffer.getMappedRange().slice(0));
    buffer.unmap();
    return words;
  }

  /** The words of a buffer that can be copied from, after everything submitted so far. */
  async read(buffer: GPUBuffer, byteOffset = 0, bytes = buffer.size - byteOffset): Promise<Uint32Array> {
    const staging = this.readable(bytes);
    this.submit((encoder) => encoder.copyBufferToBuffer(buffer, byteOffset, staging, 0, bytes));
    const words = await this.mapped(staging);
    staging.destroy();
    return words;
  }

  /** The error that calls raise in a scope of this kind, or null. */
  async error(calls: () => unknown, filter: GPUErrorFilter = 'validation'): Promise<string | null> {
    this.device.pushErrorScope(filter);
    let popped: Promise<GPUError | null>;
    try {
      calls();
    } finally {
      popped = this.device.popErrorScope();
    }
    const error = await this.context.wait(popped, 'popErrorScope');
    return error === null ? null : error.message;
  }

  /** Null where the calls raise a validation error, else the problem. */
  async refused(what: string, calls: () => unknown): Promise<string | null> {
    return (await this.error(calls)) === null ? `${what}: accepted, expected a validation error` : null;
  }

  /** Null where the calls raise no validation error, else the problem. */
  async accepted(what: string, calls: () => unknown): Promise<string | null> {
    const error = await this.error(calls);
    return error === null ? null : `${what}: ${error.split('\n')[0]}`;
  }

  /** What a promise rejects with, or null where it resolves. */
  rejection(promise: Promise<unknown>, what: string): Promise<Rejection | null> {
    return this.context.wait(
      promise.then(
        () => null,
        (error: unknown) => asRejection(error),
      ),
      what,
    );
  }

  /** A pipeline of `main`, its layout taken from the code unless one is given. */
  async pipeline(
    code: string,
    options: { readonly constants?: Record<string, number>; readonly layout?: GPUBindGroupLayout } = {},
  ): Promise<GPUComputePipeline> {
    const module = this.device.createShaderModule({ label: 'conformance', code });
    const layout: GPUPipelineLayout | 'auto' =
      options.layout === undefined
        ? 'auto'
        : this.device.createPipelineLayout({ bindGroupLayouts: [options.layout] });
    const compute: GPUProgrammableStage = { module, entryPoint: 'main' };
    if (options.constants) compute.constants = options.constants;
    const descriptor: GPUComputePipelineDescriptor = { label: 'conformance', layout, compute };
    return this.context.wait(
      this.device.createComputePipelineAsync(descriptor),
      'createComputePipelineAsync',
    );
  }

  bindGroup(pipeline: GPUComputePipeline, bindings: Dispatch['bindings']): GPUBindGroup {
    return this.device.createBindGroup({
      layout: pipeline.getBindGroupLayout(0),
      entries: bindings.map((bound, binding) => ({
        binding,
        resource: 'buffer' in bound ? bound : { buffer: bound },
      })),
    });
  }

  /** Records dispatches in one pass. */
  dispatch(encoder: GPUCommandEncoder, ...dispatches: readonly Dispatch[]): void {
    const pass = encoder.beginComputePass();
    for (const { pipeline, bindings, workgroups } of dispatches) {
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, this.bindGroup(pipeline, bindings));
      pass.dispatchWorkgroups(...workgroups);
    }
    pass.end();
  }
}
