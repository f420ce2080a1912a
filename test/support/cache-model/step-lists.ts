/** What a step overwrites and copies before it computes: one list a group, and one list of copies. */
import type { CacheLayout } from '../../../src/config/layout.ts';
import type { PoolModel } from './pool-model.ts';

export interface ModelCopy {
  readonly group: number;
  readonly source: number;
  readonly destination: number;
}

export class StepLists {
  /** By group, in the order of listing. */
  readonly zero: number[][];
  copies: ModelCopy[] = [];
  /** Copies that were taken, step by step, and whose ends are still held. */
  readonly taken: ModelCopy[][] = [];
  readonly #layout: CacheLayout;
  readonly #pool: PoolModel;

  constructor(layout: CacheLayout, pool: PoolModel) {
    this.#layout = layout;
    this.#pool = pool;
    this.zero = layout.groups.map(() => []);
  }

  list(group: number, page: number): void {
    if (this.#layout.groups[group].zeroed && !this.zero[group].includes(page)) this.zero[group].push(page);
  }

  unlist(group: number, page: number): void {
    this.zero[group] = this.zero[group].filter((listed) => listed !== page);
  }

  /** Gives pages back. Those that nobody holds any more need no zeroing before their next owner lists them. */
  release(group: number, pages: readonly number[]): void {
    this.#pool.release(pages);
    for (const page of pages) if (page !== 0 && this.#pool.references[page] === 0) this.unlist(group, page);
  }

  /** The copy holds both its ends, beside what tables hold. What another copy is to fill is read where that one reads. */
  copy({ group, source: page, destination }: ModelCopy): void {
    const source = this.copies.find((copy) => copy.destination === page)?.source ?? page;
    this.#pool.hold(source);
    this.#pool.hold(destination);
    this.copies.push({ group, source, destination });
  }

  cancelCopiesTo(pages: readonly number[]): void {
    const cancelled = this.copies.filter(({ destination }) => pages.includes(destination));
    this.copies = this.copies.filter((copy) => !cancelled.includes(copy));
    for (const copy of cancelled) {
      // Nobody fills it now, whatever it was to be known for.
      this.#pool.strip(copy.destination);
      this.#releaseEnds(copy);
    }
  }

  takeZero(): number[][] {
    return this.zero.map((list) => list.splice(0));
  }

  takeCopies(): ModelCopy[] {
    const copies = this.copies;
    this.copies = [];
    this.taken.push(copies);
    return copies;
  }

  /** The oldest step whose copies were taken has run. */
  releaseCopies(): void {
    for (const copy of this.taken.shift()!) this.#releaseEnds(copy);
  }

  #releaseEnds({ group, source, destination }: ModelCopy): void {
    this.release(group, [destination, source]);
  }
}
