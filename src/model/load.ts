/** Loads a model in the Hugging Face layout: `config.json`, `model.safetensors`, `tokenizer.json`. */
import { InputError } from '../errors.ts';
import { detectRuntime } from '../runtime/detect.ts';
import { parseModelConfig } from './config.ts';
import { readDrafter } from './drafter.ts';
import { filesInFolder } from './model-folder.ts';
import type { Model } from './model.ts';
import { Safetensors } from './safetensors.ts';
import { createTokenizer } from './tokenizer.ts';
import { readWeights } from './weights.ts';

/** Where the files of a model come from. */
export interface ModelFiles {
  /** For messages: the folder, or the address. */
  readonly name: string;
  /** The bytes of a file by its name, or `null` where there is no such file. */
  read(file: string): Promise<ArrayBuffer | null>;
}

/** Something with a name and bytes: a `File` that was chosen or dropped. */
export interface NamedBytes {
  readonly name: string;
  arrayBuffer(): Promise<ArrayBuffer>;
}

/**
 * Loads a model.
 *
 * @param source a folder's path (Node and Deno), its address (`http:`, `https:`, `file:` or relative to the page), or
 *   files. `tokenizer.json` may be missing: prompts are token ids then.
 * @throws ConfigError for a `config.json` that cannot be computed.
 * @throws InputError for files that are missing, truncated or misshapen, by name.
 */
export async function loadModel(source: string | URL | Iterable<NamedBytes> | ModelFiles): Promise<Model> {
  const files = filesOf(source);
  const config = parseModelConfig(await required(files, 'config.json', parseJson));
  const weights = await required(files, 'model.safetensors', (bytes, file) => new Safetensors(bytes, file));
  const tokenizer = await optional(files, 'tokenizer.json', parseJson);
  const settings = await optional(files, 'tokenizer_config.json', parseJson);
  return {
    name: files.name,
    config,
    drafter: readDrafter(config, weights),
    weights: readWeights(config, weights),
    tokenizer: tokenizer === undefined ? null : createTokenizer({ tokenizer, settings }, config),
  };
}

/** Files behind an address: `base` is the folder's, with or without a slash at its end. */
export function filesAt(base: string | URL): ModelFiles {
  const name = String(base).replace(/\/+$/, '');
  return {
    name,
    read: async (file) => {
      const response = await fetch(`${name}/${file}`).catch((cause: unknown) => {
        throw new InputError(`${name}/${file}: it cannot be fetched`, { cause });
      });
      if (response.status === 404) return null;
      if (!response.ok) throw new InputError(`${name}/${file}: the server answers ${response.status}`);
      return response.arrayBuffer();
    },
  };
}

/** Files that a person chose. Their folders do not matter. */
export function chosenFiles(chosen: Iterable<NamedBytes>): ModelFiles {
  const byName = new Map([...chosen].map((file) => [file.name.replace(/^.*\//, ''), file]));
  return {
    name: 'the chosen files',
    read: async (file) => (await byName.get(file)?.arrayBuffer()) ?? null,
  };
}

function filesOf(source: string | URL | Iterable<NamedBytes> | ModelFiles): ModelFiles {
  if (typeof source === 'string' || source instanceof URL) {
    const isWeb = /^https?:/.test(String(source)) || detectRuntime() === 'browser';
    return isWeb ? filesAt(source) : filesInFolder(source);
  }
  return 'read' in source ? source : chosenFiles(source);
}

type Parse<Value> = (bytes: ArrayBuffer, file: string) => Value;

async function required<Value>(files: ModelFiles, file: string, parse: Parse<Value>): Promise<Value> {
  const value = await optional(files, file, parse);
  if (value === undefined)
    throw new InputError(`${files.name}: ${file} is missing; it must be there for a model`);
  return value;
}

async function optional<Value>(
  files: ModelFiles,
  file: string,
  parse: Parse<Value>,
): Promise<Value | undefined> {
  const bytes = await files.read(file);
  return bytes === null ? undefined : parse(bytes, `${files.name}/${file}`);
}

function parseJson(bytes: ArrayBuffer, file: string): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(bytes)) as unknown;
  } catch (cause) {
    throw new InputError(`${file}: it is not JSON`, { cause });
  }
}
