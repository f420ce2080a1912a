/** Rebuilds from events alone who holds which page where, which pages are free, and which keys each page carries. */
import type { CacheEvent, PageOwner } from '../../../../src/cache/events.ts';
import { NULL_PAGE } from '../../../../src/units.ts';

export class EventReplay {
  readonly references: number[];
  /** Tables of requests with pages, by `request/group`; null pages where nothing is known to stand. */
  readonly tables = new Map<string, number[]>();
  readonly keysOfPage = new Map<number, string[]>();
  readonly #pages: number;

  constructor(pages: number) {
    this.#pages = pages;
    this.references = Array.from({ length: pages }, () => 0);
  }

  apply(event: CacheEvent): void {
    switch (event.type) {
      case 'allocated':
      case 'touched':
        for (const [i, page] of event.pages.entries()) {
          if (page === NULL_PAGE) continue;
          this.references[page]++;
          if (event.owner) this.#place(event.owner, event.at! + i, page);
        }
        break;
      case 'replaced':
        this.#place(event.owner, event.position, event.page);
        break;
      case 'freed':
        for (const page of event.pages) {
          if (page === NULL_PAGE) continue;
          this.references[page]--;
          if (event.owner) this.#leave(event.owner, page);
        }
        break;
      case 'stored':
        for (const [i, page] of event.pages.entries()) {
          this.keysOfPage.set(page, [...(this.keysOfPage.get(page) ?? []), event.keys[i]]);
        }
        break;
      case 'removed': {
        const keys = this.keysOfPage.get(event.page) ?? [];
        if (!keys.includes(event.key)) throw new Error(`page ${event.page} lost a key it never had`);
        const left = keys.filter((key) => key !== event.key);
        if (left.length > 0) this.keysOfPage.set(event.page, left);
        else this.keysOfPage.delete(event.page);
        break;
      }
      case 'moved':
        this.keysOfPage.set(event.destination, this.keysOfPage.get(event.source)!);
        this.keysOfPage.delete(event.source);
        break;
      case 'cleared':
        this.keysOfPage.clear();
        break;
      case 'zeroed':
      case 'copied':
        break;
    }
  }

  table(request: string, group = 0): number[] {
    return this.tables.get(`${request}/${group}`) ?? [];
  }

  hasDuplicates(): boolean {
    const all = [...this.keysOfPage.values()].flat();
    return new Set(all).size < all.length;
  }

  freePages(): number[] {
    return Array.from({ length: this.#pages - 1 }, (_, i) => i + 1).filter(
      (page) => this.references[page] === 0,
    );
  }

  #place({ request, group }: PageOwner, position: number, page: number): void {
    const name = `${request}/${group}`;
    const table = this.tables.get(name) ?? [];
    while (table.length <= position) table.push(NULL_PAGE);
    table[position] = page;
    this.tables.set(name, table);
  }

  #leave({ request, group }: PageOwner, page: number): void {
    const name = `${request}/${group}`;
    const table = this.tables.get(name) ?? [];
    const position = table.indexOf(page);
    if (position < 0) throw new Error(`page ${page} leaves the table of ${name}, where it does not stand`);
    table[position] = NULL_PAGE;
    if (table.every((each) => each === NULL_PAGE)) this.tables.delete(name);
  }
}
