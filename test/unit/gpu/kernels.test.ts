/** What is kept in step by hand: kernels and their folder, kernels and their twins, WGSL structs and their packers. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ALL_KERNELS, PAGE_KERNELS, WITNESS_KERNELS, kernelSource } from '../../../src/gpu/kernels.ts';
import {
  PAGE_LIST_HEADER_WORDS,
  PAGE_MOVES_HEADER_WORDS,
  PAGE_MOVE_WORDS,
} from '../../../src/gpu/page-kernels.ts';
import { describeCompileError } from '../../../src/gpu/pipelines.ts';
import { PAGE_OPS_HEADER_WORDS, REPORT_LAYOUT } from '../../../src/gpu/witness.ts';
import { PAGE_OP_WORDS } from '../../../src/witness/page-ops.ts';
import { declaredBindings } from '../../support/declared-bindings.ts';

const SHADERS = join(import.meta.dirname, '../../../shaders');
const TWINS = join(import.meta.dirname, '../../../src/reference/kernels');

const wgslIn = (folder: string) =>
  readdirSync(join(SHADERS, folder)).filter((name) => name.endsWith('.wgsl'));

describe('the shaders folder', () => {
  it('holds exactly the files that kernels name, with the same text', () => {
    const named = new Map(ALL_KERNELS.flatMap(({ files }) => files).map(({ path, code }) => [path, code]));
    const found = [...wgslIn('.'), ...wgslIn('shared').map((name) => `shared/${name}`)];
    expect([...named.keys()].sort()).toEqual(found.sort());
    for (const [path, code] of named) expect(code, path).toBe(readFileSync(join(SHADERS, path), 'utf8'));
  });

  it('has a twin for each kernel; copies across segments share theirs', () => {
    const twins = readdirSync(TWINS).filter((name) => name !== 'index.ts');
    const kernels = wgslIn('.').filter((name) => name !== 'copy_pages_across.wgsl');
    expect(twins.sort()).toEqual(
      kernels.map((name) => name.replaceAll('_', '-').replace('.wgsl', '.ts')).sort(),
    );
  });
});

describe('each kernel', () => {
  it.each(ALL_KERNELS.map((kernel) => ({ kernel, name: kernel.name })))(
    '$name: bindings, order and size',
    ({ kernel }) => {
      const code = kernel.files.at(-1)!.code;
      expect(declaredBindings(kernel)).toEqual(
        kernel.bindings.map((binding, i) => ({ binding: i, ...binding })),
      );
      expect(kernelSource(kernel)).toMatch(/override workgroup_size: u32/);
      expect(code).toMatch(/\/\/ Dispatch: [^@]*@compute @workgroup_size\(workgroup_size\)\nfn main/);
      expect(kernel.workgroupSize).toBeLessThanOrEqual(256);
      expect(kernel.bindings.length).toBeLessThanOrEqual(8);
    },
  );

  it('has a name of its own', () => {
    expect(new Set(ALL_KERNELS.map(({ name }) => name)).size).toBe(ALL_KERNELS.length);
  });
});

/** Members of a struct, in order. All are 32-bit words, so a member's offset in words is its index. */
function members(source: string, struct: string): { name: string; type: string }[] {
  const body = new RegExp(`struct ${struct} \\{([^}]*)\\}`).exec(source)![1].replaceAll(/\/\/.*/g, '');
  return [...body.matchAll(/(\w+):\s*([^,\n]+),/g)].map(([, name, type]) => ({ name, type }));
}

const words = (list: readonly { name: string; type: string }[]) =>
  list.filter(({ type }) => !type.startsWith('array'));

describe('WGSL structs against their packers', () => {
  const page = kernelSource(PAGE_KERNELS.zeroPages.word);
  const moves = kernelSource(PAGE_KERNELS.copyPages.word);
  const witness = kernelSource(WITNESS_KERNELS.witnessCheck);

  it('PageList: count, fill, pages', () => {
    expect(members(page, 'PageList').map(({ name }) => name)).toEqual(['count', 'fill', 'pages']);
    expect(words(members(page, 'PageList'))).toHaveLength(PAGE_LIST_HEADER_WORDS);
  });

  it('PageMoves: count, then source and destination', () => {
    expect(words(members(moves, 'PageMoves')).map(({ name }) => name)).toEqual(['count']);
    expect(words(members(moves, 'PageMoves'))).toHaveLength(PAGE_MOVES_HEADER_WORDS);
    expect(members(moves, 'PageMove').map(({ name }) => name)).toEqual(['source', 'destination']);
    expect(members(moves, 'PageMove')).toHaveLength(PAGE_MOVE_WORDS);
  });

  it('PageOps: count, first page, step, then five words an operation', () => {
    expect(words(members(witness, 'PageOps')).map(({ name }) => name)).toEqual([
      'count',
      'first_page',
      'step',
    ]);
    expect(words(members(witness, 'PageOps'))).toHaveLength(PAGE_OPS_HEADER_WORDS);
    const names = ['page', 'seed', 'first_token', 'word_start', 'word_end'];
    expect(members(witness, 'PageOp')).toEqual(names.map((name) => ({ name, type: 'u32' })));
    expect(names).toHaveLength(PAGE_OP_WORDS);
  });

  it('Report: three counters, then page and step', () => {
    const report = members(witness, 'Report');
    const { findingWords, ...offsets } = REPORT_LAYOUT;
    expect(Object.fromEntries(report.map(({ name }, i) => [name, i]))).toEqual(offsets);
    expect(members(witness, 'Finding').map(({ name }) => name)).toEqual(['page', 'step']);
    expect(members(witness, 'Finding')).toHaveLength(findingWords);
  });
});

describe('a compile error', () => {
  const kernel = {
    ...WITNESS_KERNELS.witnessFill,
    files: [
      { path: 'shared/a.wgsl', code: 'one\ntwo\n' },
      { path: 'b.wgsl', code: 'three\nfour\n' },
    ],
  };
  const at = (lineNum: number) => describeCompileError(kernel, { lineNum, linePos: 3, message: 'bad' });

  it('names file, line and column in the file, and shows the line', () => {
    const joined = kernelSource(kernel).split('\n');
    for (const [file, line, text] of [
      ['shared/a.wgsl', 2, 'two'],
      ['b.wgsl', 1, 'three'],
      ['b.wgsl', 2, 'four'],
    ] as const) {
      expect(at(joined.indexOf(text) + 1)).toBe(`${file}:${line}:3: bad\n    ${text}`);
    }
  });

  it('without a place is told all the same', () => {
    expect(at(0)).toContain('bad');
    expect(at(99)).toBe('witness_fill: bad');
  });
});
