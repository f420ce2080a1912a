/** Pages in arrays: which are free, in their order, how often each is held, and every key in the order of its coming. */

/** The first `tokens` tokens of a prompt, as text, in one group. */
export interface ModelKey {
  readonly group: number;
  readonly tokens: number;
  readonly text: string;
}

export class PoolModel {
  readonly free: number[] = [];
  readonly references: number[];
  keys: { readonly page: number; readonly key: ModelKey }[] = [];

  constructor(pages: number) {
    this.references = Array.from({ length: pages }, () => 0);
    for (let page = 1; page < pages; page++) this.free.push(page);
  }

  /** The front page, held once and without the keys that it had. */
  take(): number {
    const page = this.free.shift();
    if (page === undefined) throw new Error('the model was asked for a page that it does not have');
    this.strip(page);
    this.references[page] = 1;
    return page;
  }

  hold(page: number): void {
    if (page === 0) return;
    if (this.references[page] === 0) this.free.splice(this.free.indexOf(page), 1);
    this.references[page]++;
  }

  /** Pages that nobody holds any more: those without a key to the front, the others to the back, in this order. */
  release(pages: readonly number[]): void {
    const gone: number[] = [];
    for (const page of pages) {
      if (page === 0) continue;
      this.references[page]--;
      if (this.references[page] === 0) gone.push(page);
    }
    this.free.unshift(...gone.filter((page) => !this.isKeyed(page)));
    this.free.push(...gone.filter((page) => this.isKeyed(page)));
  }

  keysOf(page: number): ModelKey[] {
    return this.keys.filter((entry) => entry.page === page).map(({ key }) => key);
  }

  isKeyed(page: number): boolean {
    return this.keys.some((entry) => entry.page === page);
  }

  /** Tokens of the longest prompt that the page is known by, 0 if by none. */
  keyedTokens(page: number): number {
    return Math.max(0, ...this.keysOf(page).map(({ tokens }) => tokens));
  }

  /** Whose page got this key first. */
  pageOf(group: number, text: string): number | null {
    const found = this.keys.find(({ key }) => key.group === group && key.text === text);
    return found === undefined ? null : found.page;
  }

  carries(page: number, { group, text }: ModelKey): boolean {
    return this.keysOf(page).some((key) => key.group === group && key.text === text);
  }

  /** A key for more tokens takes the place of those for fewer; one for fewer stands beside it. */
  addKey(page: number, key: ModelKey): void {
    if (this.carries(page, key)) return;
    if (this.keyedTokens(page) < key.tokens) this.strip(page);
    this.keys.push({ page, key });
  }

  /** True if the page had a key. */
  strip(page: number): boolean {
    const before = this.keys.length;
    this.keys = this.keys.filter((entry) => entry.page !== page);
    return this.keys.length < before;
  }

  moveKeys(source: number, destination: number): void {
    const moved = this.keysOf(source);
    this.strip(source);
    for (const key of moved) this.keys.push({ page: destination, key });
  }

  reset(): boolean {
    if (this.free.length < this.references.length - 1) return false;
    this.keys = [];
    return true;
  }
}
