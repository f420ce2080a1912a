/** What one request holds in one group. */
export interface ModelTable {
  /** Page of each position, 0 where nothing stands. */
  readonly pages: number[];
  /** Aligned states: pages for drafted ones, which stand behind all positions. Null until they are taken. */
  drafted: number[] | null;
  /** Aligned states: the tokens after which the state at a position stands. */
  readonly states: Map<number, number>;
  /** Copies of states that others were told of, held until the request ends. */
  readonly announced: number[];
  /** Whether a hit ends inside the last page: others read it, so a copy is due before the first write. */
  sharesTail: boolean;
  /** Leading positions that were offered for publishing. */
  published: number;
}

export function emptyTable(): ModelTable {
  return { pages: [], drafted: null, states: new Map(), announced: [], sharesTail: false, published: 0 };
}

/** The page table as a worker sees it. */
export function shownTable({ pages, drafted }: ModelTable): number[] {
  return [...pages, ...(drafted ?? [])];
}

/** Null pages up to `length` positions. */
export function padTo(table: ModelTable, length: number): void {
  while (table.pages.length < length) table.pages.push(0);
}
