/** The files of a model: what is read, and what is refused by which words. */
import { describe, expect, it } from 'vitest';
import { ConfigError, InputError } from '../../../src/errors.ts';
import { parseModelConfig } from '../../../src/model/config.ts';
import { loadModel } from '../../../src/model/load.ts';
import { halfToNumber, toFloat32 } from '../../../src/model/number-formats.ts';
import { ropeFrequencies } from '../../../src/model/rope.ts';
import { Safetensors } from '../../../src/model/safetensors.ts';
import { modelSource, sharedModel } from '../../support/models.ts';
import { someTensor } from '../../support/model-numbers.ts';
import { CONFIG, modelFiles, safetensors, tensorsOf } from './support/small-model.ts';

describe('config.json', () => {
  const parse = (changes: object) => parseModelConfig({ ...CONFIG, ...changes });

  it('is read with its defaults', () => {
    expect(parse({})).toMatchObject({
      kvHeads: 2,
      headDim: 4,
      layerKinds: ['full', 'full'],
      windowTokens: null,
      rope: { theta: 10_000, scaling: null },
      tiedEmbeddings: true,
      eosIds: [],
      bosId: null,
    });
    expect(parse({ eos_token_id: [3, 4], bos_token_id: 1 })).toMatchObject({ eosIds: [3, 4], bosId: 1 });
    expect(parse({ sliding_window: 7 })).toMatchObject({
      layerKinds: ['sliding', 'sliding'],
      windowTokens: 7,
    });
  });

  it.each([
    [{ architectures: ['MistralForCausalLM'] }, /architectures/],
    [{ hidden_act: 'gelu' }, /hidden_act.*gelu/],
    [{ attention_bias: true }, /attention_bias/],
    [{ mlp_bias: true }, /mlp_bias/],
    [{ quantization_config: { bits: 4 } }, /quantization_config/],
    [{ num_key_value_heads: 3 }, /num_key_value_heads: 3 does not divide the 4 attention heads/],
    [{ head_dim: 6 }, /head_dim: 6 is not a multiple of 4/],
    [{ hidden_size: 18 }, /hidden_size: 18 is no multiple of the 4/],
    [{ layer_types: ['full_attention'] }, /layer_types: 1 entries are not the 2 layers/],
    [{ layer_types: ['full_attention', 'sliding_attention'] }, /sliding_window: null is no width/],
    [{ layer_types: ['chunked_attention', 'full_attention'] }, /layer_types/],
    [{ rope_scaling: { rope_type: 'yarn', factor: 2 } }, /rope_scaling.rope_type: yarn is not supported/],
    [{ rope_scaling: { rope_type: 'llama3', factor: 2 } }, /rope_scaling.*lacks/],
    [{ partial_rotary_factor: 0.5 }, /partial_rotary_factor/],
    [{ hidden_size: 0 }, /hidden_size/],
  ])('with %j is refused by name', (changes, message) => {
    expect(() => parse(changes)).toThrow(ConfigError);
    expect(() => parse(changes)).toThrow(message);
  });

  it('scales rotations as Llama 3 does: fast ones stay, slow ones go by the factor', () => {
    const scaling = {
      rope_type: 'llama3',
      factor: 32,
      low_freq_factor: 1,
      high_freq_factor: 4,
      original_max_position_embeddings: 8192,
    };
    const base = { hidden_size: 256, num_attention_heads: 4, num_key_value_heads: 4, rope_theta: 500_000 };
    const plain = ropeFrequencies(parse(base));
    const scaled = ropeFrequencies(parse({ ...base, rope_scaling: scaling }));
    expect(
      ropeFrequencies(
        parse({ ...base, rope_theta: undefined, rope_parameters: { ...scaling, rope_theta: 500_000 } }),
      ),
    ).toEqual(scaled);
    expect(scaled[0]).toBe(plain[0]);
    expect(scaled[31]).toBeCloseTo(plain[31] / 32, 12);
    const ratios = Array.from(scaled, (value, i) => value / plain[i]);
    expect(ratios).toEqual([...ratios].sort((a, b) => b - a));
    expect(ratios.some((ratio) => ratio < 1 && ratio > 1 / 32)).toBe(true);
  });
});

describe('model.safetensors', () => {
  const one = [someTensor('a', [2, 3])];

  it('gives tensors by name, without a copy', () => {
    const file = new Safetensors(safetensors(one));
    expect(toFloat32(file.tensor('a', [2, 3]))).toEqual(toFloat32(one[0]));
    expect(file.names).toEqual(['a']);
  });

  it.each([
    ['nothing', new ArrayBuffer(3), /3 bytes are no safetensors file/],
    ['a part of the header', safetensors(one).slice(0, 20), /truncated, or no safetensors file/],
    [
      'a part of the data',
      safetensors(one).slice(0, -4),
      /tensor a ends at byte 24 of 20 bytes of data; the file is truncated/,
    ],
    [
      'a header that is none',
      new Uint8Array([2, 0, 0, 0, 0, 0, 0, 0, 123, 123]).buffer,
      /its header is not JSON/,
    ],
  ])('with %s is refused', (_, buffer, message) => {
    expect(() => new Safetensors(buffer, 'x')).toThrow(InputError);
    expect(() => new Safetensors(buffer, 'x')).toThrow(message);
  });

  it('refuses other shapes, formats and names when they are asked for', () => {
    const file = new Safetensors(safetensors(one), 'x');
    expect(() => file.tensor('a', [3, 2])).toThrow('x: tensor a has shape [2, 3]; config.json wants [3, 2]');
    expect(() => file.tensor('b', [1])).toThrow('x: tensor b is missing');
    const eight = safetensors([{ ...one[0], format: 'I8' as 'f32' }]);
    expect(() => new Safetensors(eight, 'x').tensor('a', [2, 3])).toThrow('x: tensor a is I8; supported are');
  });

  it('reads 16 bits as numbers', () => {
    expect([0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00].map(halfToNumber)).toEqual([
      1,
      -2,
      2 ** -24,
      65504,
      Infinity,
    ]);
    expect(halfToNumber(0x7e00)).toBeNaN();
    const brain = {
      ...someTensor('b', [2]),
      format: 'bf16' as const,
      bytes: new Uint8Array([0x80, 0x3f, 0x00, 0xc0]),
    };
    expect([...toFloat32(brain)]).toEqual([1, -2]);
  });
});

describe('a model', () => {
  it('loads from files, whatever the folder in their names', async () => {
    const model = await loadModel(modelFiles());
    expect(model.config.hiddenSize).toBe(16);
    expect(model.weights.layers).toHaveLength(2);
    expect(model.weights.output).toBe(model.weights.embedding);
    expect(model.tokenizer).toBeNull();
  });

  it('with an output matrix of its own takes that', async () => {
    const config = { ...CONFIG, tie_word_embeddings: false };
    const model = await loadModel(modelFiles({ config }));
    expect(model.weights.output.name).toBe('lm_head.weight');
    const tied = tensorsOf(CONFIG);
    await expect(loadModel(modelFiles({ config, tensors: tied }))).rejects.toThrow(
      'tensor lm_head.weight is missing',
    );
  });

  it('is refused by the name of what is missing, misshapen or too much', async () => {
    const tensors = tensorsOf(CONFIG);
    const without = (name: string) => tensors.filter((tensor) => tensor.name !== name);
    const name = 'model.layers.1.mlp.up_proj.weight';
    await expect(loadModel(modelFiles({ tensors: without(name) }))).rejects.toThrow(
      `tensor ${name} is missing`,
    );
    const wide = { ...CONFIG, intermediate_size: 24 };
    await expect(loadModel(modelFiles({ config: wide, tensors }))).rejects.toThrow(
      'tensor model.layers.0.mlp.gate_proj.weight has shape [20, 16]; config.json wants [24, 16]',
    );
    const bias = someTensor('model.layers.0.self_attn.q_proj.bias', [16]);
    await expect(loadModel(modelFiles({ tensors: [...tensors, bias] }))).rejects.toThrow(
      'biases are not supported',
    );
    const short = { ...CONFIG, num_hidden_layers: 1 };
    await expect(loadModel(modelFiles({ config: short, tensors }))).rejects.toThrow('beyond the 1 layers');
    await expect(loadModel([])).rejects.toThrow('the chosen files: config.json is missing');
    await expect(loadModel('/nowhere')).rejects.toThrow('/nowhere: config.json is missing');
    const broken = modelFiles().map((file) =>
      file.name.endsWith('config.json')
        ? { ...file, arrayBuffer: () => Promise.resolve(new ArrayBuffer(2)) }
        : file,
    );
    await expect(loadModel(broken)).rejects.toThrow('config.json: it is not JSON');
  });
});

describe('tokenizer.json', () => {
  it('encodes the prompts of the goldens, with the first token in front', async (context) => {
    const { model, file } = await sharedModel('kjv-tiny', context);
    const { cases } = file as {
      cases: { prompt: string; prompt_ids: number[]; greedy_ids: number[]; text: string }[];
    };
    for (const { prompt, prompt_ids, greedy_ids, text } of cases) {
      expect(model.tokenizer!.encode(prompt)).toEqual(prompt_ids);
      expect(model.tokenizer!.decode([...prompt_ids, ...greedy_ids])).toBe(text);
    }
  });

  it('that is none is refused', async (context) => {
    const files = modelFiles({ extra: { 'tokenizer.json': '[]' } });
    await expect(loadModel(files)).rejects.toThrow('tokenizer.json: expected an object with a model');
    expect(modelSource('kjv-tiny', context)).toContain('kjv-tiny');
  });
});
