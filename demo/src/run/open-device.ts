/** A device for one run, or the reason why there is none. */
import { acquireAdapter, DeviceError, PagefenceError } from '../../../src/index.ts';
import { PAGE_BYTES, type RunSettings } from './settings.ts';

export type Place =
  | {
      readonly kind: 'webgpu';
      readonly device: GPUDevice;
      readonly adapter: string;
      readonly software: boolean;
    }
  | { readonly kind: 'simulated'; readonly reason: string };

/** A new adapter and a new device each time: an adapter gives one device only. */
export async function openPlace(settings: RunSettings): Promise<Place> {
  if (settings.worker === 'simulated') {
    return { kind: 'simulated', reason: 'It was chosen in the settings.' };
  }
  const poolBytes = settings.poolPages * PAGE_BYTES;
  return openAny(({ limits }) => ({
    label: 'pagefence demo',
    requiredLimits: {
      // Default limits split a large pool into segments; the adapter may allow it in one.
      maxBufferSize: atMost(poolBytes, 2 ** 28, limits.maxBufferSize),
      maxStorageBufferBindingSize: atMost(poolBytes, 2 ** 27, limits.maxStorageBufferBindingSize),
    },
  }));
}

/** A device as `describe` wants it of the adapter, or the reason why there is none. */
export async function openAny(describe: (adapter: GPUAdapter) => GPUDeviceDescriptor): Promise<Place> {
  try {
    const { adapter, description, software } = await acquireAdapter();
    const device = await adapter.requestDevice(describe(adapter));
    return { kind: 'webgpu', device, adapter: description, software };
  } catch (error) {
    return { kind: 'simulated', reason: reasonOf(error) };
  }
}

function atMost(wanted: number, guaranteed: number, allowed: number): number {
  return Math.min(Math.max(wanted, guaranteed), allowed);
}

/** Why there is no adapter, for people: any error, or the page's own fault where it was not served securely. */
export function whyNoAdapter(error: unknown): string {
  return insecure() ?? messageOf(error);
}

function insecure(): string | null {
  if (window.isSecureContext) return null;
  return 'This page is not in a secure context, and browsers offer WebGPU only there. Open it over https, or from localhost.';
}

function reasonOf(error: unknown): string {
  const ownFault = insecure();
  if (ownFault !== null) return ownFault;
  if (error instanceof DeviceError) return sentence(error.message);
  const message = error instanceof Error ? error.message : String(error);
  return sentence(`The adapter refused a device: ${message}. Reload the page, or restart the browser`);
}

/** Any error, for people. */
export function messageOf(error: unknown): string {
  if (error instanceof PagefenceError) return sentence(error.message);
  return sentence(error instanceof Error ? `${error.name}: ${error.message}` : String(error));
}

function sentence(text: string): string {
  const capital = text.replace(/^[a-z](?=[a-z]* )/, (letter) => letter.toUpperCase());
  return /[.!?]$/.test(capital) ? capital : `${capital}.`;
}
