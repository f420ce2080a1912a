import { describe, expect, it } from 'vitest';
import { detectRuntime } from '../../../src/runtime/detect.ts';

describe('detectRuntime', () => {
  it('knows this process', () => {
    expect(detectRuntime()).toBe('Deno' in globalThis ? 'deno' : 'node');
  });

  it('takes Deno for Deno, although it has a process too', () => {
    expect(detectRuntime({ Deno: {}, process: { versions: { node: '22.0.0' } } })).toBe('deno');
    expect(detectRuntime({ process: { versions: { node: '22.0.0' } } })).toBe('node');
  });

  it('takes a page for a browser, also where a bundler left a process behind', () => {
    expect(detectRuntime({})).toBe('browser');
    expect(detectRuntime({ process: {} })).toBe('browser');
    expect(detectRuntime({ process: { versions: {} } })).toBe('browser');
  });
});
