/** What Node and Deno each do to load a library and to ask for an adapter. */
import { constants } from 'node:os';
import process from 'node:process';
import { VULKAN_LOADER, type SoftwareDriver } from './software-driver.ts';

export interface NativeHost {
  readonly runtime: 'node' | 'deno';
  /**
   * Whether another request may succeed after one that found nothing. Deno keeps the first list of drivers for the
   * life of the process; Node's implementation makes a new one when told to.
   */
  readonly mayAskAgain: boolean;
  /** Why asking for the machine's own adapter is pointless, or undefined where it is not. */
  ownAdapterObstacle(): string | undefined;
  /** Makes the driver visible to the next request. Throws where the loader cannot be loaded. */
  useDriver(driver: SoftwareDriver): void;
  requestAdapter(options: GPURequestAdapterOptions): Promise<GPUAdapter | null>;
}

/** glibc's flag that keeps a library loaded after `dlclose`; Node does not list it among its constants. */
const RTLD_NODELETE = 0x1000;

/** Loads a shared library for good. Returns undefined, or why it could not be loaded. */
function loadLibrary(path: string): string | undefined {
  try {
    process.dlopen({ exports: {} }, path, constants.dlopen.RTLD_NOW | RTLD_NODELETE);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // Node loads the library first, and then complains that it is no module for Node.
    return message.includes('did not self-register') ? undefined : message;
  }
  return undefined;
}

/** The npm package that is Node's WebGPU, with the version that the tests run on. */
export const WEBGPU_SPEC = 'webgpu@0.6';

type WebgpuPackage = typeof import('webgpu');

export class NodeHost implements NativeHost {
  readonly runtime = 'node';
  readonly mayAskAgain = true;
  readonly #webgpu: WebgpuPackage;
  /** Kept, because adapters and devices do not keep the instance alive that they come from. */
  #instance: GPU | undefined;

  /** `webgpu` is the npm package of that name, which puts its classes and constants on the global object. */
  constructor(webgpu: WebgpuPackage) {
    this.#webgpu = webgpu;
    if (!('GPUBufferUsage' in globalThis)) Object.assign(globalThis, webgpu.globals);
  }

  ownAdapterObstacle(): string | undefined {
    // Elsewhere the system brings WebGPU's backend along (Metal, D3D12).
    return process.platform === 'linux' ? loadLibrary(VULKAN_LOADER) : undefined;
  }

  useDriver(driver: SoftwareDriver): void {
    const obstacle = loadLibrary(VULKAN_LOADER) && loadLibrary(driver.loader);
    if (obstacle !== undefined) throw new Error(obstacle);
    process.env.VK_ICD_FILENAMES = driver.manifest;
    this.#instance = undefined;
  }

  requestAdapter(options: GPURequestAdapterOptions): Promise<GPUAdapter | null> {
    this.#instance ??= this.#webgpu.create([]);
    return this.#instance.requestAdapter(options);
  }
}

/** The part of Deno's own interface that is used here. */
interface DenoGlobal {
  dlopen(path: string, symbols: Record<string, never>): unknown;
}

export class DenoHost implements NativeHost {
  readonly runtime = 'deno';
  readonly mayAskAgain = false;

  ownAdapterObstacle(): string | undefined {
    return (globalThis as { navigator?: { gpu?: GPU } }).navigator?.gpu === undefined
      ? 'navigator.gpu is undefined; use Deno 2'
      : undefined;
  }

  useDriver(driver: SoftwareDriver): void {
    // The package's loader even where the system has one, which may be too old for the variable below. It adds to
    // the machine's drivers where VK_ICD_FILENAMES would hide them.
    (globalThis as unknown as { Deno: DenoGlobal }).Deno.dlopen(driver.loader, {});
    process.env.VK_ADD_DRIVER_FILES ??= driver.manifest;
  }

  requestAdapter(options: GPURequestAdapterOptions): Promise<GPUAdapter | null> {
    // High performance ranks processors last, so that the added driver does not stand before the machine's GPU.
    return navigator.gpu.requestAdapter({ powerPreference: 'high-performance', ...options });
  }
}
