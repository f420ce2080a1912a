/** Knows what every host slot must hold, from the tokens of the requests alone, and says where one does not. */
import type { Engine } from '../engine.ts';
import type { TokenSequence } from '../cache/token-sequence.ts';
import { witnessFill } from '../reference/kernels/index.ts';
import type { Request } from '../schedule/request.ts';
import { pageId, slotId, type PageId, type PrefixKey, type SlotId } from '../units.ts';
import { pageShape, wordsOfRows } from '../witness/page-shape.ts';
import { witnessOps } from '../witness/witness-ops.ts';

/** What the scratch page holds where nothing is expected. */
const UNKNOWN = 0x5ca1ab1e;

/** The scratch page that expectations are computed on. Page 0 is the null page. */
const SCRATCH = pageId(1);

interface KnownPage {
  readonly group: number;
  /** By rank. */
  readonly words: readonly Uint32Array[];
}

export class HostShadow {
  private readonly engine: Engine;
  /** By key of a chunk: its pages. */
  private readonly chunks = new Map<PrefixKey, readonly KnownPage[]>();
  /** Tokens of each request that are in `chunks`. */
  private readonly learnt = new WeakMap<TokenSequence, number>();
  /** Slots that held what they must when they were last written, and the key that they held. */
  private readonly right = new Map<SlotId, PrefixKey>();

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Call before each step: a page that a step fills consists of tokens that are known by then. */
  learn(): void {
    for (const request of this.engine.scheduler.queues.all()) this.learnFrom(request);
  }

  /** Places of the host memory that a store has written since: their slots are looked at again. */
  written(places: readonly SlotId[]): void {
    const { pagesPerSlot } = this.engine.config.offload;
    for (const place of places) this.right.delete(slotId(Math.floor(place / pagesPerSlot)));
  }

  /** The first ready slot with a wrong word, as a sentence; `null` when all are right. */
  findWrongSlot(): string | null {
    const { pagesPerSlot } = this.engine.config.offload;
    for (const { key, slot, references } of this.engine.connector.manager.entries()) {
      if (references < 0 || this.right.get(slot) === key) continue;
      const chunk = this.chunks.get(key);
      if (!chunk) return `slot ${slot} has a key that no request had`;
      for (const [i, page] of chunk.entries()) {
        const wrong = this.findWrongWord(slot * pagesPerSlot + i, page);
        if (wrong !== null) return `slot ${slot}, page ${i}, group ${page.group}, ${wrong}`;
      }
      this.right.set(slot, key);
    }
    return null;
  }

  private findWrongWord(place: number, { group, words }: KnownPage): string | null {
    const kind = this.engine.cache.layout.groups[group].kind;
    for (const [rank, expected] of words.entries()) {
      // A state stands in the last page of its chunk; the others are never read.
      if (kind === 'recurrent' && expected.length === 0) continue;
      const bytes = this.engine.ranks[rank].host!.view(slotId(place));
      const found = new Uint32Array(bytes.buffer, bytes.byteOffset, expected.length);
      const word = expected.findIndex((value, i) => value !== UNKNOWN && found[i] !== value);
      if (word >= 0) return `rank ${rank}, word ${word}: ${found[word]} for ${expected[word]}`;
    }
    return null;
  }

  private learnFrom(request: Request): void {
    const { groups } = this.engine.cache.layout;
    const { pagesPerSlot } = this.engine.config.offload;
    const { sequence } = request;
    const before = this.learnt.get(sequence) ?? 0;
    if (before === sequence.length) return;
    this.learnt.set(sequence, sequence.length);
    if (this.engine.cache.layout.partialHits) this.learnTails(request, before);
    for (const [index, { id, kind, tokensPerPage }] of groups.entries()) {
      if (kind === 'ring') continue;
      const chunkTokens = tokensPerPage * pagesPerSlot;
      const first = Math.floor(before / chunkTokens) + 1;
      for (let end = first * chunkTokens; end <= sequence.length; end += chunkTokens) {
        const key = sequence.prefixKey(end, id);
        if (this.chunks.has(key)) continue;
        const pages = Array.from({ length: pagesPerSlot }, (_, i): KnownPage => {
          const isLast = i === pagesPerSlot - 1;
          const pageEnd = end - (pagesPerSlot - 1 - i) * tokensPerPage;
          const isStored = kind !== 'recurrent' || isLast;
          return { group: index, words: isStored ? this.pageWords(request, index, pageEnd) : [] };
        });
        this.chunks.set(key, pages);
      }
    }
  }

  /** Keys that stand for the beginning of a page. */
  private learnTails(request: Request, before: number): void {
    const { groups, hashTokens } = this.engine.cache.layout;
    const { sequence } = request;
    for (
      let end = (Math.floor(before / hashTokens) + 1) * hashTokens;
      end <= sequence.length;
      end += hashTokens
    ) {
      for (const [index, { id, kind, tokensPerPage }] of groups.entries()) {
        if (kind === 'ring' || end % tokensPerPage === 0) continue;
        const key = sequence.prefixKey(end, id);
        if (!this.chunks.has(key)) {
          this.chunks.set(key, [{ group: index, words: this.pageWords(request, index, end) }]);
        }
      }
    }
  }

  /** What the page of a group that ends with token `end`, or ends inside there, holds up to it, by rank. */
  private pageWords({ id, sequence }: Request, group: number, end: number): Uint32Array[] {
    const { layout } = this.engine.cache;
    const { tokensPerPage } = layout.groups[group];
    return this.engine.ranks.map((_, rank) => {
      const shape = pageShape(layout, layout.groups[group], rank);
      const pool = new Uint32Array(2 * shape.strideWords).fill(UNKNOWN);
      const request = {
        requestId: id,
        start: (Math.ceil(end / tokensPerPage) - 1) * tokensPerPage,
        end,
        computedFrom: 0,
        tables: layout.groups.map(() => new Array<PageId>(sequence.length + 1).fill(SCRATCH)),
        tokens: sequence.tokens(end),
        unitSeeds: sequence.pageSeeds(Math.floor(end / sequence.unitTokens) + 1),
      };
      const { tokens, groups } = witnessOps([request], layout, rank);
      witnessFill(pool, shape, groups[group].fill, tokens);
      return pool.slice(shape.strideWords, shape.strideWords + wordsOfRows(shape.rows, shape));
    });
  }
}
