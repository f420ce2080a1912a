import { describe, expect, it } from 'vitest';
import { InputError } from '../../../src/errors.ts';
import { missingPermission } from '../../../src/runtime/permission.ts';

const denied = (message: string) => Object.assign(new Error(message), { name: 'NotCapable' });

describe('a permission that Deno withholds', () => {
  it.each([
    [
      'Requires sys access to "homedir", run again with the --allow-sys flag',
      'sys access to "homedir"',
      '--allow-sys',
    ],
    [
      'Requires env access to "HOME", run again with the --allow-env flag',
      'env access to "HOME"',
      '--allow-env',
    ],
    [
      'Requires read access to <CWD>, run again with the --allow-read flag',
      'read access to <CWD>',
      '--allow-read',
    ],
  ])('is read off %s', (message, access, flag) => {
    expect(missingPermission(denied(message))).toEqual({ access, flag });
  });

  it('is found behind what it caused', () => {
    const cause = denied('Requires ffi access, run again with the --allow-ffi flag');
    const outer = new Error('no adapter', { cause: new InputError('no driver', { cause }) });
    expect(missingPermission(outer)).toEqual({ access: 'ffi access', flag: '--allow-ffi' });
  });

  it('is seen in nothing else', () => {
    for (const error of [new Error('Requires care'), 'Requires', undefined, null]) {
      expect(missingPermission(error)).toBeUndefined();
    }
  });
});
