/** The adapter in Node and in Deno: the machine's own, else a software driver. */
import process from 'node:process';
import { DeviceError } from '../errors.ts';
import { acquired, type AcquiredAdapter } from './adapter.ts';
import { detectRuntime } from './detect.ts';
import { DenoHost, NodeHost, WEBGPU_SPEC, type NativeHost } from './native-host.ts';
import { missingPermission } from './permission.ts';
import { adapterRemedy, findSoftwareDriver, type SoftwareDriver } from './software-driver.ts';
import { SOFTWARE_PACKAGE } from './software-package.ts';

export type { AcquiredAdapter } from './adapter.ts';
export { browserSearched, findBrowser, launchOptions, type Browser } from './chromium.ts';
export { detectRuntime, type Runtime } from './detect.ts';

const problem = (error: unknown) => (error instanceof Error ? error.message : String(error));

let host: NativeHost | undefined;

async function thisHost(): Promise<NativeHost> {
  if (detectRuntime() === 'deno') return (host ??= new DenoHost());
  try {
    return (host ??= new NodeHost(await import('webgpu')));
  } catch (error) {
    throw new DeviceError(
      `the npm package "webgpu", which is Node's WebGPU, cannot be loaded (${problem(error)}); run: npm install ${WEBGPU_SPEC}`,
      { cause: error },
    );
  }
}

/**
 * An adapter for Node or Deno. Throws `DeviceError` that says what was tried and what to install.
 *
 * In Node the constants of WebGPU (`GPUBufferUsage` and so on) become global with the first call. Destroy the devices
 * made from the adapter when they are done with; Node then exits by itself.
 */
export async function acquireAdapter(options: GPURequestAdapterOptions = {}): Promise<AcquiredAdapter> {
  return acquireFrom(await thisHost(), findSoftwareDriver, options);
}

/** The order of `acquireAdapter`, over any host. */
export async function acquireFrom(
  native: NativeHost,
  findDriver: () => Promise<SoftwareDriver | undefined>,
  options: GPURequestAdapterOptions = {},
  machine: { platform: string; arch: string } = process,
): Promise<AcquiredAdapter> {
  let ownFailure = native.ownAdapterObstacle();
  const request = async () => {
    const adapter = await native.requestAdapter(options);
    return adapter === null ? undefined : acquired(adapter, native.runtime);
  };

  if (native.mayAskAgain && ownFailure === undefined) {
    const own = await request();
    if (own !== undefined) return own;
    ownFailure = 'none found';
  }

  let driver: SoftwareDriver | undefined;
  let driverFailure: string | undefined;
  let cause: unknown;
  try {
    driver = await findDriver();
    if (driver === undefined) driverFailure = whyNoDriver(machine);
    else native.useDriver(driver);
  } catch (error) {
    driverFailure = problem(error);
    cause = error;
  }
  if (driverFailure === undefined || !native.mayAskAgain) {
    const adapter = await request();
    if (adapter !== undefined) return adapter;
  }

  const { platform, arch } = machine;
  const missing = missingPermission(cause);
  const remedy = missing
    ? `Run Deno with ${missing.flag}, or with -A for all that it takes`
    : adapterRemedy(machine, { hasPackage: driver !== undefined || cause !== undefined });
  throw new DeviceError(
    `no WebGPU adapter for ${native.runtime} on ${platform} ${arch}. Tried the machine's own ` +
      `(${ownFailure ?? 'none found'}) and the software driver in ${SOFTWARE_PACKAGE} ` +
      `(${driverFailure ?? 'loaded, but refused'}). ${remedy}`,
    { cause },
  );
}

function whyNoDriver({ platform, arch }: { platform: string; arch: string }): string {
  return platform === 'linux' && arch === 'x64'
    ? 'not installed'
    : `for Linux on x64 only, and this is ${platform} on ${arch}`;
}
