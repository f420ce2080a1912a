import { describe, expect, it } from 'vitest';
import { LIST_KINDS, pageLists } from '../../../src/bandwidth/page-lists.ts';

describe.each(LIST_KINDS)('lists of %s pages', (kind) => {
  it.each([1, 2, 7, 1000])('hold %i pages each, none twice and never the null page', (count) => {
    const { sources, destinations } = pageLists(kind, count);
    expect([sources.length, destinations.length]).toEqual([count, count]);
    const all = [...sources, ...destinations].sort((a, b) => a - b);
    expect(all).toEqual(Array.from({ length: 2 * count }, (_, i) => i + 1));
  });

  it('are the same each time', () => {
    expect(pageLists(kind, 100)).toEqual(pageLists(kind, 100));
  });
});

it('scattered pages hardly ever follow their neighbour', () => {
  const { sources, destinations } = pageLists('scattered', 1000);
  for (const pages of [sources, destinations]) {
    const followed = pages.filter((page, i) => i > 0 && page === pages[i - 1] + 1).length;
    expect(followed).toBeLessThan(10);
  }
});
