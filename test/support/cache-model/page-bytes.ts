/**
 * What pages hold, without bytes: a row is the text of all tokens that it depends on. Steps are carried out as a worker
 * would, and whatever a request reads must be its own prefix.
 */
import { expect } from 'vitest';
import type { PageCopyBatch } from '../../../src/cache/cache-manager.ts';
import type { GroupLayout } from '../../../src/config/layout.ts';
import { firstRead } from './kinds.ts';
import type { Life, Live, Witness } from './life.ts';

/** Stands behind drafted tokens that turn out wrong. */
const REJECTED = -1;

export class PageBytes implements Witness {
  /** Rows of each page. A state is the only row of its page. */
  readonly #rows: string[][];
  /** Rows and states that requests have read, and keys that were compared with what their pages hold. */
  rowsRead = 0;
  keysCompared = 0;

  constructor(pages: number) {
    this.#rows = Array.from({ length: pages }, () => []);
  }

  runStep(life: Life, { zeroed, batch }: Parameters<NonNullable<Witness['runStep']>>[1]): void {
    for (const page of zeroed.flat()) this.#rows[page] = [];
    this.#copy(batch);
    const works = life.live.filter(({ isScheduled }) => isScheduled);
    for (const live of works) {
      if (live.loadedNow > 0) this.load(life, live, live.before, live.before + live.loadedNow);
    }
    // States are read before any is overwritten. Every layer writes its rows before any request reads them.
    for (const live of works) this.#readStates(life, live);
    for (const live of works) this.#compute(life, live);
    for (const live of works) this.#readRows(life, live);
    this.#compareKeys(life);
  }

  load(life: Life, live: Live, from: number, to: number): void {
    for (const group of life.manager.layout.groups) this.#write(life, live, group, live.tokens, from, to);
  }

  #copy({ copies }: PageCopyBatch): void {
    // In any order: every source is read as it was.
    const read = copies.map(({ source }) => [...this.#rows[source]]);
    for (const [i, { destination }] of copies.entries()) this.#rows[destination] = read[i];
  }

  #compute(life: Life, live: Live): void {
    const accepted = live.computed % (live.drafts + 1);
    const tokens = [...live.tokens];
    // What is accepted is appended as 0, 1 and so on.
    for (let i = 0; i < live.drafts; i++) tokens.push(i < accepted ? i : REJECTED);
    const start = live.before + live.loadedNow;
    for (const group of life.manager.layout.groups) {
      const isState = group.kind === 'recurrent';
      const end = isState ? live.computed - live.drafts + accepted : live.computed;
      this.#write(life, live, group, tokens, start, end);
    }
  }

  /** Rows of tokens `from` to `to`, or the states behind them. */
  #write(
    life: Life,
    { request: { id } }: Live,
    group: GroupLayout,
    tokens: readonly number[],
    from: number,
    to: number,
  ): void {
    const table = life.manager.pageTable(id, group.id);
    const { tokensPerPage: size, kind } = group;
    if (kind === 'ring') return;
    for (let token = from; token < to; token++) {
      const page = table[Math.floor(token / size)];
      if (page === undefined || page === 0) continue;
      const text = textOf(group, tokens, token + 1);
      if (kind === 'recurrent') this.#rows[page] = [text];
      else this.#rows[page][token % size] = text;
    }
  }

  #readStates(life: Life, live: Live): void {
    const start = live.before + live.loadedNow;
    for (const group of life.manager.layout.groups) {
      if (group.kind !== 'recurrent' || start === 0) continue;
      const table = life.manager.pageTable(live.request.id, group.id);
      const page = table[Math.ceil(start / group.tokensPerPage) - 1];
      // Behind drafts the state may be among the drafted ones, which only a worker tells apart.
      if (page === 0 && live.hadDrafts) continue;
      this.#expectRow(live, group, start, page, 0);
    }
  }

  #readRows(life: Life, live: Live): void {
    const start = live.before + live.loadedNow;
    for (const group of life.manager.layout.groups) {
      const { tokensPerPage: size, kind } = group;
      if (kind === 'recurrent' || kind === 'ring') continue;
      const table = life.manager.pageTable(live.request.id, group.id);
      const end = Math.min(live.computed, live.tokens.length);
      for (let token = firstRead(group, start); token < end; token++) {
        this.#expectRow(live, group, token + 1, table[Math.floor(token / size)], token % size);
      }
    }
  }

  #expectRow(live: Live, group: GroupLayout, count: number, page: number | undefined, row: number): void {
    const where = `${live.request.id} reads token ${count - 1} in group ${group.id}, ${group.kind}`;
    if (page === undefined || page === 0) expect.fail(`${where}, where it has no page`);
    const wanted = textOf(group, live.tokens, count);
    if (this.#rows[page][row] !== wanted)
      expect(this.#rows[page][row], `${where}, page ${page}`).toBe(wanted);
    this.rowsRead++;
  }

  /** Every key says what its page holds. */
  #compareKeys(life: Life): void {
    for (const { page, key } of life.model.pool.keys) {
      const group = life.manager.layout.groups[key.group];
      const tokens = key.text.split(' ').map(Number);
      const { tokensPerPage: size, kind } = group;
      const first = kind === 'recurrent' ? tokens.length - 1 : (Math.ceil(tokens.length / size) - 1) * size;
      for (let token = first; token < tokens.length; token++) {
        const held = this.#rows[page][kind === 'recurrent' ? 0 : token % size];
        const wanted = textOf(group, tokens, token + 1);
        if (held !== wanted) expect(held, `page ${page}, by its key, in group ${key.group}`).toBe(wanted);
      }
      this.keysCompared++;
    }
  }
}

function textOf({ id, kind }: GroupLayout, tokens: readonly number[], count: number): string {
  return `${kind} ${id}: ${tokens.slice(0, count).join(' ')}`;
}
