import { describe, expect, it } from 'vitest';
import { acquired, describeAdapter, isSoftwareAdapter } from '../../../src/runtime/adapter.ts';

const dawn = {
  vendor: 'google',
  architecture: 'swiftshader',
  device: 'swiftshader-device-subzero-',
  description: 'SwiftShader driver 5.0.0',
};
const chromium = { vendor: 'apple', architecture: 'metal-3', device: '', description: '' };
const deno = {
  vendor: '6880',
  architecture: '',
  device: '49374',
  description: 'SwiftShader Device (Subzero)',
};

describe('describeAdapter', () => {
  it.each([
    [dawn, 'google swiftshader: SwiftShader driver 5.0.0'],
    [chromium, 'apple metal-3'],
    [deno, 'SwiftShader Device (Subzero)'],
    [{ vendor: 'nvidia', device: 'h200' }, 'nvidia: h200'],
    [{}, 'unnamed adapter'],
    [{ vendor: '4318', device: '9' }, 'unnamed adapter'],
  ])('%o is %s', (info, name) => {
    expect(describeAdapter(info)).toBe(name);
  });
});

describe('isSoftwareAdapter', () => {
  it.each([
    [dawn, true],
    [deno, true],
    [{ description: 'llvmpipe (LLVM 15.0.6, 256 bits)' }, true],
    [{ description: 'Microsoft Basic Render Driver' }, true],
    [{ vendor: 'nvidia', isFallbackAdapter: true }, true],
    [chromium, false],
    [{ vendor: 'warpdrive', isFallbackAdapter: false }, false],
    [{}, false],
  ])('%o: %s', (info, software) => {
    expect(isSoftwareAdapter(info)).toBe(software);
  });
});

describe('acquired', () => {
  it('copes with an adapter that has no info', () => {
    const adapter = {} as GPUAdapter;
    expect(acquired(adapter, 'deno')).toEqual({
      adapter,
      runtime: 'deno',
      description: 'unnamed adapter',
      software: false,
    });
  });
});
