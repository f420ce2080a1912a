/** How errors are told: scopes, events, and what a refused command takes along. */
import { BufferUsage } from '../gpu/constants.ts';
import { macrotask } from '../event-loop.ts';
import { failed, firstProblem, passed, verdict, type CaseContext, type ConformanceCase } from './case.ts';
import { webgpu } from './spec.ts';
import { difference, expectException, pattern, Workbench } from './workbench.ts';

const SCOPES = webgpu('Error Scopes', 'error-scopes');
const POP = webgpu('GPUDevice.popErrorScope', 'dom-gpudevice-poperrorscope');
const UNCAPTURED = webgpu('Telemetry', 'telemetry');
const INVALID = webgpu('Invalid Internal Objects & Contagious Invalidity', 'invalidity');
const CREATE = webgpu('GPUDevice.createBuffer', 'dom-gpudevice-createbuffer');
const SUBMIT = webgpu('GPUQueue.submit', 'dom-gpuqueue-submit');

const TOLD = 'A pool that the device refuses is refused by the cache, with the reason.';
const WHOLE = 'A submit is carried out as a whole or not at all, and the cache is told which.';

/** A size that no device allows. */
const TOO_LARGE = Number.MAX_SAFE_INTEGER - 3;

/** Raises a validation error. */
function refusedBuffer(device: GPUDevice): GPUBuffer {
  return device.createBuffer({ size: 16, usage: BufferUsage.MAP_READ | BufferUsage.STORAGE });
}

/** The largest texture that the default limits allow: 256 GiB, more than there is. */
function hugeTexture(device: GPUDevice): GPUTexture {
  const { maxTextureDimension2D: side, maxTextureArrayLayers: layers } = device.limits;
  return device.createTexture({ size: [side, side, layers], format: 'rgba32float', usage: 0x2 });
}

async function memory(context: CaseContext) {
  const device = await context.requestDevice();
  device.pushErrorScope('validation');
  device.pushErrorScope('out-of-memory');
  const texture = hugeTexture(device);
  const scopes = [device.popErrorScope(), device.popErrorScope()];
  const [outOfMemory, validation] = await context.wait(Promise.all(scopes), 'popErrorScope');
  texture.destroy();
  return { outOfMemory, validation, device };
}

const SCOPE_CASES: readonly ConformanceCase[] = [
  {
    id: 'errors/validation',
    title: 'a refused call raises a validation error in the scope around it, and throws nothing',
    spec: SCOPES,
    promise: TOLD,
    run: async (context) => {
      const bench = new Workbench(context);
      return verdict(await bench.refused('usage MAP_READ with STORAGE', () => refusedBuffer(bench.device)));
    },
  },
  {
    id: 'errors/no-error',
    title: 'a scope without an error gives null',
    spec: POP,
    promise: TOLD,
    run: async (context) => {
      const bench = new Workbench(context);
      return verdict(await bench.accepted('createBuffer', () => bench.plain(16)));
    },
  },
  {
    id: 'errors/inner-scope-first',
    title: 'the innermost scope of the right kind takes the error',
    spec: SCOPES,
    promise: 'Scopes of the cache and of its user do not take each other\u2019s errors.',
    run: async (context) => {
      const { device } = new Workbench(context);
      device.pushErrorScope('validation');
      device.pushErrorScope('validation');
      device.pushErrorScope('out-of-memory');
      refusedBuffer(device);
      const popped = [device.popErrorScope(), device.popErrorScope(), device.popErrorScope()];
      const [memoryScope, inner, outer] = await context.wait(Promise.all(popped), 'popErrorScope');
      return firstProblem(
        memoryScope === null ? null : `the out-of-memory scope took it: ${memoryScope.message}`,
        inner === null ? 'the inner scope took nothing' : null,
        outer === null ? null : `the outer scope took it as well: ${outer.message}`,
      );
    },
  },
  {
    id: 'errors/error-class',
    title: 'the error is a GPUValidationError with a message',
    spec: webgpu('GPUValidationError', 'gpuvalidationerror'),
    promise: 'Messages to people say what the device said.',
    run: async (context) => {
      const { device } = new Workbench(context);
      device.pushErrorScope('validation');
      refusedBuffer(device);
      const error = await context.wait(device.popErrorScope(), 'popErrorScope');
      const name = error === null ? 'null' : error.constructor.name;
      if (error === null || name !== 'GPUValidationError') return failed(`the error is of class ${name}`);
      return error.message === '' ? failed('the message is empty') : passed();
    },
  },
  {
    id: 'errors/pop-without-push',
    title: 'popErrorScope without a scope rejects with OperationError',
    spec: POP,
    promise: 'A scope that is closed twice is noticed.',
    run: async (context) => {
      const device = await context.requestDevice();
      const bench = new Workbench(context, device);
      const rejection = await bench.rejection(
        Promise.resolve().then(() => device.popErrorScope()),
        'popErrorScope',
      );
      return verdict(expectException('popErrorScope', rejection, 'OperationError'));
    },
  },
  {
    id: 'errors/uncaptured-event',
    title: 'an error in no scope arrives as an event',
    spec: UNCAPTURED,
    promise: 'An error that nobody asked for is still heard of.',
    run: async (context) => {
      const device = await context.requestDevice();
      const messages: string[] = [];
      device.addEventListener('uncapturederror', (event) => {
        event.preventDefault();
        messages.push(event.error.message);
      });
      refusedBuffer(device);
      await context.wait(device.queue.onSubmittedWorkDone(), 'onSubmittedWorkDone');
      for (let turn = 0; turn < 50 && messages.length === 0; turn += 1) {
        await new Promise((resolve) => setTimeout(resolve, 10));
      }
      return messages.length === 1 ? passed() : failed(`${messages.length} events`);
    },
  },
  {
    id: 'errors/out-of-memory',
    title: 'what does not fit in memory is an error in the out-of-memory scope',
    spec: webgpu('GPUOutOfMemoryError', 'gpuoutofmemoryerror'),
    promise: 'A pool that does not fit is refused, and the cache falls back or fails as it was told.',
    eitherAllowed: 'an implementation may find the memory, or lose the device over it',
    run: async (context) => {
      const { outOfMemory, validation } = await memory(context);
      if (validation !== null) return failed(`a validation error instead: ${validation.message}`);
      return outOfMemory === null
        ? failed('256 GiB were granted')
        : passed(outOfMemory.message.split('\n')[0]);
    },
  },
  {
    id: 'errors/use-after-out-of-memory',
    title: 'a device goes on after it was out of memory',
    spec: webgpu('GPUOutOfMemoryError', 'gpuoutofmemoryerror'),
    promise: 'A smaller pool is tried on the same device.',
    eitherAllowed: 'an implementation may lose the device when memory runs out',
    run: async (context) => {
      const { device } = await memory(context);
      const bench = new Workbench(context, device);
      return verdict(difference(await bench.read(bench.plain(pattern(64))), pattern(64)));
    },
  },
];

const REFUSED_OBJECTS: readonly ConformanceCase[] = [
  {
    id: 'errors/buffer-too-large',
    title: 'a buffer beyond maxBufferSize is refused as an error and not as an exception',
    spec: CREATE,
    promise: TOLD,
    run: async (context) => {
      const bench = new Workbench(context);
      return verdict(
        await bench.refused('createBuffer', () => bench.buffer(TOO_LARGE, BufferUsage.COPY_DST).destroy()),
      );
    },
  },
  {
    id: 'errors/invalid-buffer-is-refused',
    title: 'a buffer that was refused can be used in calls, which are refused in turn',
    spec: INVALID,
    promise: 'What was built on a refused pool is not taken for a pool.',
    run: async (context) => {
      const bench = new Workbench(context);
      bench.device.pushErrorScope('validation');
      const invalid = refusedBuffer(bench.device);
      await context.wait(bench.device.popErrorScope(), 'popErrorScope');
      const target = bench.plain(pattern(4));
      const copy = await bench.refused('the copy', () => {
        bench.submit((encoder) => encoder.copyBufferToBuffer(invalid, 0, target, 0, 16));
      });
      const write = await bench.refused('writeBuffer', () =>
        bench.device.queue.writeBuffer(invalid, 0, pattern(4)),
      );
      invalid.destroy();
      return firstProblem(copy, write, difference(await bench.read(target), pattern(4)));
    },
  },
  {
    id: 'errors/refused-command-drops-the-rest',
    title: 'one refused command drops all commands of its encoder',
    spec: webgpu('GPUCommandEncoder.finish', 'dom-gpucommandencoder-finish'),
    promise: WHOLE,
    run: async (context) => {
      const bench = new Workbench(context);
      const buffer = bench.plain(pattern(16));
      const refused = await bench.refused('the submit', () => {
        bench.submit((encoder) => {
          encoder.clearBuffer(buffer, 0, 16);
          encoder.clearBuffer(buffer, 0, 6);
          encoder.clearBuffer(buffer, 32, 16);
        });
      });
      return firstProblem(refused, difference(await bench.read(buffer), pattern(16)));
    },
  },
  {
    id: 'errors/destroyed-buffer-drops-the-submit',
    title: 'a buffer that is destroyed between recording and submit drops the whole submit',
    spec: SUBMIT,
    promise: 'No buffer is destroyed before what uses it is submitted.',
    run: async (context) => {
      const bench = new Workbench(context);
      const [temporary, other, target] = [
        bench.plain(64),
        bench.plain(pattern(16)),
        bench.plain(pattern(16, 1)),
      ];
      const first = bench.record((encoder) => encoder.copyBufferToBuffer(other, 0, target, 0, 64));
      const second = bench.record((encoder) => encoder.copyBufferToBuffer(temporary, 0, target, 0, 64));
      temporary.destroy();
      const refused = await bench.refused('the submit', () => bench.device.queue.submit([first, second]));
      return firstProblem(refused, difference(await bench.read(target), pattern(16, 1)));
    },
  },
  {
    id: 'errors/destroy-after-submit',
    title: 'a buffer may be destroyed as soon as what uses it is submitted',
    spec: webgpu('GPUBuffer.destroy', 'dom-gpubuffer-destroy'),
    promise: 'List buffers that have grown are given back without a wait.',
    run: async (context) => {
      const bench = new Workbench(context);
      const words = 1 << 18;
      const [temporary, target] = [bench.plain(pattern(words)), bench.plain(4 * words)];
      bench.submit((encoder) => encoder.copyBufferToBuffer(temporary, 0, target, 0, 4 * words));
      temporary.destroy();
      return verdict(difference(await bench.read(target), pattern(words)));
    },
  },
  {
    id: 'errors/command-buffer-twice',
    title: 'a command buffer is submitted once',
    spec: SUBMIT,
    promise: 'A step is never carried out twice.',
    run: async (context) => {
      const bench = new Workbench(context);
      const { queue } = bench.device;
      const [one, two] = [bench.plain(pattern(16, 1)), bench.plain(64)];
      const commands = bench.record((encoder) => encoder.copyBufferToBuffer(one, 0, two, 0, 64));
      queue.submit([commands]);
      queue.writeBuffer(two, 0, pattern(16, 2));
      const again = await bench.refused('the second submit', () => queue.submit([commands]));
      return firstProblem(again, difference(await bench.read(two), pattern(16, 2)));
    },
  },
  {
    id: 'errors/shader-message',
    title: 'a shader that does not compile tells line and column',
    spec: webgpu('GPUShaderModule.getCompilationInfo', 'dom-gpushadermodule-getcompilationinfo'),
    promise: 'A kernel that a device refuses is reported with its line.',
    run: async (context) => {
      const { device } = new Workbench(context);
      device.pushErrorScope('validation');
      const module = device.createShaderModule({
        code: '@compute @workgroup_size(1) fn main() {\n  let x = unknown_name;\n}',
      });
      const error = await context.wait(device.popErrorScope(), 'popErrorScope');
      if (error === null) return failed('the module was accepted');
      const info = await context.wait(module.getCompilationInfo(), 'getCompilationInfo');
      const message = info.messages.find(({ type }) => type === 'error');
      if (message === undefined) return failed('no message of type error');
      const { lineNum, linePos } = message;
      return lineNum === 2 && linePos > 0 ? passed() : failed(`line ${lineNum}, column ${linePos}`);
    },
  },
  {
    id: 'errors/async-pipeline',
    title: 'createComputePipelineAsync rejects with GPUPipelineError and raises nothing else',
    spec: webgpu('GPUDevice.createComputePipelineAsync', 'dom-gpudevice-createcomputepipelineasync'),
    promise: 'A kernel that a device refuses fails the start and not the first step.',
    run: async (context) => {
      const bench = new Workbench(context);
      const module = bench.device.createShaderModule({ code: '@compute @workgroup_size(1) fn main() {}' });
      let made!: Promise<GPUComputePipeline>;
      const scope = await bench.accepted('createComputePipelineAsync', () => {
        made = bench.device.createComputePipelineAsync({
          layout: 'auto',
          compute: { module, entryPoint: 'nobody' },
        });
        made.catch(() => undefined);
      });
      const rejection = await bench.rejection(made, 'createComputePipelineAsync');
      await macrotask();
      return firstProblem(
        expectException('createComputePipelineAsync', rejection, 'GPUPipelineError'),
        scope,
      );
    },
  },
];

export const ERROR_CASES: readonly ConformanceCase[] = [...SCOPE_CASES, ...REFUSED_OBJECTS];
