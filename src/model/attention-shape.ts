/** What attention over pages is told of sizes, here and in the shaders. */
import { layerGroups, planeNumbers } from './cache-layout.ts';
import type { ModelConfig } from './config.ts';

export interface AttentionShape {
  readonly heads: number;
  /** Heads of keys and values. */
  readonly kvHeads: number;
  readonly headDim: number;
  readonly tokensPerPage: number;
  /** Numbers from one page to the next. */
  readonly strideNumbers: number;
  /** Tokens that a query reads, itself included. 0: all. */
  readonly windowTokens: number;
}

/** The first number of a token's key in the pool, `head` counting heads of keys. Its value is one plane further. */
export function keyPlace(
  shape: AttentionShape,
  { page, layer, head, slot }: { page: number; layer: number; head: number; slot: number },
): number {
  const { headDim, tokensPerPage, strideNumbers } = shape;
  return page * strideNumbers + layer * 2 * planeNumbers(shape) + (head * tokensPerPage + slot) * headDim;
}

export interface PageSizes {
  readonly tokensPerPage: number;
  /** Bytes from one page to the next. */
  readonly strideBytes: number;
}

/** By cache group. */
export function attentionShapes(
  config: ModelConfig,
  { tokensPerPage, strideBytes }: PageSizes,
): AttentionShape[] {
  const { heads, kvHeads, headDim } = config;
  const strideNumbers = strideBytes / Float32Array.BYTES_PER_ELEMENT;
  return layerGroups(config).map(({ windowTokens }) => ({
    heads,
    kvHeads,
    headDim,
    tokensPerPage,
    strideNumbers,
    windowTokens: windowTokens ?? 0,
  }));
}
