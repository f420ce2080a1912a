/**
 * Cases that are known to fail in some runtime, each with a public reference. They run all the same: a listed case that
 * fails is reported as `deviates`, and one that passes as passed.
 */
import type { Runtime } from '../runtime/detect.ts';

export interface Deviation {
  /** Ids of cases. */
  readonly cases: readonly string[];
  readonly runtime: Runtime;
  /** Matches what the runtime calls itself and its adapter (`Environment.agent` and `.adapter`), where not all are concerned. */
  readonly where?: RegExp;
  /** What the runtime does instead, in a sentence. */
  readonly what: string;
  /** A public address. */
  readonly reference: string;
  /** The deviation ends the whole process, so these cases are reported without being run, unless the caller insists. */
  readonly endsProcess?: boolean;
}

/** What a deviation is looked up by. */
export interface Environment {
  readonly runtime: Runtime;
  /** Name and version of the runtime, as far as it tells them. */
  readonly agent: string;
  readonly adapter: string;
}

const DENO_BUFFER = 'https://github.com/denoland/deno/blob/v2.9.6/ext/webgpu/buffer.rs';
const DAWN_NODE_BUFFER =
  'https://github.com/google/dawn/blob/e57041d9f54225d7070657678ac29036ae8852bd/src/dawn/node/binding/GPUBuffer.cpp';
const EARLY_REJECTION = 'https://github.com/gpuweb/gpuweb/pull/4786';
/** What of the official test suite wgpu is known to fail, run over Deno's binding. */
const WGPU_FAILURES =
  'https://github.com/gfx-rs/wgpu/blob/1c4707ea0ffbf8b0cf97e327fabef645bc20768a/cts_runner/fail.lst';

export const DEVIATIONS: readonly Deviation[] = [
  {
    cases: ['mapping/error-of-map-while-pending'],
    runtime: 'node',
    what: 'mapAsync rejects as it should, without the validation error that was added to the specification in 2024',
    reference: EARLY_REJECTION,
  },
  {
    cases: ['mapping/error-of-map-while-pending'],
    runtime: 'browser',
    where: /Chrome\//,
    what: 'mapAsync rejects as it should, without the validation error that was added to the specification in 2024',
    reference: EARLY_REJECTION,
  },
  {
    cases: ['mapping/changes-of-a-read-map'],
    runtime: 'node',
    what: 'a range that is mapped for reading is the memory of the buffer itself',
    reference: DAWN_NODE_BUFFER,
  },
  {
    cases: ['ordering/write-from-data-view'],
    runtime: 'node',
    what: 'writeBuffer takes typed arrays and ArrayBuffer, and throws TypeError for a DataView',
    reference:
      'https://github.com/google/dawn/blob/650426b18793286cc2d11555d5ca0c32cd4e1106/src/dawn/node/interop/Core.h',
  },
  {
    cases: ['mapping/map-without-submit-after-write', 'mapping/map-without-submit-after-creation'],
    runtime: 'deno',
    what: 'contents are held back until the next submit, and a map before it shows what the memory held before',
    reference: 'https://github.com/gfx-rs/wgpu/issues/5173',
  },
  {
    cases: ['mapping/unmap-twice', 'loss/unmap-afterwards'],
    runtime: 'deno',
    what: 'unmap throws OperationError where it should do nothing',
    reference: 'https://github.com/gfx-rs/wgpu/pull/10242',
  },
  {
    cases: ['mapping/unmap-while-pending', 'mapping/destroy-while-pending', 'loss/pending-map'],
    runtime: 'deno',
    what: 'mapAsync waits for the device before it returns, so nothing comes in between and it resolves',
    reference: DENO_BUFFER,
  },
  {
    cases: ['mapping/overlapping-ranges'],
    runtime: 'deno',
    what: 'ranges that are mapped for reading are copies, and may overlap',
    reference: DENO_BUFFER,
  },
  {
    cases: ['mapping/range-of-unmapped'],
    runtime: 'deno',
    what: 'getMappedRange of a buffer that is not mapped ends the process (buffer.rs, line 281)',
    reference: WGPU_FAILURES,
    endsProcess: true,
  },
  {
    cases: ['limits/write-size'],
    runtime: 'deno',
    what: 'sizes that are no multiple of 4 raise a validation error instead of an exception',
    reference: WGPU_FAILURES,
  },
  {
    cases: ['limits/write-past-the-array'],
    runtime: 'deno',
    what: 'writeBuffer past the end of the array ends the process (queue.rs, line 188)',
    reference: WGPU_FAILURES,
    endsProcess: true,
  },
  {
    cases: ['limits/workgroup-size'],
    runtime: 'deno',
    what: 'workgroup sizes that are constants of the pipeline are not held against the limit',
    reference: WGPU_FAILURES,
  },
  {
    cases: ['limits/one-device-an-adapter'],
    runtime: 'deno',
    what: 'an adapter gives as many devices as it is asked for',
    reference: 'https://github.com/gfx-rs/wgpu/pull/5764',
  },
  {
    cases: ['aliasing/two-writable-overlapping', 'aliasing/two-writable-same'],
    runtime: 'deno',
    what: 'writable bindings that overlap are not looked for; the official test suite does not ask for it yet',
    reference: 'https://github.com/gpuweb/cts/issues/2232',
  },
  {
    cases: ['loss/mapped-ranges'],
    runtime: 'deno',
    what: 'ranges keep their bytes when the device is destroyed',
    reference: 'https://github.com/gpuweb/gpuweb/issues/2545',
  },
];

/** The deviation that a case has here, or undefined. */
export function knownDeviation(
  id: string,
  { runtime, agent, adapter }: Environment,
  deviations: readonly Deviation[] = DEVIATIONS,
): Deviation | undefined {
  return deviations.find(
    ({ cases, runtime: concerned, where }) =>
      concerned === runtime && cases.includes(id) && (where?.test(`${agent} ${adapter}`) ?? true),
  );
}
