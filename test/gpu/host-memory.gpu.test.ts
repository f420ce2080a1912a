/** The host tier's memory in every runtime: browsers tell of no size, so what they refuse must have a name. */
import { describe, expect, it } from 'vitest';
import { createEngine, DeviceError, HostMemory } from '../../src/index.ts';
import { machineMemoryBytes } from '../../src/runtime/machine-memory.ts';
import { runtimeName } from './support/device.ts';

describe(`host memory in ${runtimeName}`, () => {
  it('that the engine of the language refuses ends in a DeviceError with the size', () => {
    const options = { slots: 1, slotBytes: 2 ** 51, segmentBytesMax: 2 ** 52, machineBytes: Infinity };
    expect(() => new HostMemory(options)).toThrow(DeviceError);
    expect(() => new HostMemory(options)).toThrow(/host memory refused: 1 slots .* need 2048 TiB/);
  });

  it('beyond that of the machine ends in a ConfigError, where the runtime knows it', async () => {
    if (runtimeName === 'browser') {
      expect(machineMemoryBytes()).toBe(Infinity);
      return;
    }
    const cache = { pages: 2, pageBytes: 2 ** 20, tokensPerPage: 4 };
    await expect(createEngine({ cache, offload: { slots: 2 ** 26 } })).rejects.toThrow(
      /offload\.slots is 67108864.*need 64 TiB, this machine has/,
    );
  });
});
