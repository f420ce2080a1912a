/** One step as kernels see it: a row for each token that is computed, whichever request it belongs to. */
import type { ForwardRequest } from '../schedule/step-plan.ts';
import { ceilDiv } from '../units.ts';

/** Words of a row in `StepRows.places`: position, and where its request's page table begins. */
export const ROW_WORDS = 2;

export interface StepRows {
  readonly count: number;
  /** Token ids, by row. */
  readonly tokens: Uint32Array<ArrayBuffer>;
  /** Positions in their sequences, by row. */
  readonly positions: Uint32Array<ArrayBuffer>;
  /** By group: page tables of all requests, one behind the other. */
  readonly tables: readonly Uint32Array<ArrayBuffer>[];
  /** By group and row: `ROW_WORDS` words. */
  readonly places: readonly Uint32Array<ArrayBuffer>[];
  /** By request: the rows of its last token and of its drafts, one behind the other. */
  readonly lastRows: Uint32Array<ArrayBuffer>;
}

/** Rows whose logits somebody asks for: of each request's last token, and of its drafts. */
export function sampledRows(forward: readonly ForwardRequest[]): number {
  return forward.reduce((sum, { drafts = 0 }) => sum + 1 + drafts, 0);
}

/** Lays out the computed tokens of a step. `groups`: how many page tables each request has. */
export function stepRows(
  forward: readonly ForwardRequest[],
  { groups, tokensPerPage }: { readonly groups: number; readonly tokensPerPage: number },
): StepRows {
  const count = forward.reduce((sum, { start, end }) => sum + end - start, 0);
  const tokens = new Uint32Array(count);
  const positions = new Uint32Array(count);
  const lastRows = new Uint32Array(sampledRows(forward));
  let sampled = 0;
  let row = 0;
  for (const { start, end, tokens: all, drafts = 0 } of forward) {
    tokens.set(all.subarray(start, end), row);
    for (let position = start; position < end; position += 1, row += 1) positions[row] = position;
    for (let back = drafts; back >= 0; back -= 1, sampled += 1) lastRows[sampled] = row - 1 - back;
  }
  const byGroup = Array.from({ length: groups }, (_, group) =>
    groupRows(forward, group, count, tokensPerPage),
  );
  return {
    count,
    tokens,
    positions,
    tables: byGroup.map(({ tables }) => tables),
    places: byGroup.map(({ places }) => places),
    lastRows,
  };
}

function groupRows(
  forward: readonly ForwardRequest[],
  group: number,
  count: number,
  tokensPerPage: number,
): { tables: Uint32Array<ArrayBuffer>; places: Uint32Array<ArrayBuffer> } {
  const tables: number[] = [];
  const places = new Uint32Array(count * ROW_WORDS);
  let at = 0;
  for (const { start, end, tables: own } of forward) {
    for (let position = start; position < end; position += 1, at += ROW_WORDS) {
      places[at] = position;
      places[at + 1] = tables.length;
    }
    const pages = ceilDiv(end, tokensPerPage);
    for (let page = 0; page < pages; page += 1) tables.push(own[group][page]);
  }
  return { tables: Uint32Array.from(tables), places };
}
