import { describe, expect, it } from 'vitest';
import { ConfigError, DeviceError } from '../../src/errors.ts';
import { HostMemory } from '../../src/host-memory.ts';
import { slotId } from '../../src/units.ts';

describe('host memory', () => {
  const memory = new HostMemory({ slots: 7, slotBytes: 12, segmentBytesMax: 40 });

  it('splits slots over segments, none across a border', () => {
    expect(memory.slotsPerSegment).toBe(3);
    for (let slot = 0; slot < 7; slot += 1) memory.view(slotId(slot)).fill(slot + 1);
    for (let slot = 0; slot < 7; slot += 1) {
      expect([...memory.view(slotId(slot))]).toEqual(new Array(12).fill(slot + 1));
    }
    expect(memory.byteLength).toBe(84);
  });

  it('gives neighbours in one view, and refuses what lies in two segments or nowhere', () => {
    expect(memory.view(slotId(0), 3).length).toBe(36);
    expect(() => memory.view(slotId(2), 2)).toThrow(ConfigError);
    expect(() => memory.view(slotId(7))).toThrow(ConfigError);
    expect(() => memory.view(slotId(6), 2)).toThrow(ConfigError);
  });

  it('counts runs of neighbours up to the border', () => {
    const slots = [0, 1, 2, 3, 5, 4].map(slotId);
    expect([0, 1, 2, 3, 4, 5].map((from) => memory.runLength(slots, from))).toEqual([3, 2, 1, 1, 1, 1]);
  });

  it('refuses slots larger than a segment', () => {
    expect(() => new HostMemory({ slots: 1, slotBytes: 44, segmentBytesMax: 40 })).toThrow(
      /44 bytes exceeds 40/,
    );
  });

  it('refuses more than the machine has, with both sizes and what to change', () => {
    const size = { slots: 3, slotBytes: 2 ** 20 };
    expect(() => new HostMemory({ ...size, machineBytes: 2 ** 21 })).toThrow(
      new ConfigError(
        'offload.slots is 3: so many slots of 1048576 bytes (cache.pageBytes) need 3 MiB, this machine has 2 MiB of ' +
          'memory; use fewer or smaller ones',
      ),
    );
    expect(new HostMemory({ ...size, machineBytes: 3 * 2 ** 20 }).byteLength).toBe(3 * 2 ** 20);
    expect(() => new HostMemory({ slots: 2 ** 26, slotBytes: 2 ** 30 })).toThrow(
      /this machine has .* of memory/,
    );
  });

  it('names a refusal where nobody knows how much there is', () => {
    // More than any engine gives at once, whatever the machine.
    const options = { slots: 2, slotBytes: 2 ** 51, segmentBytesMax: 2 ** 52, machineBytes: Infinity };
    expect(() => new HostMemory(options)).toThrow(DeviceError);
    expect(() => new HostMemory(options)).toThrow(
      /host memory refused: 2 slots of 2251799813685248 bytes need 4096 TiB, and no more than 0 B could be had; use fewer/,
    );
  });

  it('may be empty', () => {
    expect(new HostMemory({ slots: 0, slotBytes: 16 }).byteLength).toBe(0);
  });
});
