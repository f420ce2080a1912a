/** Knows what every host slot must hold, from the tokens of the requests alone, and says where one does not. */
import type { Request } from '../../src/schedule/request.ts';
import type { PrefixKey } from '../../src/units.ts';
import { rowOfWord } from '../../src/witness/page-shape.ts';
import { witnessWord } from '../../src/witness/pattern.ts';
import { pageKey } from './one-group.ts';
import type { World } from './worlds.ts';

export class HostShadow {
  private readonly world: World;
  private readonly pages = new Map<PrefixKey, { seed: number; tokens: Uint32Array }>();

  constructor(world: World) {
    this.world = world;
  }

  /** Call before each step: a page that a step fills consists of tokens that are known by then. */
  learn(): void {
    for (const request of this.world.engine.scheduler.queues.all()) this.learnFrom(request);
  }

  /** The first ready slot with a wrong word, as a sentence; `null` when all are right. */
  findWrongSlot(): string | null {
    const { pageBytes, tokensPerPage } = this.world.engine.config.cache;
    const pageWords = pageBytes / 4;
    for (const { key, slot, references } of this.world.engine.connector.manager.entries()) {
      if (references < 0) continue;
      const page = this.pages.get(key);
      if (!page) return `slot ${slot} has a key that no request had`;
      const actual = this.world.slot(slot);
      for (let word = 0; word < pageWords; word += 1) {
        const expected = witnessWord(
          page.seed,
          page.tokens[rowOfWord(word, { pageWords, rows: tokensPerPage })],
          word,
        );
        if (actual[word] !== expected) return `slot ${slot}, word ${word}: ${actual[word]} for ${expected}`;
      }
    }
    return null;
  }

  private learnFrom({ sequence }: Request): void {
    const { unitTokens: tokensPerPage, unitCount: pageCount } = sequence;
    for (let page = 0; page < pageCount; page += 1) {
      const key = pageKey(sequence, page);
      if (this.pages.has(key)) continue;
      const tokens = sequence.tokens().slice(page * tokensPerPage, (page + 1) * tokensPerPage);
      this.pages.set(key, { seed: sequence.pageSeeds(page + 1)[page], tokens });
    }
  }
}
