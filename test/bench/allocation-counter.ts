/** Counts the bytes that a piece of work allocates on the JavaScript heap, garbage included. V8 in Node only. */
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

const ROUNDS = 9;

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/**
 * Bytes that `work` allocates: how much the heap has grown at its end, without what the counting itself allocates. The
 * median of several rounds, since in some of them the compiler allocates too. One round must allocate less than what
 * V8 collects by itself, a few megabytes. `prepare` runs before each round and is not counted.
 */
export function allocatedBytes(work: () => void, prepare: () => void = () => undefined): number {
  const growth = (counted: () => void): number => {
    prepare();
    collect();
    const before = getHeapStatistics().used_heap_size;
    counted();
    return getHeapStatistics().used_heap_size - before;
  };
  const sorted = (counted: () => void): number[] =>
    Array.from({ length: ROUNDS }, () => growth(counted)).sort((a, b) => a - b);
  const own = sorted(() => undefined)[0];
  return sorted(work)[ROUNDS >> 1] - own;
}
