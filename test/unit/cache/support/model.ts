/**
 * The rules of the cache in arrays and loops, slow and obvious: no links, no counters, no hashes, no index. A page's
 * key is the text of all tokens that it ends.
 */
export interface ModelTable {
  readonly tokens: number[];
  readonly pages: number[];
  published: number;
}

export class CacheModel {
  readonly free: number[] = [];
  readonly references: number[];
  readonly keys: (string | null)[];
  /** Pages with a key in the order of their publication. */
  readonly published: number[] = [];
  readonly tables = new Map<string, ModelTable>();
  readonly zero: number[] = [];
  readonly tokensPerPage: number;

  constructor(pages: number, tokensPerPage: number) {
    this.tokensPerPage = tokensPerPage;
    this.references = Array.from({ length: pages }, () => 0);
    this.keys = Array.from({ length: pages }, () => null);
    for (let page = 1; page < pages; page++) this.free.push(page);
  }

  lookup(tokens: readonly number[]): number[] {
    const hit: number[] = [];
    while ((hit.length + 1) * this.tokensPerPage < tokens.length) {
      const key = this.#key(tokens, hit.length);
      const page = this.published.find((candidate) => this.keys[candidate] === key);
      if (page === undefined) break;
      hit.push(page);
    }
    return hit;
  }

  /** Pages added; null if they do not fit. `tokens` is the request's list itself, which grows later. */
  allocate(
    id: string,
    tokens: number[],
    hit: number[],
    end: number,
    extra: number,
    reserved: number,
  ): number[] | null {
    const held = this.tables.get(id)?.pages ?? hit;
    const missing = Math.max(0, Math.ceil((end + extra) / this.tokensPerPage) - held.length);
    const revived = hit.filter((page) => this.references[page] === 0);
    const taken = missing + revived.length;
    if (taken > 0 && taken > this.free.length - reserved) return null;
    for (const page of revived) this.free.splice(this.free.indexOf(page), 1);
    for (const page of hit) this.references[page]++;
    const added = this.free.splice(0, missing);
    for (const page of added) {
      this.#strip(page);
      this.references[page] = 1;
      this.zero.push(page);
    }
    const table = this.tables.get(id) ?? { tokens, pages: [...hit], published: hit.length };
    table.pages.push(...added);
    this.tables.set(id, table);
    return added;
  }

  publish(id: string, end: number): void {
    const table = this.tables.get(id)!;
    for (; (table.published + 1) * this.tokensPerPage <= end; table.published++) {
      const page = table.pages[table.published];
      if (this.keys[page] !== null) continue;
      this.keys[page] = this.#key(table.tokens, table.published);
      this.published.push(page);
    }
  }

  /** Other requests that hold a page which lost its key. */
  withdraw(id: string, fromToken: number): string[] {
    const table = this.tables.get(id)!;
    const start = Math.floor(fromToken / this.tokensPerPage);
    const stripped = table.pages.slice(start, table.published).filter((page) => this.#strip(page));
    table.published = Math.min(table.published, start);
    return [...this.tables]
      .filter(([other, { pages }]) => other !== id && pages.some((p) => stripped.includes(p)))
      .map(([other]) => other);
  }

  release(id: string): void {
    const gone: number[] = [];
    for (const page of [...this.tables.get(id)!.pages].reverse()) {
      this.references[page]--;
      if (this.references[page] === 0) gone.push(page);
    }
    this.free.unshift(...gone.filter((page) => this.keys[page] === null));
    this.free.push(...gone.filter((page) => this.keys[page] !== null));
    for (const page of gone) this.exempt(page);
    this.tables.delete(id);
  }

  exempt(page: number): void {
    if (this.zero.includes(page)) this.zero.splice(this.zero.indexOf(page), 1);
  }

  relist(page: number): void {
    if (this.references[page] > 0 && !this.zero.includes(page)) this.zero.push(page);
  }

  reset(): boolean {
    if (this.tables.size > 0) return false;
    this.keys.fill(null);
    this.published.length = 0;
    return true;
  }

  #key(tokens: readonly number[], page: number): string {
    return tokens.slice(0, (page + 1) * this.tokensPerPage).join(' ');
  }

  #strip(page: number): boolean {
    if (this.keys[page] === null) return false;
    this.keys[page] = null;
    this.published.splice(this.published.indexOf(page), 1);
    return true;
  }
}
