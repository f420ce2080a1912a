/** What sets the kinds of groups apart, each rule as one sentence. */
import type { GroupLayout } from '../../../src/config/layout.ts';

/** First token whose rows (or, for a state, the token after which it stands) the token behind `tokens` others reads. */
export function firstRead({ config }: GroupLayout, tokens: number): number {
  switch (config.kind) {
    case 'sliding-window':
      return Math.max(0, tokens - config.windowTokens + 1);
    case 'chunked-local':
      return tokens - (tokens % config.chunkTokens);
    case 'recurrent':
      return Math.max(0, tokens - 1);
    default:
      return 0;
  }
}

/** Positions that nothing reads any more once `tokens` tokens are computed. */
export function pagesBehind(group: GroupLayout, tokens: number): number {
  return group.kind === 'ring' ? 0 : Math.floor(firstRead(group, tokens) / group.tokensPerPage);
}

/** First position of a hit: what the next token reads, and never nothing at all but for chunks. */
export function firstOfHit(group: GroupLayout, tokens: number): number {
  const behind = pagesBehind(group, tokens);
  return group.kind === 'sliding-window' ? Math.min(behind, tokens / group.tokensPerPage - 1) : behind;
}

export function isAligned({ config }: GroupLayout): boolean {
  return config.kind === 'recurrent' && config.states === 'aligned';
}

export function speculativePages({ config }: GroupLayout): number {
  return config.kind === 'recurrent' && config.states === 'aligned' ? config.speculativePages : 0;
}

/**
 * Whether a page of a windowed or recurrent group is in the tail of a boundary, so that a hit may need it. Boundaries
 * stand at multiples of `interval` (0: nowhere, null: at every page) and at the extra ones.
 */
export function isWorthKeeping(
  group: GroupLayout,
  position: number,
  interval: number | null,
  extra: readonly number[],
): boolean {
  const { config, tokensPerPage: size } = group;
  if (interval === null || (config.kind !== 'sliding-window' && config.kind !== 'recurrent')) return true;
  const before = config.kind === 'recurrent' ? 1 : Math.max(1, Math.ceil((config.windowTokens - 1) / size));
  const beyond = group.draft && config.kind === 'sliding-window' ? 1 : 0;
  // Tails that touch each other leave nothing out, not even what stands before the first of them.
  if (interval > 0 && (before + beyond) * size >= interval) return true;
  const boundaries = [...extra];
  for (let at = interval; interval > 0 && at <= (position + 1) * size + interval; at += interval) {
    boundaries.push(at);
  }
  return boundaries.some((boundary) => {
    const end = Math.ceil(boundary / size);
    return boundary > 0 && position >= end - before && position < end + beyond;
  });
}
