/** One call for an adapter, whatever the runtime. */
import type { AcquiredAdapter } from './adapter.ts';
import { acquireAdapter as acquireInBrowser } from './browser.ts';
import { detectRuntime } from './detect.ts';

/**
 * An adapter of this runtime, preferring the machine's own over software. Throws `DeviceError` that says what was
 * tried and what to install.
 *
 * Node's and Deno's side is imported only there, so a page that calls this loads no Node module.
 */
export async function acquireAdapter(options: GPURequestAdapterOptions = {}): Promise<AcquiredAdapter> {
  if (detectRuntime() === 'browser') return acquireInBrowser(options);
  const native = await import('./node.ts');
  return native.acquireAdapter(options);
}
