/** Hits by definition: every length is tried, from the longest down, and asked of each group. */
import type { CacheLayout, GroupLayout } from '../../../src/config/layout.ts';
import { firstOfHit } from './kinds.ts';
import type { PoolModel } from './pool-model.ts';

export interface ModelHit {
  readonly tokens: number;
  readonly pages: readonly (readonly number[])[];
  readonly sharedPrefixTokens: number;
}

export const NO_MODEL_HIT: ModelHit = { tokens: 0, pages: [], sharedPrefixTokens: 0 };

export function findHit(layout: CacheLayout, pool: PoolModel, tokens: readonly number[]): ModelHit {
  const bound = tokens.length - 1;
  const cached = cachedPages(layout, pool, tokens);
  const groups = layout.groups.filter(({ cacheable }) => cacheable);
  if (groups.length === 0 || bound < 1) return NO_MODEL_HIT;
  const longest = (among: readonly GroupLayout[], most: number): number => {
    for (let length = most; length > 0; length--) {
      if (length % layout.hitTokens !== 0) continue;
      const isValid = (group: GroupLayout): boolean => serves(layout, group, cached[group.id], length, bound);
      if (among.every(isValid)) return length;
    }
    return 0;
  };
  let agreed = longest(groups, bound);
  const history = layout.groups.map(({ config }) =>
    config.kind === 'ring' && config.after === 'history' ? config.capacityTokens : 0,
  );
  if (agreed > 0 && Math.max(...history) > 0) agreed = longest(groups, agreed - Math.max(...history));
  const alone = Math.max(...groups.map((group) => longest([group], bound)));
  const sharedPrefixTokens = alone > agreed ? alone : 0;
  if (agreed === 0 && sharedPrefixTokens === 0) return NO_MODEL_HIT;
  const pages = layout.groups.map((group) => pagesOf(group, cached[group.id], agreed));
  return { tokens: agreed, pages, sharedPrefixTokens };
}

/** By group: the page that is known by the first n tokens, for each n. */
type Cached = readonly (readonly (number | null)[])[];

function cachedPages(layout: CacheLayout, pool: PoolModel, tokens: readonly number[]): Cached {
  const texts = tokens.map((_, i) => tokens.slice(0, i).join(' '));
  texts.push(tokens.join(' '));
  return layout.groups.map(({ id, cacheable }) =>
    texts.map((text, length) =>
      cacheable && length > 0 && length % layout.hashTokens === 0 ? pool.pageOf(id, text) : null,
    ),
  );
}

function serves(
  layout: CacheLayout,
  group: GroupLayout,
  cached: readonly (number | null)[],
  tokens: number,
  bound: number,
): boolean {
  const { tokensPerPage: size, kind } = group;
  const has = (at: number): boolean => at <= bound && cached[at] !== null;
  if (kind === 'recurrent') return has(tokens);
  // A drafter's rows depend on the token behind them, so one unit more must be known than is used.
  const more = kind === 'sliding-window' ? size : Math.min(layout.hitTokens, size);
  const end = tokens + (group.draft ? more : 0);
  for (let page = firstOfHit(group, tokens); (page + 1) * size <= end; page++) {
    if (!has((page + 1) * size)) return false;
  }
  if (end % size === 0) return true;
  const pageEnd = Math.ceil(end / size) * size;
  for (let at = end; at <= pageEnd; at++) if (has(at)) return true;
  return false;
}

function pagesOf(group: GroupLayout, cached: readonly (number | null)[], tokens: number): number[] {
  const { tokensPerPage: size, kind } = group;
  if (!group.cacheable || tokens === 0) return [];
  const pages: number[] = [];
  const length = Math.ceil(tokens / size);
  const first = firstOfHit(group, tokens);
  for (let position = 0; position < length; position++) {
    if (position < first) {
      pages.push(0);
      continue;
    }
    const end = (position + 1) * size;
    // Where the hit ends inside the page, the boundary with the most tokens of it will do.
    let at = kind === 'recurrent' ? Math.min(end, tokens) : Math.min(end, cached.length - 1);
    while (cached[at] === null || cached[at] === undefined) at--;
    if (at < Math.min(end, tokens))
      throw new Error(`the model has no page ${position} of a hit of ${tokens}`);
    pages.push(cached[at]!);
  }
  return pages;
}
