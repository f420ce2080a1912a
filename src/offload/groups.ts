/**
 * What the connector goes by for each group that it offloads. A chunk is `pagesPerSlot` consecutive pages of one group
 * of one request: what one slot holds, and what one key stands for. Rings and cross attention are never offloaded.
 */
import { ConfigError } from '../errors.ts';
import type { CacheLayout, GroupLayout } from '../config/layout.ts';
import type { TokenSequence } from '../cache/token-sequence.ts';
import { ceilDiv, leastCommonMultiple, type GroupId, type PrefixKey } from '../units.ts';

export interface OffloadGroup {
  /** Its place in the page tables. */
  readonly id: GroupId;
  readonly tokensPerPage: number;
  readonly tokensPerChunk: number;
  /** Chunks before a boundary that a hit there needs; null: all of them. */
  readonly windowChunks: number | null;
  /** A page holds a state, which stands for one boundary only. */
  readonly isState: boolean;
  /** The rows at the end of a prefix depend on the token behind it. */
  readonly draft: boolean;
  /** Chunks from one full-attention boundary to the next, of which only the last window is ever needed; null: all are. */
  readonly segmentChunks: number | null;
}

/** The offloaded groups of a layout. Throws `ConfigError` where chunks cannot be told apart by keys. */
export function offloadGroups(layout: CacheLayout, pagesPerSlot: number): OffloadGroup[] {
  const kept = layout.groups.filter(({ kind }) => kind !== 'ring' && kind !== 'cross-attention');
  const attention = new Set(
    kept.filter(isFullAttention).map(({ tokensPerPage }) => tokensPerPage * pagesPerSlot),
  );
  const segmentTokens = attention.size === 1 ? [...attention][0] : null;
  return kept.map((group) => {
    const tokensPerChunk = group.tokensPerPage * pagesPerSlot;
    if (tokensPerChunk % layout.hashTokens !== 0) {
      throw new ConfigError(
        `chunks of ${tokensPerChunk} tokens in group ${group.id} are no multiple of the hash unit of ${layout.hashTokens}; use another matchTokens`,
      );
    }
    const windowChunks = windowOf(group, tokensPerChunk);
    return {
      id: group.id,
      tokensPerPage: group.tokensPerPage,
      tokensPerChunk,
      windowChunks,
      isState: group.kind === 'recurrent',
      draft: group.draft,
      segmentChunks: segmentOf(group, { tokensPerChunk, segmentTokens, windowChunks }),
    };
  });
}

/** What a hit in the tier is a multiple of: whole chunks of every group, and whole units of the device's hits. */
export function hitUnitOf(groups: readonly OffloadGroup[], { unitTokens }: CacheLayout): number {
  return groups.map(({ tokensPerChunk }) => tokensPerChunk).reduce(leastCommonMultiple, unitTokens);
}

/** Whether every prefix token is kept, in however many rows. Its pages stay with the request while it runs. */
export function keepsEverything({ windowChunks }: OffloadGroup): boolean {
  return windowChunks === null;
}

function isFullAttention({ kind }: GroupLayout): boolean {
  return kind === 'full-attention' || kind === 'compressed';
}

function windowOf({ config }: GroupLayout, tokensPerChunk: number): number | null {
  switch (config.kind) {
    case 'sliding-window':
      return ceilDiv(config.windowTokens - 1, tokensPerChunk);
    case 'chunked-local':
      return ceilDiv(config.chunkTokens, tokensPerChunk);
    case 'recurrent':
      return 1;
    default:
      return null;
  }
}

function segmentOf(
  { kind, draft }: GroupLayout,
  sizes: { tokensPerChunk: number; segmentTokens: number | null; windowChunks: number | null },
): number | null {
  const { tokensPerChunk, segmentTokens, windowChunks } = sizes;
  if (kind === 'recurrent' || windowChunks === null || segmentTokens === null) return null;
  if (tokensPerChunk >= segmentTokens || segmentTokens % tokensPerChunk !== 0) return null;
  const chunks = segmentTokens / tokensPerChunk;
  return windowChunks + (draft ? 1 : 0) < chunks ? chunks : null;
}

/**
 * Whether a hit can ever need a chunk: it is among the last `windowChunks` of its segment, one more for a drafter. The
 * last segment ends where the chunks that can be stored end.
 */
export function isReachable(
  chunk: number,
  storableChunks: number,
  { segmentChunks, windowChunks, draft }: Pick<OffloadGroup, 'segmentChunks' | 'windowChunks' | 'draft'>,
): boolean {
  if (segmentChunks === null || windowChunks === null) return true;
  const segmentEnd = (Math.floor(chunk / segmentChunks) + 1) * segmentChunks;
  return chunk >= Math.min(segmentEnd, storableChunks) - windowChunks - (draft ? 1 : 0);
}

/** Key of a chunk: it stands for all tokens up to the end of that chunk, in its group. */
export function chunkKey(sequence: TokenSequence, group: OffloadGroup, chunk: number): PrefixKey {
  return sequence.prefixKey((chunk + 1) * group.tokensPerChunk, group.id);
}

/** Chunks of a group whose tokens are all there. */
export function chunksIn(tokens: number, { tokensPerChunk }: OffloadGroup): number {
  return Math.floor(tokens / tokensPerChunk);
}
