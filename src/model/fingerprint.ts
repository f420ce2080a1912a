/** What tells one model's pages from another's: a hash of all that they are computed from. */
import { sha256 } from '@noble/hashes/sha2.js';
import type { Model } from './model.ts';
import type { Tensor } from './safetensors.ts';

const known = new WeakMap<Model, Promise<string>>();

/** SHA-256 in hex over the config and all weights, the drafter's included. Computed once a model. */
export function modelFingerprint(model: Model): Promise<string> {
  const fingerprint = known.get(model) ?? fingerprintOf(model);
  known.set(model, fingerprint);
  return fingerprint;
}

/** SHA-256. By the platform where it can, which takes secure pages only; it gives the same. */
export async function digest(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const subtle = (globalThis.crypto as { subtle?: SubtleCrypto } | undefined)?.subtle;
  return subtle ? new Uint8Array(await subtle.digest('SHA-256', bytes)) : sha256(bytes);
}

export function hexOf(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

async function fingerprintOf({ config, weights, drafter }: Model): Promise<string> {
  const { embedding, layers, outputNorm, output } = weights;
  const tensors: Tensor[] = [
    embedding,
    ...layers.flatMap((layer) => Object.values(layer) as Tensor[]),
    outputNorm,
    output,
    ...(drafter ? (Object.values(drafter) as Tensor[]) : []),
  ];
  const hash = sha256.create().update(new TextEncoder().encode(JSON.stringify(config)));
  for (const { name, shape, format, bytes } of tensors) {
    hash.update(new TextEncoder().encode(JSON.stringify([name, shape, format]))).update(await digest(bytes));
  }
  return hexOf(hash.digest());
}
