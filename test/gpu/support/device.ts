/**
 * Devices for GPU tests, the same in Node, Deno and Chromium.
 *
 * A file's tests share one device. `withDevice` catches what WebGPU does not throw: errors of the three error scopes,
 * errors outside any scope, and a lost device.
 */
import { afterAll, afterEach, expect } from 'vitest';
import { acquireAdapter } from '../../../src/runtime/acquire.ts';
import { detectRuntime } from '../../../src/runtime/detect.ts';
import { mismatchTable, type Bytes } from './mismatches.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** The adapter that the test ran on, for the summary of `npm test`. */
    adapter?: string;
  }
}

export const runtimeName = detectRuntime();

const SCOPES = ['internal', 'out-of-memory', 'validation'] as const;

interface TestDevice {
  readonly device: GPUDevice;
  /** What went wrong outside error scopes since it was last looked at. */
  readonly strayErrors: string[];
}

let adapterDescription: string | undefined;
let shared: Promise<TestDevice> | undefined;

async function openDevice(descriptor?: GPUDeviceDescriptor): Promise<TestDevice> {
  // An adapter gives one device only, so each device has its own.
  const { adapter, description } = await acquireAdapter();
  adapterDescription = description;
  const device = await adapter.requestDevice(descriptor);
  const strayErrors: string[] = [];
  device.addEventListener('uncapturederror', (event) => {
    event.preventDefault();
    strayErrors.push(`uncaptured error: ${event.error.message}`);
  });
  void device.lost.then(({ reason, message }) => {
    if (reason !== 'destroyed') strayErrors.push(`device lost (${reason}): ${message}`);
  });
  return { device, strayErrors };
}

/** A printable name of the adapter that tests of this file get. */
export async function adapterName(): Promise<string> {
  await testDevice();
  return adapterDescription!;
}

/** The device that the tests of a file share, with default limits. Destroyed after the last one. */
export async function testDevice(): Promise<GPUDevice> {
  shared ??= openDevice();
  return (await shared).device;
}

/**
 * Runs a test's body with a device and fails it on any WebGPU error, named by its scope. With a descriptor (limits,
 * features) the device is a fresh one, destroyed afterwards; else it is the file's shared one.
 */
export async function withDevice<Result>(
  body: (device: GPUDevice) => Promise<Result> | Result,
  descriptor?: GPUDeviceDescriptor,
): Promise<Result> {
  const opened = await (descriptor === undefined ? (shared ??= openDevice()) : openDevice(descriptor));
  try {
    return await checked(opened, body);
  } finally {
    if (descriptor !== undefined) opened.device.destroy();
  }
}

async function checked<Result>(
  { device, strayErrors }: TestDevice,
  body: (device: GPUDevice) => Promise<Result> | Result,
): Promise<Result> {
  for (const scope of SCOPES) device.pushErrorScope(scope);
  let result: Result | undefined;
  let failure: unknown;
  let failed = false;
  try {
    result = await body(device);
  } catch (error) {
    failed = true;
    failure = error;
  }
  const problems: string[] = [];
  for (const scope of [...SCOPES].reverse()) {
    const error = await device.popErrorScope().catch((reason: unknown) => ({ message: String(reason) }));
    if (error !== null) problems.push(`${scope}: ${error.message}`);
  }
  // All three implementations have told their stray errors by the time that the queue is done.
  await device.queue.onSubmittedWorkDone().catch(() => undefined);
  problems.push(...strayErrors.splice(0));

  // A failed expectation is often only the consequence of the WebGPU error, so the error is told first.
  if (problems.length > 0) {
    throw new Error(`WebGPU reported on ${adapterDescription}:\n${problems.join('\n')}`, {
      cause: failed ? failure : undefined,
    });
  }
  if (failed) throw failure;
  return result as Result;
}

/** The bytes of a buffer (usage `COPY_SRC`), after everything submitted so far. Offset and size: multiples of 4. */
export async function readBytes(
  device: GPUDevice,
  buffer: GPUBuffer,
  offset = 0,
  size = buffer.size - offset,
): Promise<Uint8Array<ArrayBuffer>> {
  const staging = device.createBuffer({
    label: 'test read-back',
    size,
    usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.MAP_READ,
  });
  const encoder = device.createCommandEncoder({ label: 'test read-back' });
  encoder.copyBufferToBuffer(buffer, offset, staging, 0, size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(GPUMapMode.READ);
  const bytes = new Uint8Array(staging.getMappedRange().slice(0));
  staging.destroy();
  return bytes;
}

/** Expects equal contents; a failure prints the first 16 mismatches as a table. See `mismatchTable`. */
export function expectBytes(actual: Bytes, expected: Bytes, what = 'contents'): void {
  const table = mismatchTable(actual, expected);
  if (table !== undefined) expect.fail(`${what}: ${table}`);
}

afterEach(({ task }) => {
  if (adapterDescription !== undefined) task.meta.adapter = adapterDescription;
});

afterAll(async () => {
  const opened = await shared?.catch(() => undefined);
  opened?.device.destroy();
  shared = undefined;
});
