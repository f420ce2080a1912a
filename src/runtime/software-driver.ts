/**
 * SwiftShader's Vulkan driver for a process that has no adapter of its own, made usable without a restart.
 *
 * WebGPU implementations open `libvulkan.so.1` by that name, and where to look for it is settled when the process
 * starts. But the dynamic linker takes a library that is loaded already, under whatever path, for one of the same
 * name: loading the package's copy first is enough. The loader then reads the list of drivers from the environment
 * each time an instance is made.
 */
import { join } from 'node:path';
import process from 'node:process';
import {
  cacheFolder,
  fillFolderOnce,
  findSoftwarePackage,
  SOFTWARE_PACKAGE,
  unpackTar,
} from './software-package.ts';

export const VULKAN_LOADER = 'libvulkan.so.1';
const DRIVER = 'libvk_swiftshader.so';
const DRIVER_MANIFEST = 'vk_swiftshader_icd.json';

export interface SoftwareDriver {
  /** Path of the Vulkan loader. */
  readonly loader: string;
  /** Path of the JSON file that names the driver to the loader. */
  readonly manifest: string;
}

/** The driver's files, unpacked on first use; undefined where the package is missing or the platform has no such driver. */
export async function findSoftwareDriver(): Promise<SoftwareDriver | undefined> {
  const source = await findSoftwarePackage();
  if (source === undefined) return undefined;
  const folder = join(cacheFolder(), `swiftshader-${source.version}`);
  await fillFolderOnce(folder, (temporary) =>
    unpackTar(join(source.archives, 'swiftshader.tar.br'), temporary, [
      VULKAN_LOADER,
      DRIVER,
      DRIVER_MANIFEST,
    ]),
  );
  return { loader: join(folder, VULKAN_LOADER), manifest: join(folder, DRIVER_MANIFEST) };
}

/** Why there is no software driver here, and what to do about it. */
export function softwareDriverRemedy(host: { platform: string; arch: string } = process): string {
  return host.platform === 'linux' && host.arch === 'x64'
    ? `run: npm install ${SOFTWARE_PACKAGE}`
    : `it exists for Linux on x64 only, and this is ${host.platform} on ${host.arch}`;
}
