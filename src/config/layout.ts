/**
 * What follows from a cache's configuration: the sizes that its groups agree on.
 *
 *   hash unit    what is hashed at once; a divisor of every cacheable group's page
 *   unit         the least common multiple of the pages: where every group ends a page
 *   hit          what a prefix hit is a multiple of: the hash unit with partial hits, else the unit
 *
 * Groups that are never cached (rings, cross attention) take no part in any of them.
 */
import { ConfigError } from '../errors.ts';
import { ceilDiv, greatestCommonDivisor, groupId, leastCommonMultiple, type GroupId } from '../units.ts';
import type { CacheConfig } from './cache.ts';
import type { GroupConfig, GroupKind } from './groups.ts';

export interface GroupLayout {
  readonly id: GroupId;
  readonly kind: GroupKind;
  readonly config: GroupConfig;
  /** Tokens that a page covers over all ranks; the capacity of a ring. */
  readonly tokensPerPage: number;
  /** Bytes at the front of the stride that belong to the group. */
  readonly pageBytes: number;
  readonly draft: boolean;
  /** Whether its pages get prefix keys and take part in hits. */
  readonly cacheable: boolean;
  /** Whether newly allocated pages are overwritten before use. */
  readonly zeroed: boolean;
}

export interface CacheLayout {
  readonly groups: readonly GroupLayout[];
  readonly hashTokens: number;
  readonly unitTokens: number;
  readonly hitTokens: number;
  /** Whether a hit may end inside a page. */
  readonly partialHits: boolean;
  /** Bytes from one page to the next: those of the largest page. */
  readonly strideBytes: number;
  readonly contextParallel: number;
  /** Consecutive tokens that stay on one rank. */
  readonly interleaveTokens: number;
}

/** Where a layout is impossible, and what to do about it. */
export interface LayoutProblem {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Throws `ConfigError` for a layout that cannot work; `layoutProblems` gives all reasons at once. */
export function resolveLayout(config: CacheConfig): CacheLayout {
  const problems = layoutProblems(config);
  if (problems.length > 0) throw new ConfigError(problems.map(({ message }) => message).join('; '));
  return layoutOf(config);
}

export function layoutProblems(config: CacheConfig): LayoutProblem[] {
  const problems = [...groupProblems(config)];
  // The sizes below mean something only for groups that make sense by themselves.
  if (problems.length === 0) problems.push(...sizeProblems(config, layoutOf(config)));
  return problems;
}

function* groupProblems(config: CacheConfig): Generator<LayoutProblem> {
  for (const [index, group] of config.groups.entries()) {
    const at = (field: string) => ['groups', index, field];
    if (group.kind === 'ring') {
      if (group.capacityTokens < group.ratio + config.lookaheadTokens) {
        yield {
          path: at('capacityTokens'),
          message:
            `a ring of ${group.capacityTokens} tokens loses tokens before they are compressed; it needs the ratio ` +
            `(${group.ratio}) and lookaheadTokens (${config.lookaheadTokens}) together`,
        };
      }
      continue;
    }
    if (config.contextParallel > 1 && (group.kind === 'sliding-window' || group.kind === 'chunked-local')) {
      yield {
        path: at('kind'),
        message: `${group.kind} does not work with contextParallel ${config.contextParallel}; use 1, or full attention`,
      };
    }
    if (group.draft && (group.kind === 'chunked-local' || group.kind === 'cross-attention')) {
      yield { path: at('draft'), message: `${group.kind} cannot be a drafter's; leave draft out` };
    }
    if (group.kind === 'compressed' && group.tokensPerPage % group.ratio !== 0) {
      yield {
        path: at('ratio'),
        message: `pages of ${group.tokensPerPage} tokens hold no whole number of rows of ${group.ratio} tokens`,
      };
    }
    if (group.kind === 'chunked-local' && group.chunkTokens % group.tokensPerPage !== 0) {
      yield {
        path: at('chunkTokens'),
        message: `chunks of ${group.chunkTokens} tokens are no multiple of the page of ${group.tokensPerPage}`,
      };
    }
  }
}

function* sizeProblems(config: CacheConfig, layout: CacheLayout): Generator<LayoutProblem> {
  const cacheable = layout.groups.filter((group) => group.cacheable);
  if (cacheable.length === 1 && config.matchTokens !== null && config.matchTokens !== layout.unitTokens) {
    yield {
      path: ['matchTokens'],
      message: `${config.matchTokens} is not the page of the only cacheable group, which is matched by whole pages of ${layout.unitTokens} tokens; leave it out`,
    };
  }
  for (const { id, tokensPerPage } of cacheable) {
    if (tokensPerPage % layout.hashTokens === 0) continue;
    yield {
      path: ['matchTokens'],
      message: `${layout.hashTokens} does not divide the ${tokensPerPage} tokens of a page of group ${id}; use a common divisor`,
    };
  }
  for (const { id, config: group } of layout.groups) {
    const ratio =
      group.kind === 'compressed' || (group.kind === 'ring' && group.after === 'tail') ? group.ratio : 1;
    if (layout.hitTokens % ratio !== 0 && cacheable.length > 0) {
      yield {
        path: ['groups', id, 'ratio'],
        message: `hits end on multiples of ${layout.hitTokens} tokens, which cut the rows of ${ratio} tokens of group ${id}; use a multiple as matchTokens`,
      };
    }
    if (ratio > 1 && layout.interleaveTokens % ratio !== 0) {
      yield {
        path: ['interleaveTokens'],
        message: `${layout.interleaveTokens} tokens in a row on one rank cut the rows of ${ratio} tokens of group ${id}; use a multiple`,
      };
    }
  }
  if (layout.contextParallel > 1) {
    for (const { id, config: group } of layout.groups) {
      if (
        group.kind === 'ring' ||
        group.kind === 'recurrent' ||
        group.tokensPerPage % layout.interleaveTokens === 0
      )
        continue;
      yield {
        path: ['groups', id, 'tokensPerPage'],
        message: `a page of ${group.tokensPerPage} tokens a rank cuts the ${layout.interleaveTokens} tokens in a row that stay on one; use a multiple`,
      };
    }
  }
  yield* cachingProblems(config, layout);
  if (config.tokensMax !== null) {
    const needed = pagesOfLongest(layout, config.tokensMax);
    if (needed > config.pages - 1) {
      yield {
        path: ['tokensMax'],
        message:
          `a request of ${config.tokensMax} tokens needs ${needed} pages, the pool has ${config.pages - 1} usable ones; ` +
          `use at least ${needed + 1} pages or at most ${longestRequest(layout, config.pages - 1)} tokens`,
      };
    }
  }
}

function* cachingProblems(config: CacheConfig, layout: CacheLayout): Generator<LayoutProblem> {
  if (!config.prefixCaching) return;
  if (config.lookaheadTokens > layout.unitTokens) {
    yield {
      path: ['lookaheadTokens'],
      message: `${config.lookaheadTokens} is more than the unit of ${layout.unitTokens} tokens; a drafter looks ahead within one unit`,
    };
  }
  const retention = config.retentionTokens;
  if (retention === null || retention === 0) return;
  if (retention % layout.unitTokens !== 0) {
    yield {
      path: ['retentionTokens'],
      message: `${retention} is no multiple of the unit of ${layout.unitTokens} tokens; use one, 0, or leave it out`,
    };
  }
  if (!layout.groups.some(({ kind }) => isRetained(kind))) {
    yield {
      path: ['retentionTokens'],
      message: `${retention} has no meaning without a sliding-window or recurrent group; leave it out`,
    };
  }
}

function canBeCached(kind: GroupKind): boolean {
  return kind !== 'ring' && kind !== 'cross-attention';
}

/** Kinds of which only the tails at certain boundaries can ever serve a hit. */
export function isRetained(kind: GroupKind): boolean {
  return kind === 'sliding-window' || kind === 'recurrent';
}

function layoutOf(config: CacheConfig): CacheLayout {
  const groups = config.groups.map((group, index) => groupLayout(config, group, index));
  // Without a cache on the device there may be one in host memory, which goes by the same units.
  const keyed = groups.filter(({ kind }) => canBeCached(kind));
  const unitTokens = keyed.map(({ tokensPerPage }) => tokensPerPage).reduce(leastCommonMultiple, 1);
  const hashTokens = hashUnit(config, keyed, unitTokens);
  const partialHits = config.prefixCaching && hasPartialHits(config, keyed, hashTokens);
  const ratios = groups.map(({ config: group }) => ('ratio' in group ? group.ratio : 1));
  return {
    groups,
    hashTokens,
    unitTokens,
    hitTokens: partialHits ? hashTokens : unitTokens,
    partialHits,
    strideBytes: Math.max(...groups.map(({ pageBytes }) => pageBytes)),
    contextParallel: config.contextParallel,
    interleaveTokens: config.interleaveTokens ?? ratios.reduce(leastCommonMultiple, 1),
  };
}

function groupLayout(config: CacheConfig, group: GroupConfig, index: number): GroupLayout {
  const common = { id: groupId(index), kind: group.kind, config: group, pageBytes: group.pageBytes };
  const zeroed = isZeroed(config, group.kind);
  if (group.kind === 'ring') {
    return { ...common, tokensPerPage: group.capacityTokens, draft: false, cacheable: false, zeroed };
  }
  // Every rank keeps the whole state of a recurrent group, and its share of the rows of the others.
  const ranks = group.kind === 'recurrent' ? 1 : config.contextParallel;
  const cacheable = config.prefixCaching && canBeCached(group.kind);
  return { ...common, tokensPerPage: group.tokensPerPage * ranks, draft: group.draft, cacheable, zeroed };
}

/**
 * Recurrent kernels write a state before they read it. Under `auto`, attention pages are zeroed only where a former
 * owner's bytes could be read in another format; rings always, since they are read before they are full.
 */
function isZeroed({ zeroing, groups }: CacheConfig, kind: GroupKind): boolean {
  if (kind === 'recurrent') return false;
  if (zeroing !== 'auto' || kind === 'ring') return true;
  const formats = new Set(groups.map(({ format }) => format));
  return formats.size > 1 || groups.some((group) => group.kind === 'recurrent');
}

function hashUnit(config: CacheConfig, keyed: readonly GroupLayout[], unitTokens: number): number {
  if (keyed.length === 0) return unitTokens;
  if (keyed.length === 1) return unitTokens;
  return config.matchTokens ?? keyed.map(({ tokensPerPage }) => tokensPerPage).reduce(greatestCommonDivisor);
}

/** Hits end inside a page where that can be longer: with states that are kept at other places than page ends. */
function hasPartialHits(config: CacheConfig, keyed: readonly GroupLayout[], hashTokens: number): boolean {
  // Where every page end has a state, there is none inside a page.
  const isFine = ({ config: group, tokensPerPage }: GroupLayout): boolean =>
    group.kind === 'full-attention' ||
    group.kind === 'compressed' ||
    (group.kind === 'recurrent' && group.states === 'aligned') ||
    tokensPerPage === hashTokens;
  const hasAlignedStates = keyed.some(
    ({ config: group, tokensPerPage }) =>
      group.kind === 'recurrent' &&
      group.states === 'aligned' &&
      (config.contextParallel > 1 ? tokensPerPage >= hashTokens : tokensPerPage > hashTokens),
  );
  return keyed.length > 1 && hasAlignedStates && keyed.every(isFine);
}

/** Pages of the longest request, alone in the pool and in one piece. */
export function pagesOfLongest(layout: CacheLayout, tokens: number): number {
  let pages = 0;
  for (const group of layout.groups) pages += pagesOf(group, tokens);
  return pages;
}

function pagesOf({ config, tokensPerPage }: GroupLayout, tokens: number): number {
  if (config.kind === 'ring') return 1;
  const all = ceilDiv(tokens, tokensPerPage);
  // The running state, the one before it as a source, and the drafted ones.
  if (config.kind === 'recurrent' && config.states === 'aligned')
    return Math.min(all, 2) + config.speculativePages;
  return all;
}

/** The longest request that fits `pages` pages alone: what `tokensMax` can be at most. */
export function longestRequest(layout: CacheLayout, pages: number): number {
  const largest = Math.max(...layout.groups.map(({ tokensPerPage }) => tokensPerPage));
  let low = 0;
  let high = largest * (pages + 1);
  while (low < high) {
    const middle = ceilDiv(low + high, 2);
    if (pagesOfLongest(layout, middle) <= pages) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** The rank that holds a token's rows. */
export function rankOf(layout: CacheLayout, token: number): number {
  return Math.floor(token / layout.interleaveTokens) % layout.contextParallel;
}
