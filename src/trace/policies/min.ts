/**
 * MIN, the offline optimum (Belady): evicts the block whose next reference lies furthest ahead. No policy that must
 * bring in every referenced block gets more hits.
 */
import type { PolicyOptions } from './policy.ts';

export function minHits(references: Uint32Array, options: PolicyOptions): number {
  const nextUses = nextUsesOf(references, options.uniqueBlocks);
  // A cached block is known by the position of its next reference, which is its own. Blocks without one are counted.
  const awaited = new PositionSet(references.length);
  let awaitedBlocks = 0;
  let deadBlocks = 0;
  let hits = 0;
  for (let position = 0; position < references.length; position += 1) {
    if (awaited.has(position)) {
      hits += 1;
      awaited.delete(position);
      awaitedBlocks -= 1;
    } else if (awaitedBlocks + deadBlocks === options.capacity) {
      if (deadBlocks > 0) {
        deadBlocks -= 1;
      } else {
        awaited.delete(awaited.max());
        awaitedBlocks -= 1;
      }
    }
    const nextUse = nextUses[position];
    if (nextUse === references.length) {
      deadBlocks += 1;
    } else {
      awaited.add(nextUse);
      awaitedBlocks += 1;
    }
  }
  return hits;
}

/** For each position the next one with the same block, or the number of references where there is none. */
function nextUsesOf(references: Uint32Array, uniqueBlocks: number): Uint32Array {
  const nextOfBlock = new Uint32Array(uniqueBlocks).fill(references.length);
  const nextUses = new Uint32Array(references.length);
  for (let position = references.length - 1; position >= 0; position -= 1) {
    const block = references[position];
    nextUses[position] = nextOfBlock[block]!;
    nextOfBlock[block] = position;
  }
  return nextUses;
}

const WORD_BITS = 32;

/** A set of small integers with a fast maximum: bit i of level k + 1 says whether word i of level k has any bit. */
class PositionSet {
  private readonly levels: Uint32Array[] = [];

  constructor(size: number) {
    let words = size;
    do {
      words = Math.ceil(words / WORD_BITS);
      this.levels.push(new Uint32Array(words));
    } while (words > 1);
  }

  has(position: number): boolean {
    return (this.levels[0][position >>> 5] & (1 << (position & 31))) !== 0;
  }

  add(position: number): void {
    let index = position;
    for (const level of this.levels) {
      level[index >>> 5] |= 1 << (index & 31);
      index >>>= 5;
    }
  }

  delete(position: number): void {
    let index = position;
    for (const level of this.levels) {
      level[index >>> 5] &= ~(1 << (index & 31));
      if (level[index >>> 5] !== 0) return;
      index >>>= 5;
    }
  }

  /** The largest member of a set that is not empty. */
  max(): number {
    let index = 0;
    for (let level = this.levels.length - 1; level >= 0; level -= 1) {
      index = index * WORD_BITS + 31 - Math.clz32(this.levels[level][index]);
    }
    return index;
  }
}
