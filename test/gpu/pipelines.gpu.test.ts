/** Compiling kernels on a device. */
import { describe, expect, it } from 'vitest';
import { DeviceError } from '../../src/errors.ts';
import { ALL_KERNELS, PAGE_KERNELS } from '../../src/gpu/kernels.ts';
import { compileKernel } from '../../src/gpu/pipelines.ts';
import { runtimeName, withDevice } from './support/device.ts';

const sizes = (name: string): Record<string, number> =>
  name.startsWith('witness')
    ? { page_words: 12, stride_words: 16, rows: 5 }
    : { page_units: 7, stride_units: 9 };

describe('compiling', () => {
  it('every kernel in every form', async () => {
    await withDevice(async (device) => {
      for (const kernel of ALL_KERNELS) {
        const { pipeline } = await compileKernel(device, kernel, sizes(kernel.name));
        expect(pipeline.label).toBe(kernel.name);
      }
    });
  });

  it('shares a compile under way and its result; other constants make another one', async () => {
    await withDevice(async (device) => {
      const kernel = PAGE_KERNELS.zeroPages.word;
      const [one, two] = [1, 2].map(() => compileKernel(device, kernel, { page_units: 31 }));
      expect(one).toBe(two);
      expect(compileKernel(device, kernel, { page_units: 31 })).toBe(one);
      expect((await compileKernel(device, kernel, { page_units: 32 })).pipeline).not.toBe(
        (await one).pipeline,
      );
    });
  });

  it('an error names the kernel, and where the implementation tells it, file, line, column and source', async () => {
    await withDevice(async (device) => {
      const { files, ...rest } = PAGE_KERNELS.zeroPages.word;
      const [last, ...others] = [...files].reverse();
      const code = last.code.replace('let value = Unit(list.fill);', 'let value = Unit(list.nonsense);');
      const broken = { ...rest, name: 'broken', files: [...others.reverse(), { ...last, code }] };
      const attempt = compileKernel(device, broken, { page_units: 1 });
      await expect(attempt).rejects.toThrow(DeviceError);
      await expect(attempt).rejects.toThrow(/kernel broken does not compile.*nonsense/s);
      const again = compileKernel(device, broken, { page_units: 1 });
      expect(again, 'a failure is not remembered').not.toBe(attempt);
      await expect(again).rejects.toThrow(DeviceError);
      // wgpu tells the place in its message, and counts lines over the joined files.
      if (runtimeName === 'deno') return;
      const line = code.split('\n').findIndex((text) => text.includes('nonsense')) + 1;
      await expect(attempt).rejects.toThrow(
        new RegExp(`zero_pages.wgsl:${line}:\\d+: .*\\n +let value = Unit`),
      );
    });
  });
});
