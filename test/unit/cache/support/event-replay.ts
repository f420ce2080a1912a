/** Rebuilds from events alone who holds which page, which pages are free, and which key each page carries. */
import type { CacheEvent } from '../../../../src/cache/events.ts';

export class EventReplay {
  readonly references: number[];
  readonly tables = new Map<string, number[]>();
  readonly keyOfPage = new Map<number, string>();

  constructor(pages: number) {
    this.references = Array.from({ length: pages }, () => 0);
  }

  apply(event: CacheEvent): void {
    switch (event.type) {
      case 'allocated':
      case 'touched': {
        const id = event.owner!.request;
        this.tables.set(id, [...(this.tables.get(id) ?? []), ...event.pages]);
        for (const page of event.pages) this.references[page]++;
        break;
      }
      case 'freed':
        for (const page of event.pages) this.references[page]--;
        this.tables.delete(event.owner!.request);
        break;
      case 'stored':
        event.pages.forEach((page, i) => this.keyOfPage.set(page, event.keys[i]));
        break;
      case 'removed':
        if (this.keyOfPage.get(event.page) !== event.key)
          throw new Error(`page ${event.page} lost a key it never had`);
        this.keyOfPage.delete(event.page);
        break;
      case 'cleared':
        this.keyOfPage.clear();
        break;
      case 'zeroed':
        break;
    }
  }

  hasDuplicates(): boolean {
    return new Set(this.keyOfPage.values()).size < this.keyOfPage.size;
  }

  freePages(): number[] {
    return this.references.flatMap((references, page) => (page > 0 && references === 0 ? [page] : []));
  }
}
