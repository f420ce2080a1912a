/** Which of the three WebGPU hosts this code runs in. */

export type Runtime = 'node' | 'deno' | 'browser';

/** The globals that tell the runtimes apart. */
export interface RuntimeGlobals {
  readonly Deno?: unknown;
  readonly process?: { readonly versions?: { readonly node?: string } };
}

/** The runtime of the given globals, by default of this program. */
export function detectRuntime(globals: RuntimeGlobals = globalThis): Runtime {
  // Deno comes first: it offers Node's `process` as well.
  if (globals.Deno !== undefined) return 'deno';
  return globals.process?.versions?.node === undefined ? 'browser' : 'node';
}
