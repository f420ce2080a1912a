/** Memory without pages. */
import { describe, expect, it } from 'vitest';
import { ContiguousMemory } from '../../../demo/src/tour/contiguous.ts';

const request = (id: number, reserved: number, outputTokens = 3) => ({
  id,
  promptTokens: 2,
  outputTokens,
  reserved,
});
const picture = (memory: ContiguousMemory) =>
  memory.map.map(({ owner, isUsed }) => (owner === null ? '.' : isUsed ? owner : '_')).join('');

describe('contiguous memory', () => {
  it('gives the first gap that is long enough, and waits for one', () => {
    const memory = new ContiguousMemory(12);
    memory.add(request(0, 4, 2));
    memory.add(request(1, 4, 9));
    memory.add(request(2, 4, 2));
    memory.add(request(3, 6));
    memory.step();
    expect(picture(memory)).toBe('00__11__22__');
    memory.step();
    expect(picture(memory), 'two gaps of four').toBe('....111_....');
    expect([memory.waiting, memory.longestGap, memory.reserved, memory.used]).toEqual([[3], 4, 4, 3]);
    memory.step();
    expect(memory.waiting).toEqual([3]);
  });

  it('refuses what can never fit', () => {
    expect(() => new ContiguousMemory(4).add(request(0, 5))).toThrow(
      'request 0 reserves 5 of 4 places; reserve fewer',
    );
  });
});
