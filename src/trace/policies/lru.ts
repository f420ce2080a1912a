import { IdLists } from './id-lists.ts';
import type { PolicyOptions } from './policy.ts';

const CACHED = 0;

/** Least recently used. */
export function lruHits(references: Uint32Array, options: PolicyOptions): number {
  const lists = new IdLists({ ids: options.uniqueBlocks, lists: 1 });
  let hits = 0;
  for (const id of references) {
    if (lists.has(CACHED, id)) {
      hits += 1;
      lists.move(CACHED, id);
      continue;
    }
    if (lists.size(CACHED) === options.capacity) lists.remove(lists.oldest(CACHED));
    lists.push(CACHED, id);
  }
  return hits;
}
