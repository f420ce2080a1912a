/**
 * ARC, as Megiddo and Modha give it (FAST'03, figure 4). The cache is T1 (seen once lately) and T2 (seen at least
 * twice); B1 and B2 remember what was evicted from them. `target` is the size that T1 should have. It adapts in real
 * numbers: rounded steps give other hits.
 */
import { IdLists } from './id-lists.ts';
import type { PolicyOptions } from './policy.ts';

const T1 = 0;
const T2 = 1;
const B1 = 2;
const B2 = 3;

/** The textbook rule. The host tier's variant, `arc-tier`, differs on purpose. */
export function arcHits(references: Uint32Array, options: PolicyOptions): number {
  const arc = new Arc(options);
  let hits = 0;
  for (const id of references) if (arc.reference(id)) hits += 1;
  return hits;
}

class Arc {
  private readonly capacity: number;
  private readonly lists: IdLists;
  private target = 0;

  constructor(options: PolicyOptions) {
    this.capacity = options.capacity;
    this.lists = new IdLists({ ids: options.uniqueBlocks, lists: 4 });
  }

  reference(id: number): boolean {
    const { lists, capacity } = this;
    if (lists.has(T1, id) || lists.has(T2, id)) {
      lists.move(T2, id);
      return true;
    }
    if (lists.has(B1, id)) {
      this.target = Math.min(capacity, this.target + Math.max(lists.size(B2) / lists.size(B1), 1));
      this.evict(false);
      lists.move(T2, id);
    } else if (lists.has(B2, id)) {
      this.target = Math.max(0, this.target - Math.max(lists.size(B1) / lists.size(B2), 1));
      this.evict(true);
      lists.move(T2, id);
    } else {
      this.makeRoom();
      lists.push(T1, id);
    }
    return false;
  }

  /** For a block that no list knows. Keeps T1 + B1 within the capacity, and all four lists within twice that. */
  private makeRoom(): void {
    const { lists, capacity } = this;
    const once = lists.size(T1) + lists.size(B1);
    const known = once + lists.size(T2) + lists.size(B2);
    if (once === capacity) {
      if (lists.size(T1) === capacity) {
        lists.remove(lists.oldest(T1));
        return;
      }
      lists.remove(lists.oldest(B1));
      this.evict(false);
    } else if (known >= capacity) {
      if (known === 2 * capacity) lists.remove(lists.oldest(B2));
      this.evict(false);
    }
  }

  /** The paper's REPLACE: from T1 where it exceeds its target, or just meets it and the block comes from B2. */
  private evict(fromB2: boolean): void {
    const { lists, target } = this;
    const once = lists.size(T1);
    if (once > 0 && (once > target || (fromB2 && once === target))) lists.move(B1, lists.oldest(T1));
    else lists.move(B2, lists.oldest(T2));
  }
}
