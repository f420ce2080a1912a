/** The model's kernels as data. With `gpu/kernels`, the only file that imports WGSL. */
import drafter from '../../../shaders/model/drafter.wgsl?raw';
import embed from '../../../shaders/model/embed.wgsl?raw';
import matmul from '../../../shaders/model/matmul.wgsl?raw';
import matmulSerial from '../../../shaders/model/matmul_serial.wgsl?raw';
import matvec from '../../../shaders/model/matvec.wgsl?raw';
import pagedAttention from '../../../shaders/model/paged_attention.wgsl?raw';
import pagedAttentionSerial from '../../../shaders/model/paged_attention_serial.wgsl?raw';
import rmsNormSerial from '../../../shaders/model/rms_norm_serial.wgsl?raw';
import rmsNorm from '../../../shaders/model/rms_norm.wgsl?raw';
import ropeWrite from '../../../shaders/model/rope_write.wgsl?raw';
import attention from '../../../shaders/model/shared/attention.wgsl?raw';
import matrix from '../../../shaders/model/shared/matrix.wgsl?raw';
import norm from '../../../shaders/model/shared/norm.wgsl?raw';
import pages from '../../../shaders/model/shared/pages.wgsl?raw';
import weightBf16 from '../../../shaders/model/shared/weight_bf16.wgsl?raw';
import weightF16 from '../../../shaders/model/shared/weight_f16.wgsl?raw';
import weightF32 from '../../../shaders/model/shared/weight_f32.wgsl?raw';
import workgroup from '../../../shaders/model/shared/workgroup.wgsl?raw';
import swiglu from '../../../shaders/model/swiglu.wgsl?raw';
import type { Kernel, KernelBinding, ShaderFile } from '../../gpu/kernels.ts';
import type { TensorFormat } from '../safetensors.ts';

/** Lanes of every workgroup: `LANES` of `shared/workgroup.wgsl`. */
export const LANES = 64;
/** `TILE_ROWS` and `TILE_OUTPUTS` of `matmul.wgsl`. */
export const MATMUL_TILE = { rows: 16, outputs: 64 } as const;

const file = (path: string, code: string): ShaderFile => ({ path: `model/${path}.wgsl`, code });
const read = (name: string): KernelBinding => ({ name, type: 'read-only-storage' });
const write = (name: string): KernelBinding => ({ name, type: 'storage' });

const workgroupFile = file('shared/workgroup', workgroup);
const matrixFile = file('shared/matrix', matrix);
const normFile = file('shared/norm', norm);
const attentionFile = file('shared/attention', attention);
const pagesFile = file('shared/pages', pages);

function kernel(name: string, files: readonly ShaderFile[], bindings: readonly KernelBinding[]): Kernel {
  return { name, files: [workgroupFile, ...files], bindings, workgroupSize: LANES, perInvocation: 1 };
}

/** A kernel that reads weights, in a form for each format in which they are stored. */
function weighted(
  name: string,
  files: readonly ShaderFile[],
  bindings: readonly KernelBinding[],
): Readonly<Record<TensorFormat, Kernel>> {
  const form = (format: TensorFormat, code: string) =>
    kernel(`${name} (${format})`, [file(`shared/weight_${format}`, code), ...files], bindings);
  return { f32: form('f32', weightF32), f16: form('f16', weightF16), bf16: form('bf16', weightBf16) };
}

const NORM = [read('operand'), read('weight'), read('chosen'), read('norm'), write('result')];
const PRODUCT = [read('operand'), read('matrix'), read('product'), write('result')];
const ATTENTION = [
  read('queries'),
  read('segment'),
  read('rows'),
  read('tables'),
  read('reach'),
  write('carried'),
  write('result'),
];

export const MODEL_KERNELS = {
  drafter: kernel(
    'drafter',
    [file('drafter', drafter)],
    [write('segment'), read('weights'), read('embedding'), read('jobs'), read('lists'), write('proposed')],
  ),
  embed: weighted(
    'embed',
    [file('embed', embed)],
    [read('table'), read('tokens'), read('lookup'), write('result')],
  ),
  rmsNorm: kernel('rms_norm', [normFile, file('rms_norm', rmsNorm)], NORM),
  rmsNormSerial: kernel('rms_norm_serial', [normFile, file('rms_norm_serial', rmsNormSerial)], NORM),
  matvec: weighted('matvec', [matrixFile, file('matvec', matvec)], PRODUCT),
  matmul: weighted('matmul', [matrixFile, file('matmul', matmul)], PRODUCT),
  matmulSerial: weighted('matmul_serial', [matrixFile, file('matmul_serial', matmulSerial)], PRODUCT),
  ropeWrite: kernel(
    'rope_write',
    [pagesFile, file('rope_write', ropeWrite)],
    [
      read('projected'),
      read('turns'),
      read('rows'),
      read('tables'),
      read('reach'),
      write('segment'),
      write('queries'),
    ],
  ),
  pagedAttention: kernel(
    'paged_attention',
    [pagesFile, attentionFile, file('paged_attention', pagedAttention)],
    ATTENTION,
  ),
  pagedAttentionSerial: kernel(
    'paged_attention_serial',
    [pagesFile, attentionFile, file('paged_attention_serial', pagedAttentionSerial)],
    ATTENTION,
  ),
  swiglu: kernel('swiglu', [file('swiglu', swiglu)], [read('operand'), read('gates'), write('result')]),
} as const;

/** Every kernel in every form. */
export const ALL_MODEL_KERNELS: readonly Kernel[] = Object.values(MODEL_KERNELS).flatMap((each) =>
  'files' in each ? [each] : Object.values(each),
);
