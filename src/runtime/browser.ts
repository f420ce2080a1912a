/** The adapter of a browser. Imports nothing of Node's. */
import { DeviceError } from '../errors.ts';
import { acquired, type AcquiredAdapter } from './adapter.ts';

/** An adapter from `navigator.gpu`. Throws `DeviceError` where the browser has none. */
export async function acquireAdapter(options: GPURequestAdapterOptions = {}): Promise<AcquiredAdapter> {
  const gpu = (globalThis as { navigator?: { gpu?: GPU } }).navigator?.gpu;
  if (gpu === undefined) {
    throw new DeviceError(
      'navigator.gpu is undefined: this page has no WebGPU. Open it over https or from localhost, in a browser ' +
        'that has WebGPU switched on',
    );
  }
  const adapter = await gpu.requestAdapter(options);
  if (adapter === null) {
    throw new DeviceError(
      `navigator.gpu.requestAdapter(${JSON.stringify(options)}) gave null: the browser has WebGPU but refuses ` +
        "this machine's GPU or driver. Look at the browser's GPU page, update the driver, or start Chromium with " +
        '--enable-unsafe-webgpu --enable-unsafe-swiftshader --use-webgpu-adapter=swiftshader',
    );
  }
  return acquired(adapter, 'browser');
}
