/** Text to token ids and back, by `tokenizer.json`. */
import { Tokenizer } from '@huggingface/tokenizers';
import { InputError } from '../errors.ts';
import type { ModelConfig } from './config.ts';

export interface TextTokenizer {
  /** Ids of a prompt, with the token that begins a text in front where the model wants one. */
  encode(text: string): number[];
  /** The text of ids, without special tokens. Cut inside a character, it ends in a replacement character. */
  decode(ids: readonly number[]): string;
}

export interface TokenizerFiles {
  /** The parsed `tokenizer.json`. */
  readonly tokenizer: unknown;
  /** The parsed `tokenizer_config.json`, where there is one. */
  readonly settings?: unknown;
}

/**
 * Makes a tokenizer. Files whose post-processor puts the first token in front are left to do so; else the model's own
 * is put there, if `tokenizer_config.json` says so or is not there. Throws `InputError` for a file that is none.
 */
export function createTokenizer(files: TokenizerFiles, { bosId }: ModelConfig): TextTokenizer {
  const { tokenizer: json, settings } = files;
  const name = 'tokenizer.json';
  if (typeof json !== 'object' || json === null || !('model' in json)) {
    throw new InputError(`${name}: expected an object with a model, as Hugging Face writes it`);
  }
  const options: Record<string, unknown> = isObject(settings) ? settings : {};
  const made = construct(json, options, name);
  const putsFirst = settings === undefined ? made.post_processor === null : options.add_bos_token === true;
  return {
    encode: (text) => {
      const ids = text === '' ? [] : Array.from(made.encode(text).ids);
      return bosId !== null && putsFirst && ids[0] !== bosId ? [bosId, ...ids] : ids;
    },
    decode: (ids) => (ids.length === 0 ? '' : made.decode([...ids], { skip_special_tokens: true })),
  };
}

function construct(json: object, settings: object, name: string): Tokenizer {
  try {
    return new Tokenizer(json, settings);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw new InputError(`${name}: ${problem}`, { cause: error });
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
