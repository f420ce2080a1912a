/** Adapters for what asks for a device itself. */
import { acquireAdapter } from '../../../src/runtime/acquire.ts';
import type { AcquiredAdapter } from '../../../src/runtime/adapter.ts';

/** An adapter whose devices go through `change` before anybody else sees them. */
export function adapterWith(change: (device: GPUDevice) => void): () => Promise<AcquiredAdapter> {
  return async () => {
    const acquired = await acquireAdapter();
    const { adapter } = acquired;
    const requestDevice = adapter.requestDevice.bind(adapter);
    override(adapter, 'requestDevice', async (descriptor?: GPUDeviceDescriptor) => {
      const device = await requestDevice(descriptor);
      change(device);
      return device;
    });
    return acquired;
  };
}

export function override(target: object, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, configurable: true });
}
