/** Which words stand in which page and slot, from plans and outcomes alone. */
import type { CacheLayout, GroupLayout, StepReport } from '../../../src/index.ts';
import type { Content } from './moment.ts';

interface Pending {
  readonly slots: readonly number[];
  readonly contents: readonly (Content | null)[];
}

export class Contents {
  readonly pages = new Map<number, Content>();
  /** Of slots whose store was decided, complete or not. */
  readonly slots = new Map<number, Content>();
  private readonly layout: CacheLayout;
  private readonly wordOf: (token: number) => string;
  private readonly pending = new Map<number, Pending>();

  constructor(layout: CacheLayout, wordOf: (token: number) => string) {
    this.layout = layout;
    this.wordOf = wordOf;
  }

  record({ plan, outcome }: StepReport): void {
    for (const store of plan.stores) if (store.isLast) this.open(store);
    for (const { pages } of plan.newPageIdsToZero) for (const page of pages) this.pages.delete(page);
    for (const { source, destination } of plan.copies) {
      const content = this.pages.get(source);
      if (content) this.pages.set(destination, content);
    }
    for (const { slots, pages } of plan.loads) {
      pages.forEach((page, i) => {
        const content = this.slots.get(slots[i]);
        if (content) this.pages.set(page, content);
      });
    }
    for (const { start, end, tables, tokens } of plan.forward) {
      for (const group of this.layout.groups) {
        for (const [page, content] of this.written(group, { start, end, table: tables[group.id], tokens })) {
          if (page !== 0) this.pages.set(page, content);
        }
      }
    }
    for (const store of plan.stores) if (!store.isLast) this.open(store);
    for (const { job, ok } of outcome.acknowledgements) {
      const store = this.pending.get(job);
      this.pending.delete(job);
      if (!store || ok) continue;
      for (const slot of store.slots) this.slots.delete(slot);
    }
  }

  private open({
    id,
    pages,
    slots,
  }: {
    id: number;
    pages: readonly number[];
    slots: readonly number[];
  }): void {
    const contents = pages.map((page) => this.pages.get(page) ?? null);
    this.pending.set(id, { slots, contents });
    contents.forEach((content, i) => content && this.slots.set(slots[i], content));
  }

  private *written(
    group: GroupLayout,
    {
      start,
      end,
      table,
      tokens,
    }: { start: number; end: number; table: readonly number[]; tokens: Uint32Array },
  ): Generator<[number, Content]> {
    const { id, kind, tokensPerPage: room } = group;
    const content = (from: number, to: number): Content => ({
      group: id,
      kind,
      words: Array.from(tokens.subarray(from, to), this.wordOf),
      from,
      room,
    });
    if (kind === 'ring') {
      yield [table[0], content(Math.max(0, end - room), end)];
      return;
    }
    const first = Math.floor(start / room);
    for (let position = first; position * room < end; position += 1) {
      const to = Math.min(end, (position + 1) * room);
      // A state sums up everything before it.
      yield [table[position], content(kind === 'recurrent' ? 0 : position * room, to)];
    }
  }
}
