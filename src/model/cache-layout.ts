/**
 * Where a model's keys and values lie in pages. One cache group a kind of layer; a page holds all layers of its group:
 *
 *   layer of the group | keys, then values | head | token of the page | number of the head
 */
import type { CacheConfigInput } from '../config.ts';
import type { GroupConfigInput } from '../config/groups.ts';
import { WORD_BYTES } from '../units.ts';
import type { LayerKind, ModelConfig } from './config.ts';

/** The layers of one kind, which share a cache group. */
export interface LayerGroup {
  readonly kind: LayerKind;
  /** Tokens that a query reads, itself included. `null`: all. */
  readonly windowTokens: number | null;
  /** Layers of the model, in order. */
  readonly layers: readonly number[];
}

/** Full attention comes first. The index is the group's id in the cache. */
export function layerGroups({ layerKinds, windowTokens }: ModelConfig): LayerGroup[] {
  return (['full', 'sliding'] as const)
    .map((kind) => ({
      kind,
      windowTokens: kind === 'sliding' ? windowTokens : null,
      layers: [...layerKinds.keys()].filter((layer) => layerKinds[layer] === kind),
    }))
    .filter(({ layers }) => layers.length > 0);
}

/** By layer of the model: its group, and its number among the group's layers. */
export function layerPlaces(config: ModelConfig): { readonly group: number; readonly index: number }[] {
  const places: { group: number; index: number }[] = [];
  for (const [group, { layers }] of layerGroups(config).entries()) {
    for (const [index, layer] of layers.entries()) places[layer] = { group, index };
  }
  return places;
}

/** Numbers that keys, or values, of one layer take in a page: from a token's key to its value. */
export function planeNumbers(sizes: {
  readonly kvHeads: number;
  readonly headDim: number;
  readonly tokensPerPage: number;
}): number {
  return sizes.kvHeads * sizes.headDim * sizes.tokensPerPage;
}

export interface ModelCacheOptions {
  /** Tokens a page, in every group. */
  readonly tokensPerPage: number;
  /** Pages of the pool, over all groups, the null page included. */
  readonly pages: number;
  /** Tokens that the drafter proposes. Above 0, its states have a group behind the layers'. Default: 0. */
  readonly draftTokens?: number;
}

/** The cache of a model: its groups in one pool, pages of 32-bit floats. The stride is the largest group's page. */
export function cacheConfigFor(
  config: ModelConfig,
  { tokensPerPage, pages, draftTokens = 0 }: ModelCacheOptions,
): CacheConfigInput & { readonly pages: number; readonly groups: GroupConfigInput[] } {
  const plane = planeNumbers({ ...config, tokensPerPage });
  const groups = layerGroups(config).map(({ windowTokens, layers }): GroupConfigInput => {
    const common = { tokensPerPage, pageBytes: layers.length * 2 * plane * WORD_BYTES, format: 'f32' };
    return windowTokens === null
      ? { kind: 'full-attention', ...common }
      : { kind: 'sliding-window', windowTokens, ...common };
  });
  if (draftTokens > 0) {
    groups.push({
      kind: 'recurrent',
      tokensPerPage,
      pageBytes: config.hiddenSize * WORD_BYTES,
      format: 'f32',
      speculativePages: draftTokens,
    });
  }
  return { pages, groups };
}
