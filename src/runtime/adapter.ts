/** What an adapter is called, and whether it computes on the CPU. */
import type { Runtime } from './detect.ts';

export interface AcquiredAdapter {
  /** Gives one device only; acquire again for the next one. */
  readonly adapter: GPUAdapter;
  readonly runtime: Runtime;
  /** A name to print, never empty. */
  readonly description: string;
  /** Whether the adapter computes on the CPU: right answers, but figures that say nothing about a GPU. */
  readonly software: boolean;
}

/** `GPUAdapterInfo` as the runtimes fill it in: fields may be missing, empty, or numbers written as text. */
export type AdapterInfo = Partial<
  Pick<GPUAdapterInfo, 'vendor' | 'architecture' | 'device' | 'description' | 'isFallbackAdapter'>
>;

const softwareNames = /swiftshader|llvmpipe|lavapipe|softpipe|basic render|\bwarp\b/i;

/** A printable name: the description where there is one, with the vendor and the architecture around it. */
export function describeAdapter(info: AdapterInfo): string {
  const filled = (value: string | undefined) => value !== undefined && /[^\d\s]/.test(value);
  // Deno gives PCI numbers for vendor and device; they help nobody who reads a report.
  const lead = [info.vendor, info.architecture].filter(filled).join(' ');
  const name = filled(info.description) ? info.description : filled(info.device) ? info.device : '';
  return [lead, name].filter(filled).join(': ') || 'unnamed adapter';
}

/** Whether the adapter is a software one. Not every runtime reports fallback adapters as such, so names count too. */
export function isSoftwareAdapter(info: AdapterInfo): boolean {
  if (info.isFallbackAdapter === true) return true;
  return [info.vendor, info.architecture, info.device, info.description].some((text) =>
    softwareNames.test(text ?? ''),
  );
}

export function acquired(adapter: GPUAdapter, runtime: Runtime): AcquiredAdapter {
  // Implementations older than `GPUAdapter.info` have no such property.
  const info: AdapterInfo = (adapter as { info?: AdapterInfo }).info ?? {};
  return { adapter, runtime, description: describeAdapter(info), software: isSoftwareAdapter(info) };
}
