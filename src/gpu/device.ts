/** What every part needs to know of the device: whether it is still there, and what it holds of ours. */
import { DeviceError } from '../errors.ts';
import { macrotask } from '../event-loop.ts';

/** Watches a device for its loss, and ends waits that the loss would leave hanging. */
export class DeviceWatch {
  /** Why the device is gone. Null while it is there. */
  lost: string | null = null;
  private readonly waiting = new Set<() => void>();

  constructor(device: GPUDevice) {
    void device.lost.then(({ reason, message }) => {
      this.lost = `device lost (${reason})${message === '' ? '' : `: ${message}`}; create a new device and a new worker`;
      for (const wake of this.waiting) wake();
      this.waiting.clear();
    });
  }

  /** Throws `DeviceError` when the device is gone. */
  check(): void {
    if (this.lost !== null) throw new DeviceError(this.lost);
  }

  /**
   * What to throw for what a call on the device threw or rejected with: a `DeviceError` for WebGPU's own exceptions. A
   * device that is destroyed refuses calls before it tells of its loss; the news comes with the next task.
   */
  async explain(error: unknown): Promise<unknown> {
    if (!(error instanceof DOMException)) return error;
    await macrotask();
    return new DeviceError(this.lost ?? `the device failed: ${error.message || error.name}`, {
      cause: error,
    });
  }

  /**
   * The promise, or a `DeviceError` once the device is lost. `Promise.race` against `device.lost` would leave one
   * reaction behind for each call, for as long as the device lives.
   */
  async guard<Value>(promise: Promise<Value>): Promise<Value> {
    // Nobody else may be listening by then, and a rejection that nobody hears ends the process in Node.
    promise.catch(() => undefined);
    this.check();
    let wake!: () => void;
    const loss = new Promise<never>((_, reject) => {
      wake = () => {
        reject(new DeviceError(this.lost!));
      };
    });
    this.waiting.add(wake);
    try {
      return await Promise.race([promise, loss]);
    } catch (error) {
      throw await this.explain(error);
    } finally {
      this.waiting.delete(wake);
    }
  }
}

/** What came out of a pair of error scopes: null, or what the device refused. */
export type ScopeResult = Promise<string | null>;

/**
 * Runs calls under error scopes for validation and, unless they allocate nothing, memory. The scopes are closed again
 * before this returns.
 */
export function inErrorScopes<Value>(
  device: GPUDevice,
  calls: () => Value,
  { allocates = true } = {},
): { value: Value; result: ScopeResult } {
  const scopes: GPUErrorFilter[] = allocates ? ['out-of-memory', 'validation'] : ['validation'];
  for (const scope of scopes) device.pushErrorScope(scope);
  const close = () => firstError(scopes.map(() => device.popErrorScope()));
  try {
    return { value: calls(), result: close() };
  } catch (error) {
    void close();
    throw error;
  }
}

/** Scopes of a lost device may reject; its loss is told elsewhere. */
async function firstError(scopes: readonly Promise<GPUError | null>[]): Promise<string | null> {
  const errors = await Promise.all(scopes.map((scope) => scope.catch(() => null)));
  const error = errors.find((found) => found !== null);
  return error == null ? null : withoutTrace(error.message);
}

/** Dawn appends where in its own sources a call failed, a line each: of no use to whoever reads the message. */
function withoutTrace(message: string): string {
  const lines = message.split('\n').map((line) => line.trim());
  return lines.filter((line) => line !== '' && !/^at /.test(line)).join(' ');
}

/** Software adapters answer to other strategies than GPUs, and Deno to others than Dawn. */
export interface AdapterFacts {
  /** Whether the adapter computes on the CPU. */
  readonly software: boolean;
  readonly runtime: 'node' | 'deno' | 'browser';
}

const SOFTWARE_NAMES = /swiftshader|llvmpipe|lavapipe|softpipe|basic render|\bwarp\b/i;

function adapterInfoOf(device: GPUDevice): Partial<GPUAdapterInfo> {
  return (device as { adapterInfo?: Partial<GPUAdapterInfo> }).adapterInfo ?? {};
}

/** What a device says of its adapter, in one line. Implementations differ in which fields they fill in. */
export function adapterName(device: GPUDevice): string {
  const { vendor, architecture, device: name, description } = adapterInfoOf(device);
  return [vendor, architecture, name, description].filter(Boolean).join(' ');
}

/** The facts as far as a device tells them. */
export function adapterFacts(device: GPUDevice): AdapterFacts {
  const globals = globalThis as { Deno?: unknown; process?: { versions?: { node?: string } } };
  const native = globals.process?.versions?.node === undefined ? 'browser' : 'node';
  return {
    software: adapterInfoOf(device).isFallbackAdapter === true || SOFTWARE_NAMES.test(adapterName(device)),
    runtime: globals.Deno === undefined ? native : 'deno',
  };
}
