import { totalmem } from 'node:os';
import { describe, expect, it } from 'vitest';
import { machineMemoryBytes } from '../../../src/runtime/machine-memory.ts';

const process = {
  versions: { node: '20' },
  getBuiltinModule: (name: string) => (name === 'node:os' ? { totalmem: () => 1000 } : undefined),
};
const deno = (state: string) => ({ permissions: { querySync: () => ({ state }) } });

describe('the memory of the machine', () => {
  it('is told by Node', () => {
    expect(machineMemoryBytes()).toBe(totalmem());
    expect(machineMemoryBytes({ process })).toBe(1000);
  });

  it('is told by Deno where it may, and not asked for', () => {
    expect(machineMemoryBytes({ process, Deno: deno('granted') })).toBe(1000);
    expect(machineMemoryBytes({ process, Deno: deno('prompt') })).toBe(Infinity);
    expect(machineMemoryBytes({ process, Deno: deno('denied') })).toBe(Infinity);
  });

  it('is unknown in browsers', () => {
    expect(machineMemoryBytes({})).toBe(Infinity);
  });
});
