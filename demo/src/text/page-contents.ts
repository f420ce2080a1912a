/** What stands in each page, as text: from page tables and tokens, as of the last look. */
import type { Engine, EngineView } from '../../../src/index.ts';

export interface PageContent {
  /** Layers that it belongs to. */
  readonly kind: string;
  readonly group: number;
  readonly text: string;
  /** Tokens whose rows it holds, and those that it can hold. */
  readonly rows: number;
  readonly rowsMax: number;
  /** Place of its first token in the request. */
  readonly firstToken: number;
  /** The request that it was read for. */
  readonly owner: string;
}

export class PageContents {
  readonly byPage = new Map<number, PageContent>();
  private readonly engine: Engine;
  private readonly decode: (ids: readonly number[]) => string;

  constructor(engine: Engine, decode: (ids: readonly number[]) => string) {
    this.engine = engine;
    this.decode = decode;
  }

  /** Pages that nobody holds keep what they held last, until somebody else gets them. */
  look(view: EngineView): void {
    const { groups } = this.engine.cache.layout;
    const sequences = new Map(
      [...this.engine.scheduler.queues.all()].map(({ id, sequence }) => [id, sequence]),
    );
    for (const { id, tables, computedTokens } of view.requests) {
      const tokens = sequences.get(id)?.tokens();
      if (tokens === undefined) continue;
      for (const [index, table] of tables.entries()) {
        const { kind, tokensPerPage: rowsMax } = groups[index];
        for (const [position, page] of table.entries()) {
          const firstToken = position * rowsMax;
          const rows = Math.min(rowsMax, Math.max(0, computedTokens - firstToken));
          const before = this.byPage.get(page);
          const isSame = before?.rows === rows && before.firstToken === firstToken && before.group === index;
          // Who shares a page shares its text: its first holder is asked.
          if (view.pages[page].owners[0] !== id || (isSame && before.owner === id)) continue;
          const text = this.decode([...tokens.subarray(firstToken, firstToken + rows)]);
          this.byPage.set(page, { kind, group: index, text, rows, rowsMax, firstToken, owner: id });
        }
      }
    }
  }
}
