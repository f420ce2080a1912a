/** The kinds of layers that share one pool: what each keeps of a request, and the schema that checks it. */
import { z } from 'zod';
import { WORD_BYTES } from '../units.ts';

/** Every prefix token is kept, whatever the length. */
export interface FullAttentionConfig extends PagedGroupConfig {
  kind: 'full-attention';
}

/** Full attention over rows that each stand for several tokens: a page of 16 tokens at ratio 4 stores 4 rows. */
export interface CompressedConfig extends PagedGroupConfig {
  kind: 'compressed';
  /** Tokens a row. Divides the page and every hit. */
  ratio: number;
}

/** Token q reads the last `windowTokens` tokens, itself included; what no later token reads is given back. */
export interface SlidingWindowConfig extends PagedGroupConfig {
  kind: 'sliding-window';
  windowTokens: number;
}

/** Token q reads its own chunk, up to itself. Pages of earlier chunks are given back. */
export interface ChunkedLocalConfig extends PagedGroupConfig {
  kind: 'chunked-local';
  /** A multiple of the page. */
  chunkTokens: number;
}

/** One state for everything so far (Mamba, linear attention). A page holds one state, not rows. */
export interface RecurrentConfig extends PagedGroupConfig {
  kind: 'recurrent';
  /** `aligned` (default): a state at the end of each chunk of work. `all`: one for each page's worth of tokens. */
  states: 'aligned' | 'all';
  /** States kept beside the running one for tokens that are drafted and not accepted yet. Default: 0. */
  speculativePages: number;
}

/** Keys and values of an encoder's output: allocated once, never shared. */
export interface CrossAttentionConfig extends PagedGroupConfig {
  kind: 'cross-attention';
}

/**
 * One page a request for as long as it holds pages, overwritten in place: token q goes to slot q modulo
 * `capacityTokens`. Never cached, never offloaded.
 */
export interface RingConfig {
  kind: 'ring';
  /** Bytes of the page. A multiple of 4. */
  pageBytes: number;
  capacityTokens: number;
  /** Tokens that the ring gathers into one compressed row. Default: 1. */
  ratio: number;
  /**
   * What the ring needs behind a prefix hit. `tail`: nothing, if the hit ends on a multiple of `ratio`. `history`: its
   * last `capacityTokens` tokens, so the hit is made shorter by that many and they are computed again.
   */
  after: 'tail' | 'history';
  /** Name of the number format. Groups that differ in it read each other's stale bytes wrong. Default: `f16`. */
  format: string;
}

/** What all kinds have but the ring. */
export interface PagedGroupConfig {
  /** Tokens that one page covers, on one rank. */
  tokensPerPage: number;
  /** Bytes of one page: all layers of the group, keys and values together. A multiple of 4. */
  pageBytes: number;
  /** Layers of a drafter: their rows at the end of a prefix depend on the token behind it. Default: false. */
  draft: boolean;
  /** Name of the number format. Groups that differ in it read each other's stale bytes wrong. Default: `f16`. */
  format: string;
}

export type GroupConfig =
  | FullAttentionConfig
  | CompressedConfig
  | SlidingWindowConfig
  | ChunkedLocalConfig
  | RecurrentConfig
  | CrossAttentionConfig
  | RingConfig;

export type GroupKind = GroupConfig['kind'];

/** What a caller writes. */
export type GroupConfigInput = {
  [Kind in GroupKind]: WithDefaults<Extract<GroupConfig, { kind: Kind }>>;
}[GroupKind];

type Defaulted = 'draft' | 'format' | 'states' | 'speculativePages' | 'ratio';
type WithDefaults<Config> = Config extends { kind: 'compressed' }
  ? Omit<Config, 'draft' | 'format'> &
      Partial<Pick<Config, ('draft' & keyof Config) | ('format' & keyof Config)>>
  : Omit<Config, Defaulted> & Partial<Pick<Config, Defaulted & keyof Config>>;

const count = z.int().min(1);
const bytes = count.multipleOf(WORD_BYTES);
const format = z.string().min(1).default('f16');
const paged = { tokensPerPage: count, pageBytes: bytes, draft: z.boolean().default(false), format };

export const groupConfigSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('full-attention'), ...paged }),
  z.strictObject({ kind: z.literal('compressed'), ...paged, ratio: count }),
  z.strictObject({ kind: z.literal('sliding-window'), ...paged, windowTokens: count }),
  z.strictObject({ kind: z.literal('chunked-local'), ...paged, chunkTokens: count }),
  z.strictObject({
    kind: z.literal('recurrent'),
    ...paged,
    states: z.enum(['aligned', 'all']).default('aligned'),
    speculativePages: z.int().min(0).default(0),
  }),
  z.strictObject({ kind: z.literal('cross-attention'), ...paged }),
  z.strictObject({
    kind: z.literal('ring'),
    pageBytes: bytes,
    capacityTokens: count,
    ratio: count.default(1),
    after: z.enum(['tail', 'history']),
    format,
  }),
]);
