/**
 * Compiled kernels. One cache a device; a compile that is under way is shared by all who ask for it.
 */
import { DeviceError } from '../errors.ts';
import { ShaderStage } from './constants.ts';
import { kernelSource, type Kernel } from './kernels.ts';

export interface Pipeline {
  readonly kernel: Kernel;
  readonly pipeline: GPUComputePipeline;
  readonly layout: GPUBindGroupLayout;
}

const caches = new WeakMap<GPUDevice, Map<string, Promise<Pipeline>>>();

/** Compiles a kernel with the given override constants. Throws `DeviceError` with line, column and source. */
export function compileKernel(
  device: GPUDevice,
  kernel: Kernel,
  constants: Readonly<Record<string, number>>,
): Promise<Pipeline> {
  let cache = caches.get(device);
  if (!cache) caches.set(device, (cache = new Map<string, Promise<Pipeline>>()));
  const key = `${kernel.name} ${JSON.stringify(Object.entries(constants).sort())}`;
  let compiled = cache.get(key);
  if (!compiled) {
    compiled = compile(device, kernel, constants);
    cache.set(key, compiled);
    // A failure is not kept: the next caller gets its own attempt, and its own error.
    compiled.catch(() => cache.delete(key));
  }
  return compiled;
}

async function compile(
  device: GPUDevice,
  kernel: Kernel,
  constants: Readonly<Record<string, number>>,
): Promise<Pipeline> {
  const label = kernel.name;
  const visibility = ShaderStage.COMPUTE;
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ label, code: kernelSource(kernel) });
  const layout = device.createBindGroupLayout({
    label,
    entries: kernel.bindings.map(({ type }, binding) => ({ binding, visibility, buffer: { type } })),
  });
  const descriptor: GPUComputePipelineDescriptor = {
    label,
    layout: device.createPipelineLayout({ label, bindGroupLayouts: [layout] }),
    compute: { module, entryPoint: 'main', constants },
  };
  // The promise of the scope is taken before the first await, so that the scope covers these calls and no others.
  const scope = device.popErrorScope();
  const pipeline = device.createComputePipelineAsync(descriptor).then(
    (value) => ({ value, problem: '' }),
    (reason: unknown) => ({
      value: null,
      problem: reason instanceof Error ? reason.message : String(reason),
    }),
  );
  const error = await scope.catch(() => null);
  const { value, problem } = await pipeline;
  if (value !== null && error === null) return { kernel, pipeline: value, layout };
  const messages = await module.getCompilationInfo().then(
    (info) => info.messages.filter(({ type }) => type === 'error'),
    () => [],
  );
  const located = messages.map((message) => describeCompileError(kernel, message));
  throw new DeviceError(
    `kernel ${kernel.name} does not compile on this device: ${[error?.message ?? problem, ...located].join('\n')}`,
  );
}

/** `file:line:column: message` and the line itself, in the file that it comes from. */
export function describeCompileError(
  kernel: Kernel,
  { lineNum, linePos, message }: Pick<GPUCompilationMessage, 'lineNum' | 'linePos' | 'message'>,
): string {
  let line = lineNum;
  for (const { path, code } of kernel.files) {
    const lines = `${code}\n`.split('\n');
    const count = lines.length - 1;
    if (line >= 1 && line <= count) return `${path}:${line}:${linePos}: ${message}\n    ${lines[line - 1]}`;
    line -= count;
  }
  return `${kernel.name}: ${message}`;
}
