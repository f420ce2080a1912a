import type { Kernel } from '../../src/gpu/kernels.ts';

/** The storage bindings that a kernel's own source declares, in order, in the form of `Kernel.bindings`. */
export function declaredBindings({ files }: Pick<Kernel, 'files'>) {
  const { code } = files.at(-1)!;
  return [...code.matchAll(/@binding\((\d+)\) var<storage, (read|read_write)> (\w+):/g)].map((match) => ({
    binding: Number(match[1]),
    name: match[3],
    type: match[2] === 'read' ? 'read-only-storage' : 'storage',
  }));
}
