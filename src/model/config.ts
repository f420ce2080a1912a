/** What `config.json` of a Llama-style model says, in our words; what it says that cannot be computed is refused. */
import { z } from 'zod';
import { parseConfig } from '../config.ts';
import { ConfigError } from '../errors.ts';

export type LayerKind = 'full' | 'sliding';

/** Llama 3's stretch of the slow rotations, so that a model reads further than it was first trained to. */
export interface RopeScaling {
  readonly factor: number;
  readonly lowFrequencyFactor: number;
  readonly highFrequencyFactor: number;
  /** Positions of the first training. */
  readonly originalPositions: number;
}

export interface ModelConfig {
  readonly hiddenSize: number;
  /** Width of the feed-forward part. */
  readonly intermediateSize: number;
  readonly heads: number;
  /** Heads of keys and values. Divides `heads`. */
  readonly kvHeads: number;
  /** Numbers a head. A multiple of 4. */
  readonly headDim: number;
  readonly vocabSize: number;
  /** Longest sequence that the model was made for. */
  readonly positionsMax: number;
  readonly rmsEpsilon: number;
  readonly rope: { readonly theta: number; readonly scaling: RopeScaling | null };
  /** Whether the embedding is the output matrix as well. */
  readonly tiedEmbeddings: boolean;
  /** By layer. */
  readonly layerKinds: readonly LayerKind[];
  /** Tokens that a sliding layer reads, the current one included. `null` where no layer slides. */
  readonly windowTokens: number | null;
  readonly bosId: number | null;
  /** Of the recurrent drafter that comes with the model: what multiplies embeddings on their way in. */
  readonly drafter: { readonly embedScale: number } | null;
  /** Tokens that end a text. May be empty. */
  readonly eosIds: readonly number[];
}

const count = z.int().min(1);
const positive = z.number().positive();
const token = z.int().min(0);
const nothing = z.union([z.null(), z.literal(false)]).optional();

const scalingSchema = z.looseObject({
  rope_type: z.string().optional(),
  type: z.string().optional(),
  rope_theta: positive.optional(),
  factor: positive.optional(),
  low_freq_factor: positive.optional(),
  high_freq_factor: positive.optional(),
  original_max_position_embeddings: count.optional(),
});

/** The fields that matter. Others are let through: they say how the model was made, not what it computes. */
const fileSchema = z.looseObject({
  architectures: z.tuple([z.literal('LlamaForCausalLM')]),
  model_type: z.literal('llama').optional(),
  hidden_size: count,
  intermediate_size: count,
  num_hidden_layers: count.max(1024),
  num_attention_heads: count,
  num_key_value_heads: count.nullish(),
  head_dim: count.nullish(),
  vocab_size: count,
  max_position_embeddings: count.default(2048),
  rms_norm_eps: positive.default(1e-6),
  rope_theta: positive.optional(),
  rope_scaling: scalingSchema.nullish(),
  rope_parameters: scalingSchema.nullish(),
  rope_interleaved: nothing,
  partial_rotary_factor: z.literal(1).nullish(),
  tie_word_embeddings: z.boolean().default(false),
  hidden_act: z.literal('silu').default('silu'),
  attention_bias: nothing,
  mlp_bias: nothing,
  quantization_config: z.null().optional(),
  layer_types: z.array(z.enum(['full_attention', 'sliding_attention'])).nullish(),
  sliding_window: count.nullish(),
  drafter: z
    .looseObject({ type: z.literal('ema'), hidden_size: count, embed_scale: positive.default(1) })
    .nullish(),
  bos_token_id: token.nullish(),
  eos_token_id: z.union([token, z.array(token)]).nullish(),
});

type ConfigFile = z.output<typeof fileSchema>;

/** Head dimensions beyond this do not fit the attention kernel's workgroup memory. */
const HEAD_DIM_MAX = 256;

const WHAT = 'config.json';

/** Reads the parsed `config.json`. Throws `ConfigError` that names the field, its value and what is supported. */
export function parseModelConfig(json: unknown): ModelConfig {
  const file = parseConfig(fileSchema, json, WHAT);
  const heads = file.num_attention_heads;
  const kvHeads = file.num_key_value_heads ?? heads;
  const headDim = headDimOf(file);
  if (heads % kvHeads !== 0) {
    throw refusal('num_key_value_heads', kvHeads, `does not divide the ${heads} attention heads`);
  }
  if (headDim % 4 !== 0 || headDim > HEAD_DIM_MAX) {
    throw refusal('head_dim', headDim, `is not a multiple of 4 up to ${HEAD_DIM_MAX}`);
  }
  const layerKinds = layerKindsOf(file);
  const eos = file.eos_token_id ?? [];
  return {
    hiddenSize: file.hidden_size,
    intermediateSize: file.intermediate_size,
    heads,
    kvHeads,
    headDim,
    vocabSize: file.vocab_size,
    positionsMax: file.max_position_embeddings,
    rmsEpsilon: file.rms_norm_eps,
    rope: ropeOf(file),
    tiedEmbeddings: file.tie_word_embeddings,
    layerKinds,
    windowTokens: layerKinds.includes('sliding') ? file.sliding_window! : null,
    drafter: drafterOf(file),
    bosId: file.bos_token_id ?? null,
    eosIds: typeof eos === 'number' ? [eos] : eos,
  };
}

function drafterOf({ drafter, hidden_size }: ConfigFile): ModelConfig['drafter'] {
  if (!drafter) return null;
  if (drafter.hidden_size === hidden_size) return { embedScale: drafter.embed_scale };
  throw refusal('drafter.hidden_size', drafter.hidden_size, `is not the model's ${hidden_size}`);
}

function headDimOf({ head_dim, hidden_size, num_attention_heads }: ConfigFile): number {
  if (typeof head_dim === 'number') return head_dim;
  if (hidden_size % num_attention_heads === 0) return hidden_size / num_attention_heads;
  throw refusal('hidden_size', hidden_size, `is no multiple of the ${num_attention_heads} attention heads`);
}

function layerKindsOf(file: ConfigFile): LayerKind[] {
  const { layer_types, num_hidden_layers, sliding_window } = file;
  if (!layer_types) {
    const kind = typeof sliding_window === 'number' ? 'sliding' : 'full';
    return Array.from({ length: num_hidden_layers }, () => kind);
  }
  if (layer_types.length !== num_hidden_layers) {
    throw refusal('layer_types', `${layer_types.length} entries`, `are not the ${num_hidden_layers} layers`);
  }
  const kinds = layer_types.map((type): LayerKind => (type === 'full_attention' ? 'full' : 'sliding'));
  if (kinds.includes('sliding') && typeof sliding_window !== 'number') {
    throw refusal('sliding_window', 'null', 'is no width for the sliding layers');
  }
  return kinds;
}

/** Newer files keep the base among the scaling's parameters. */
function ropeOf(file: ConfigFile): ModelConfig['rope'] {
  const scaling = file.rope_parameters ?? file.rope_scaling ?? null;
  const theta = file.rope_theta ?? scaling?.rope_theta ?? 10_000;
  const type = scaling?.rope_type ?? scaling?.type ?? 'default';
  if (scaling === null || type === 'default') return { theta, scaling: null };
  if (type !== 'llama3')
    throw refusal('rope_scaling.rope_type', type, 'is not supported; default and llama3 are');
  const { factor, low_freq_factor, high_freq_factor, original_max_position_embeddings } = scaling;
  if (
    factor === undefined ||
    low_freq_factor === undefined ||
    high_freq_factor === undefined ||
    original_max_position_embeddings === undefined ||
    high_freq_factor <= low_freq_factor
  ) {
    throw refusal(
      'rope_scaling',
      JSON.stringify(scaling),
      'lacks one of factor, low_freq_factor, high_freq_factor (the larger one) and original_max_position_embeddings',
    );
  }
  return {
    theta,
    scaling: {
      factor,
      lowFrequencyFactor: low_freq_factor,
      highFrequencyFactor: high_freq_factor,
      originalPositions: original_max_position_embeddings,
    },
  };
}

function refusal(field: string, value: string | number, problem: string): ConfigError {
  return new ConfigError(`${WHAT} is not usable. ${field}: ${value} ${problem}`);
}
