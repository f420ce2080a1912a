/** The device of a run: this machine's adapter with limits raised as far as the run needs and the adapter allows. */
import type { EngineConfigInput } from '../config.ts';
import { DeviceError } from '../errors.ts';
import type { Runtime } from '../runtime/detect.ts';

export interface OpenDevice {
  readonly device: GPUDevice;
  readonly runtime: Runtime;
  /** The adapter's name. */
  readonly adapter: string;
  readonly software: boolean;
}

type WantedLimits = Pick<GPUSupportedLimits, 'maxBufferSize' | 'maxStorageBufferBindingSize'>;

/** A configuration that says how large its pages are. */
export type SizedConfig = EngineConfigInput & {
  readonly cache: { readonly pages: number; readonly pageBytes: number };
};

/** Throws `DeviceError` that says what was tried, what to install, and how to run without a device. */
export function openDevice(input: SizedConfig): Promise<OpenDevice> {
  return openDeviceWith('pagefence replay', (limits) => limitsFor(input, limits));
}

/** A device whose buffers and bindings may have so many bytes, as far as the adapter allows. Throws as `openDevice`. */
export function openDeviceFor(label: string, bytes: number): Promise<OpenDevice> {
  return openDeviceWith(label, (limits) => limitsFor({ cache: { pages: 1, pageBytes: bytes } }, limits));
}

async function openDeviceWith(
  label: string,
  wanted: (limits: WantedLimits) => WantedLimits,
): Promise<OpenDevice> {
  try {
    const { acquireAdapter } = await import('../runtime/acquire.ts');
    const { adapter, runtime, description, software } = await acquireAdapter();
    const requiredLimits = { ...wanted(adapter.limits) };
    const device = await adapter.requestDevice({ label, requiredLimits });
    return { device, runtime, adapter: description, software };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new DeviceError(
      `${message}. Without WebGPU, --worker simulated runs the same steps over plain arrays`,
      {
        cause: error,
      },
    );
  }
}

/** Bytes of the largest buffer that the run wants, within the adapter's limits. Less than a default means nothing. */
export function limitsFor({ cache, transfer }: SizedConfig, adapter: WantedLimits): WantedLimits {
  const pool = cache.pages * cache.pageBytes;
  const largest = Math.max(pool, transfer?.stagingBytes ?? 0, transfer?.overflowBytes ?? 0);
  return {
    maxBufferSize: Math.min(largest, adapter.maxBufferSize),
    maxStorageBufferBindingSize: Math.min(largest, adapter.maxStorageBufferBindingSize),
  };
}
