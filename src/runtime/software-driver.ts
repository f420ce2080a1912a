/**
 * SwiftShader's Vulkan driver for a process that has no adapter of its own, made usable without a restart.
 *
 * WebGPU implementations open `libvulkan.so.1` by that name, and where to look for it is settled when the process
 * starts. But the dynamic linker takes a library that is loaded already, under whatever path, for one of the same
 * name: loading the package's copy first is enough. The loader then reads the list of drivers from the environment
 * each time an instance is made.
 */
import { join } from 'node:path';
import {
  cacheFolder,
  fillFolderOnce,
  findSoftwarePackage,
  SOFTWARE_PACKAGE_SPEC,
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

/** What to install where there is no adapter. `hasPackage`: the software driver's is there, and was of no use. */
export function adapterRemedy(
  { platform, arch }: { platform: string; arch: string },
  { hasPackage }: { hasPackage: boolean },
): string {
  if (platform === 'darwin') return 'Metal, which it takes, comes with macOS: update macOS';
  if (platform === 'win32') return 'Direct3D 12, which it takes, comes with the graphics driver: update that';
  const own = "Install a Vulkan driver for this machine's GPU";
  if (platform !== 'linux' || arch !== 'x64' || hasPackage) return own;
  return `${own}, or a software one: npm install ${SOFTWARE_PACKAGE_SPEC}`;
}
