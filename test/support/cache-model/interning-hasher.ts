/**
 * A prefix hasher that gives each different prompt the next number. It cannot collide, and says which prompt a key
 * stands for, so a page's keys can be compared as plain text.
 */
import { HASH_BYTES, type PrefixHasher } from '../../../src/cache/prefix-key.ts';
import type { PrefixKey } from '../../../src/units.ts';

export class InterningHasher implements PrefixHasher {
  readonly seed = new Uint8Array(HASH_BYTES);
  readonly #numbers = new Map<string, number>();
  /** The tokens of each prompt, by its number; number 0 is the empty one. */
  readonly #texts: string[] = [''];

  hash(parent: Uint8Array, tokens: Uint32Array, out: Uint8Array): void {
    const before = this.#texts[wordOf(parent, 4)];
    const text = before === '' ? tokens.join(' ') : `${before} ${tokens.join(' ')}`;
    let number = this.#numbers.get(text);
    if (number === undefined) {
      number = this.#texts.length;
      this.#numbers.set(text, number);
      this.#texts.push(text);
    }
    const view = new DataView(out.buffer, out.byteOffset, out.byteLength);
    // The index goes by the first word, which has to be spread evenly.
    view.setUint32(0, Math.imul(number, 0x9e3779b1));
    view.setUint32(4, number);
  }

  /** Tokens that a key stands for. */
  textOf(key: PrefixKey): string {
    return this.#texts[Number.parseInt(key.slice(8, 16), 16)];
  }
}

function wordOf(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(at);
}
