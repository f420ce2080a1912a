import { describe, expect, it } from 'vitest';
import { ConfigError } from '../../src/errors.ts';
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

  it('may be empty', () => {
    expect(new HostMemory({ slots: 0, slotBytes: 16 }).byteLength).toBe(0);
  });
});
