/** A model of a few hundred numbers, as files. */
import type { NamedBytes } from '../../../../src/model/load.ts';
import type { Tensor } from '../../../../src/model/safetensors.ts';
import { someTensor } from '../../../support/model-numbers.ts';

export const CONFIG = {
  architectures: ['LlamaForCausalLM'],
  hidden_size: 16,
  intermediate_size: 20,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  vocab_size: 24,
  max_position_embeddings: 64,
  tie_word_embeddings: true,
};

/** All tensors that a config asks for. */
export function tensorsOf(config: typeof CONFIG): Tensor[] {
  const { hidden_size, intermediate_size, num_attention_heads, num_key_value_heads, vocab_size } = config;
  const kv = (hidden_size / num_attention_heads) * num_key_value_heads;
  const shapes: Record<string, number[]> = {
    'model.embed_tokens': [vocab_size, hidden_size],
    'model.norm': [hidden_size],
  };
  if (!config.tie_word_embeddings) shapes.lm_head = [vocab_size, hidden_size];
  for (let layer = 0; layer < config.num_hidden_layers; layer += 1) {
    Object.assign(shapes, {
      [`model.layers.${layer}.input_layernorm`]: [hidden_size],
      [`model.layers.${layer}.self_attn.q_proj`]: [hidden_size, hidden_size],
      [`model.layers.${layer}.self_attn.k_proj`]: [kv, hidden_size],
      [`model.layers.${layer}.self_attn.v_proj`]: [kv, hidden_size],
      [`model.layers.${layer}.self_attn.o_proj`]: [hidden_size, hidden_size],
      [`model.layers.${layer}.post_attention_layernorm`]: [hidden_size],
      [`model.layers.${layer}.mlp.gate_proj`]: [intermediate_size, hidden_size],
      [`model.layers.${layer}.mlp.up_proj`]: [intermediate_size, hidden_size],
      [`model.layers.${layer}.mlp.down_proj`]: [hidden_size, intermediate_size],
    });
  }
  return Object.entries(shapes).map(([name, shape], i) =>
    someTensor(`${name}.weight`, shape, { seed: i + 1 }),
  );
}

/** A safetensors file. */
export function safetensors(tensors: readonly Tensor[]): ArrayBuffer {
  let end = 0;
  const header = Object.fromEntries(
    tensors.map(({ name, format, shape, bytes }) => {
      const start = end;
      end += bytes.length;
      return [name, { dtype: format.toUpperCase(), shape, data_offsets: [start, end] }];
    }),
  );
  const head = new TextEncoder().encode(JSON.stringify({ __metadata__: { format: 'pt' }, ...header }));
  const file = new Uint8Array(8 + head.length + end);
  new DataView(file.buffer).setBigUint64(0, BigInt(head.length), true);
  file.set(head, 8);
  let at = 8 + head.length;
  for (const { bytes } of tensors) {
    file.set(bytes, at);
    at += bytes.length;
  }
  return file.buffer;
}

/** The files of the model, as if dropped on a page. */
export function modelFiles({
  config = CONFIG,
  tensors = tensorsOf(config),
  extra = {},
}: {
  config?: typeof CONFIG;
  tensors?: readonly Tensor[];
  extra?: Record<string, string>;
} = {}): NamedBytes[] {
  const texts = { 'small/config.json': JSON.stringify(config), ...extra };
  const named = (name: string, bytes: ArrayBuffer) => ({ name, arrayBuffer: () => Promise.resolve(bytes) });
  return [
    ...Object.entries(texts).map(([name, text]) => named(name, new TextEncoder().encode(text).buffer)),
    named('small/model.safetensors', safetensors(tensors)),
  ];
}
