/**
 * Ready layouts. `incident` is the production layout in which a zeroed ring page met a pending store; `incident-small`
 * is the same in small, for tests and the demo.
 *
 *   group 0   full attention   keys and values of the model
 *   group 1   compressed       keys that 8 (small: 2) tokens share
 *   group 2   recurrent        the drafter's state at page boundaries: offloaded, so its pages have stores that read them
 *   group 3   ring             tokens that wait for compression: one page a request, not offloaded, not cacheable
 */
import type { CacheConfigInput } from './cache.ts';
import type { GroupConfigInput } from './groups.ts';

export type PresetName = 'incident' | 'incident-small';

interface Sizes {
  readonly tokensPerPage: number;
  readonly ratio: number;
  /** Tokens that the drafter proposes: the ring holds them beside those that wait for compression. */
  readonly draftTokens: number;
  /** Bytes of one row of one token. */
  readonly rowBytes: number;
  readonly stateBytes: number;
  readonly pages: number;
}

const CONTEXT_PARALLEL = 2;

const SIZES: Record<PresetName, Sizes> = {
  incident: { tokensPerPage: 1664, ratio: 8, draftTokens: 3, rowBytes: 64, stateBytes: 16_384, pages: 1024 },
  'incident-small': { tokensPerPage: 4, ratio: 2, draftTokens: 1, rowBytes: 16, stateBytes: 32, pages: 32 },
};

/**
 * A layout by name.
 *
 * @example
 * ```ts
 * import { cacheConfigSchema, CacheManager, cachePreset } from 'pagefence';
 *
 * const cache = new CacheManager(cacheConfigSchema.parse(cachePreset('incident-small')));
 * console.log(cache.layout.unitTokens); // 8: pages of 4 tokens on each of 2 ranks
 * ```
 */
export function cachePreset(
  name: PresetName,
): CacheConfigInput & { pages: number; groups: GroupConfigInput[] } {
  const { tokensPerPage, ratio, draftTokens, rowBytes, stateBytes, pages } = SIZES[name];
  return {
    pages,
    contextParallel: CONTEXT_PARALLEL,
    lookaheadTokens: draftTokens,
    groups: [
      { kind: 'full-attention', tokensPerPage, pageBytes: tokensPerPage * rowBytes },
      { kind: 'compressed', tokensPerPage, ratio, pageBytes: (tokensPerPage / ratio) * rowBytes },
      // Every rank keeps whole states, so a page covers what the attention pages of all ranks cover together.
      { kind: 'recurrent', tokensPerPage: tokensPerPage * CONTEXT_PARALLEL, pageBytes: stateBytes },
      {
        kind: 'ring',
        capacityTokens: ratio + draftTokens,
        ratio,
        after: 'tail',
        pageBytes: (ratio + draftTokens) * rowBytes,
      },
    ],
  };
}
