/** Rules of the specification that hold after every operation, each as a loop over what can be seen from outside. */
import { expect } from 'vitest';
import type { Life } from './life.ts';

/**
 * C-I18: who finds a longer prefix finds a shorter one, now and after any number of evictions. A key of full attention
 * has a key of the page before it, on a page that is evicted no earlier.
 *
 * One page is let off: the ends of a copy are held until it has run, so they may come free after their parent. That is
 * the last page that a hit could use, so at worst it stays a little longer than it is good for anything.
 */
export class ParentsOutliveChildren {
  readonly #copied = new Set<number>();
  compared = 0;

  check(life: Life): void {
    const { pool } = life.model;
    for (const page of this.#copied) {
      // Held again, or without a key: what it was copied for is over.
      if (pool.references[page] > 0 || !pool.isKeyed(page)) this.#copied.delete(page);
    }
    for (const { copies } of life.batches) {
      for (const { source, destination } of copies) this.#copied.add(source).add(destination);
    }
    const free = life.manager.freeOrder() as readonly number[];
    const rank = (page: number): number => (free.includes(page) ? free.indexOf(page) : Infinity);
    const ranks = new Map<string, number>();
    for (const { page, key } of pool.keys) {
      const name = `${key.group}: ${key.text}`;
      ranks.set(name, Math.max(ranks.get(name) ?? 0, rank(page)));
    }
    for (const { page, key } of pool.keys) {
      const { kind, tokensPerPage } = life.manager.layout.groups[key.group];
      if ((kind !== 'full-attention' && kind !== 'compressed') || this.#copied.has(page)) continue;
      const parentTokens = (Math.ceil(key.tokens / tokensPerPage) - 1) * tokensPerPage;
      if (parentTokens === 0) continue;
      const parent = `${key.group}: ${key.text.split(' ').slice(0, parentTokens).join(' ')}`;
      const parentRank = ranks.get(parent);
      if (parentRank === undefined) expect.fail(`${key.text} can be found, and ${parent} cannot`);
      if (parentRank < rank(page)) expect.fail(`${parent} is evicted before ${key.text} on page ${page}`);
      this.compared++;
    }
  }
}

/** C-I22: what a step under way still reads or writes is not free, whoever has ended since. */
export function checkDeferredAreHeld(life: Life): number {
  const free = new Set(life.manager.freeOrder());
  let compared = 0;
  for (const { copies } of life.batches) {
    for (const { source, destination } of copies) {
      for (const page of [source, destination]) {
        if (free.has(page)) expect.fail(`page ${page} of a copy under way is free`);
        compared++;
      }
    }
  }
  return compared;
}
