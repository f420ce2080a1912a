/** A Llama model's tensors under the names that Hugging Face gives them, each of the shape that the config demands. */
import { InputError } from '../errors.ts';
import type { ModelConfig } from './config.ts';
import type { Safetensors, Tensor } from './safetensors.ts';

/** Matrices are stored with one row an output: y = W x. */
export interface LayerWeights {
  /** [hidden] */
  readonly attentionNorm: Tensor;
  /** [heads * headDim, hidden] */
  readonly query: Tensor;
  /** [kvHeads * headDim, hidden] */
  readonly key: Tensor;
  /** [kvHeads * headDim, hidden] */
  readonly value: Tensor;
  /** [hidden, heads * headDim] */
  readonly attentionOutput: Tensor;
  /** [hidden] */
  readonly feedForwardNorm: Tensor;
  /** [intermediate, hidden] */
  readonly gate: Tensor;
  /** [intermediate, hidden] */
  readonly up: Tensor;
  /** [hidden, intermediate] */
  readonly down: Tensor;
}

export interface ModelWeights {
  /** [vocabulary, hidden] */
  readonly embedding: Tensor;
  readonly layers: readonly LayerWeights[];
  /** [hidden] */
  readonly outputNorm: Tensor;
  /** [vocabulary, hidden]; the embedding itself where the two are tied. */
  readonly output: Tensor;
}

/** Finds all tensors. Throws `InputError` that names the first one which is missing, misshapen or of another format. */
export function readWeights(config: ModelConfig, file: Safetensors): ModelWeights {
  const { hiddenSize, intermediateSize, vocabSize, layerKinds, heads, kvHeads, headDim } = config;
  const layers = layerKinds.map((_, layer): LayerWeights => {
    const at = (name: string, ...shape: number[]) =>
      file.tensor(`model.layers.${layer}.${name}.weight`, shape);
    return {
      attentionNorm: at('input_layernorm', hiddenSize),
      query: at('self_attn.q_proj', heads * headDim, hiddenSize),
      key: at('self_attn.k_proj', kvHeads * headDim, hiddenSize),
      value: at('self_attn.v_proj', kvHeads * headDim, hiddenSize),
      attentionOutput: at('self_attn.o_proj', hiddenSize, heads * headDim),
      feedForwardNorm: at('post_attention_layernorm', hiddenSize),
      gate: at('mlp.gate_proj', intermediateSize, hiddenSize),
      up: at('mlp.up_proj', intermediateSize, hiddenSize),
      down: at('mlp.down_proj', hiddenSize, intermediateSize),
    };
  });
  requireNoBias(config, file);
  const embedding = file.tensor('model.embed_tokens.weight', [vocabSize, hiddenSize]);
  return {
    embedding,
    layers,
    outputNorm: file.tensor('model.norm.weight', [hiddenSize]),
    output: config.tiedEmbeddings ? embedding : file.tensor('lm_head.weight', [vocabSize, hiddenSize]),
  };
}

/** Left out silently, these would change every result; and a layer too many means that the config is another model's. */
function requireNoBias({ layerKinds }: ModelConfig, file: Safetensors): void {
  for (const name of file.names) {
    const [, layer, rest] = /^model\.layers\.(\d+)\.(.+)$/.exec(name) ?? [];
    if (rest === undefined) continue;
    if (rest.endsWith('.bias'))
      throw new InputError(`${file.file}: tensor ${name}: biases are not supported`);
    if (Number(layer) >= layerKinds.length) {
      throw new InputError(
        `${file.file}: tensor ${name} is beyond the ${layerKinds.length} layers of config.json`,
      );
    }
  }
}
