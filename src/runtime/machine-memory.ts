/** How much memory this machine has, as far as the runtime tells. */
import { detectRuntime } from './detect.ts';

/** The part of the globals that is read; a test puts its own in place. */
export interface MemoryGlobals {
  readonly process?: {
    readonly versions?: { readonly node?: string };
    getBuiltinModule?(name: string): unknown;
  };
  readonly Deno?: unknown;
}

interface DenoPermissions {
  readonly permissions: {
    querySync(descriptor: { name: 'sys'; kind: 'systemMemoryInfo' }): { readonly state: string };
  };
}

/**
 * Bytes of memory; Infinity where nobody tells: in browsers, whose `deviceMemory` is rounded and never says more than
 * a few GiB, and in Deno without the permission, which is not asked for.
 */
export function machineMemoryBytes(globals: MemoryGlobals = globalThis): number {
  const runtime = detectRuntime(globals);
  if (runtime === 'browser') return Infinity;
  if (runtime === 'deno') {
    const { permissions } = globals.Deno as DenoPermissions;
    if (permissions.querySync({ name: 'sys', kind: 'systemMemoryInfo' }).state !== 'granted') return Infinity;
  }
  // An import would put a module of Node's into the bundles of pages.
  const os = globals.process?.getBuiltinModule?.('node:os') as { totalmem(): number } | undefined;
  return os?.totalmem() ?? Infinity;
}
