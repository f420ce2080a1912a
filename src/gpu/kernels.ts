/**
 * The kernels as data: code, bindings and constants. The only file that imports WGSL.
 *
 * A kernel's code is its own file behind the shared files that it names, joined as they are.
 */
import copyPages from '../../shaders/copy_pages.wgsl?raw';
import copyPagesAcross from '../../shaders/copy_pages_across.wgsl?raw';
import gatherPages from '../../shaders/gather_pages.wgsl?raw';
import scatterPages from '../../shaders/scatter_pages.wgsl?raw';
import pageList from '../../shaders/shared/page_list.wgsl?raw';
import pageMoves from '../../shaders/shared/page_moves.wgsl?raw';
import pageUnits from '../../shaders/shared/page_units.wgsl?raw';
import unitVec4 from '../../shaders/shared/unit_vec4.wgsl?raw';
import unitWord from '../../shaders/shared/unit_word.wgsl?raw';
import witness from '../../shaders/shared/witness.wgsl?raw';
import witnessCheck from '../../shaders/witness_check.wgsl?raw';
import witnessFill from '../../shaders/witness_fill.wgsl?raw';
import zeroPages from '../../shaders/zero_pages.wgsl?raw';

/** One WGSL file, by its path below `shaders/`. */
export interface ShaderFile {
  readonly path: string;
  readonly code: string;
}

export interface KernelBinding {
  readonly name: string;
  readonly type: 'storage' | 'read-only-storage';
}

export interface Kernel {
  /** Unique; also the label of its GPU objects. */
  readonly name: string;
  /** Joined in this order. The last one holds `main`. */
  readonly files: readonly ShaderFile[];
  /** By binding number. */
  readonly bindings: readonly KernelBinding[];
  /** Invocations of a workgroup, along x. At most 256, which every device grants. */
  readonly workgroupSize: number;
  /** Units (page kernels) or words (witness kernels) that one invocation takes. */
  readonly perInvocation: number;
}

const file = (path: string, code: string): ShaderFile => ({ path, code });
const read = (name: string): KernelBinding => ({ name, type: 'read-only-storage' });
const write = (name: string): KernelBinding => ({ name, type: 'storage' });

const WORKGROUP_SIZE = 64;
const UNITS_PER_INVOCATION = 8;
const WORDS_PER_INVOCATION = 16;

/** The two forms of a kernel that moves whole pages. `vec4` wants pages that are a multiple of 16 bytes. */
export interface PageKernel {
  readonly word: Kernel;
  readonly vec4: Kernel;
}

function pageKernel(
  name: string,
  code: string,
  list: ShaderFile,
  bindings: readonly KernelBinding[],
): PageKernel {
  const form = (suffix: string, unit: ShaderFile): Kernel => ({
    name: `${name} (${suffix})`,
    files: [unit, file('shared/page_units.wgsl', pageUnits), list, file(`${name}.wgsl`, code)],
    bindings,
    workgroupSize: WORKGROUP_SIZE,
    perInvocation: UNITS_PER_INVOCATION,
  });
  return {
    word: form('word', file('shared/unit_word.wgsl', unitWord)),
    vec4: form('vec4', file('shared/unit_vec4.wgsl', unitVec4)),
  };
}

function witnessKernel(name: string, code: string, bindings: readonly KernelBinding[]): Kernel {
  return {
    name,
    files: [file('shared/witness.wgsl', witness), file(`${name}.wgsl`, code)],
    bindings,
    workgroupSize: WORKGROUP_SIZE,
    perInvocation: WORDS_PER_INVOCATION,
  };
}

const listFile = file('shared/page_list.wgsl', pageList);
const movesFile = file('shared/page_moves.wgsl', pageMoves);

/** Kernels over whole pages. */
export const PAGE_KERNELS = {
  zeroPages: pageKernel('zero_pages', zeroPages, listFile, [write('segment'), read('list')]),
  copyPages: pageKernel('copy_pages', copyPages, movesFile, [write('segment'), read('list')]),
  copyPagesAcross: pageKernel('copy_pages_across', copyPagesAcross, movesFile, [
    read('source_segment'),
    write('destination_segment'),
    read('list'),
  ]),
  gatherPages: pageKernel('gather_pages', gatherPages, movesFile, [
    read('segment'),
    write('staging'),
    read('list'),
  ]),
  scatterPages: pageKernel('scatter_pages', scatterPages, movesFile, [
    read('staging'),
    write('segment'),
    read('list'),
  ]),
} as const;

/** Kernels that stand in for the forward pass. */
export const WITNESS_KERNELS = {
  witnessFill: witnessKernel('witness_fill', witnessFill, [write('segment'), read('list'), read('tokens')]),
  witnessCheck: witnessKernel('witness_check', witnessCheck, [
    read('segment'),
    read('list'),
    read('tokens'),
    write('report'),
  ]),
} as const;

/** Every kernel in every form. */
export const ALL_KERNELS: readonly Kernel[] = [
  ...Object.values(PAGE_KERNELS).flatMap(({ word, vec4 }) => [word, vec4]),
  ...Object.values(WITNESS_KERNELS),
];

/** The whole WGSL of a kernel. */
export function kernelSource(kernel: Kernel): string {
  return kernel.files.map(({ code }) => code).join('\n');
}
