/**
 * What the host tier holds, told so that somebody who has only the events can find it: which keys a chunk stands for,
 * which tokens, and what comes before it. The tier itself knows keys alone, so chunks are noted when a request asks for
 * them or offers them.
 */
import type { TokenSequence } from '../cache/token-sequence.ts';
import { groupOfKey } from '../cache/prefix-key.ts';
import { floorTo, type GroupId, type PrefixKey } from '../units.ts';
import { chunkKey, keepsEverything, type OffloadGroup } from './groups.ts';

export type ChunkEvent =
  | {
      readonly type: 'chunk-stored';
      readonly group: GroupId;
      /** One a page of the chunk, or one a hash unit of a tail; its last one is the chunk's. */
      readonly pageKeys: readonly PrefixKey[];
      /** Key of the tokens before the chunk; `null` at the start of a prompt. */
      readonly parent: PrefixKey | null;
      /** Tokens of the chunk. */
      readonly tokens: readonly number[];
      /** Tokens that one of `pageKeys` adds to the one before it. 0, with no tokens: the chunk's last key is all there is. */
      readonly pageTokens: number;
    }
  | { readonly type: 'chunks-removed'; readonly group: GroupId; readonly pageKeys: readonly PrefixKey[] };

type Stored = Extract<ChunkEvent, { type: 'chunk-stored' }>;

export class ChunkEvents {
  readonly #pagesPerSlot: number;
  readonly #emit: (event: ChunkEvent) => void;
  readonly #known = new Map<PrefixKey, Stored>();

  constructor(pagesPerSlot: number, emit: (event: ChunkEvent) => void) {
    this.#pagesPerSlot = pagesPerSlot;
    this.#emit = emit;
  }

  /** Chunks that it could describe. 0 once everything noted was removed again. */
  get size(): number {
    return this.#known.size;
  }

  /**
   * Remembers what a chunk of a request stands for. Windows and states say nothing about the tokens before them, so of
   * them only the key is told.
   */
  note(sequence: TokenSequence, group: OffloadGroup, chunk: number): void {
    const key = chunkKey(sequence, group, chunk);
    if (this.#known.has(key)) return;
    const { id, tokensPerPage, tokensPerChunk } = group;
    if (!keepsEverything(group)) {
      this.#known.set(key, bare(key, id));
      return;
    }
    const start = chunk * tokensPerChunk;
    this.#known.set(key, {
      type: 'chunk-stored',
      group: id,
      pageKeys: Array.from({ length: this.#pagesPerSlot }, (_, page) =>
        sequence.prefixKey(start + (page + 1) * tokensPerPage, id),
      ),
      parent: chunk === 0 ? null : chunkKey(sequence, group, chunk - 1),
      tokens: [...sequence.tokens(start + tokensPerChunk).subarray(start)],
      pageTokens: tokensPerPage,
    });
  }

  /** Remembers a page that ends inside, at `tokens`: its keys are those of the hash units in it. */
  noteTail(sequence: TokenSequence, group: OffloadGroup, tokens: number): void {
    const key = sequence.prefixKey(tokens, group.id);
    if (this.#known.has(key)) return;
    if (!keepsEverything(group)) {
      this.#known.set(key, bare(key, group.id));
      return;
    }
    const { unitTokens } = sequence;
    const start = floorTo(tokens, group.tokensPerPage);
    this.#known.set(key, {
      type: 'chunk-stored',
      group: group.id,
      pageKeys: Array.from({ length: (tokens - start) / unitTokens }, (_, unit) =>
        sequence.prefixKey(start + (unit + 1) * unitTokens, group.id),
      ),
      parent: start === 0 ? null : sequence.prefixKey(start, group.id),
      tokens: [...sequence.tokens(tokens).subarray(start)],
      pageTokens: unitTokens,
    });
  }

  /** One event a key, in their order. Keys that were never noted are told bare. */
  stored(keys: readonly PrefixKey[]): void {
    for (const key of keys) this.#emit(this.#known.get(key) ?? bare(key, groupOfKey(key)));
  }

  /** One event a group, in the order in which the groups come up. What is removed is forgotten. */
  removed(keys: readonly PrefixKey[]): void {
    const groups = new Map<GroupId, PrefixKey[]>();
    for (const key of keys) {
      const { group, pageKeys } = this.#known.get(key) ?? bare(key, groupOfKey(key));
      this.#known.delete(key);
      const list = groups.get(group);
      if (list) list.push(...pageKeys);
      else groups.set(group, [...pageKeys]);
    }
    for (const [group, pageKeys] of groups) this.#emit({ type: 'chunks-removed', group, pageKeys });
  }

  /** A store that failed, or was never accepted: nobody was told of it. */
  forget(keys: readonly PrefixKey[]): void {
    for (const key of keys) this.#known.delete(key);
  }

  reset(): void {
    this.#known.clear();
  }
}

function bare(key: PrefixKey, group: GroupId): Stored {
  return { type: 'chunk-stored', group, pageKeys: [key], parent: null, tokens: [], pageTokens: 0 };
}
