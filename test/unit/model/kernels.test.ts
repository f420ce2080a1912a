/** What is kept in step by hand: the model's kernels, their folder and their twins. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { kernelSource } from '../../../src/gpu/kernels.ts';
import { ALL_MODEL_KERNELS, LANES, MATMUL_TILE, MODEL_KERNELS } from '../../../src/model/gpu/kernels.ts';
import { ROW_WORDS } from '../../../src/model/step-rows.ts';
import { declaredBindings } from '../../support/declared-bindings.ts';

const SHADERS = join(import.meta.dirname, '../../../shaders');
const TWINS = join(import.meta.dirname, '../../../src/model/reference');

const wgslIn = (folder: string) =>
  readdirSync(join(SHADERS, folder)).filter((name) => name.endsWith('.wgsl'));

/** Kernels that share a twin with another one: they differ in how they share out the work. */
const SAME_TWIN: Record<string, string> = {
  'matvec.wgsl': 'matmul.wgsl',
  'matmul_serial.wgsl': 'matmul.wgsl',
  'rms_norm_serial.wgsl': 'rms_norm.wgsl',
  'paged_attention_serial.wgsl': 'paged_attention.wgsl',
};

it('the folder holds exactly the files that kernels name, with the same text', () => {
  const named = new Map(
    ALL_MODEL_KERNELS.flatMap(({ files }) => files).map(({ path, code }) => [path, code]),
  );
  const found = ['model', 'model/shared'].flatMap((folder) =>
    wgslIn(folder).map((name) => `${folder}/${name}`),
  );
  expect([...named.keys()].sort()).toEqual(found.sort());
  for (const [path, code] of named) expect(code, path).toBe(readFileSync(join(SHADERS, path), 'utf8'));
});

it('each kernel has a twin', () => {
  const twins = readdirSync(TWINS).filter((name) => name !== 'forward.ts');
  const kernels = new Set(wgslIn('model').map((name) => SAME_TWIN[name] ?? name));
  expect(twins.sort()).toEqual(
    [...kernels].map((name) => name.replaceAll('_', '-').replace('.wgsl', '.ts')).sort(),
  );
});

describe('each kernel', () => {
  it.each(ALL_MODEL_KERNELS.map((kernel) => ({ kernel, name: kernel.name })))(
    '$name: bindings, order and size',
    ({ kernel }) => {
      const code = kernel.files.at(-1)!.code;
      expect(declaredBindings(kernel)).toEqual(
        kernel.bindings.map((binding, i) => ({ binding: i, ...binding })),
      );
      expect(code).toMatch(/\/\/ Dispatch: [^@]*@compute @workgroup_size\(LANES\)\nfn main/);
      expect(kernelSource(kernel)).toContain(`const LANES = ${kernel.workgroupSize}u;`);
      expect(kernel.bindings.length).toBeLessThanOrEqual(8);
    },
  );

  it('has a name of its own', () => {
    expect(new Set(ALL_MODEL_KERNELS.map(({ name }) => name)).size).toBe(ALL_MODEL_KERNELS.length);
  });
});

it('sizes stand in the shaders as on the host', () => {
  const matmul = kernelSource(MODEL_KERNELS.matmul.f32);
  expect(matmul).toContain(`const TILE_ROWS = ${MATMUL_TILE.rows}u;`);
  expect(matmul).toContain(`const TILE_OUTPUTS = ${MATMUL_TILE.outputs}u;`);
  expect(MATMUL_TILE.rows * MATMUL_TILE.outputs).toBe(LANES * 16);
  const row = /struct Row \{([^}]*)\}/.exec(kernelSource(MODEL_KERNELS.ropeWrite))![1];
  expect(row.match(/: u32/g)).toHaveLength(ROW_WORDS);
});
