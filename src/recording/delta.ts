/** What one step changed, as plain data that JSON can carry. Fields without a change are left out. */
import type { JobView } from '../inspect.ts';
import type { RequestStatus } from '../schedule/request.ts';
import type { StagingView } from '../transfer-log.ts';
import type { JobId, RequestId } from '../units.ts';
import type { RecordedStep } from './recorded-step.ts';

/** Fields that are left out are as before; all are there for a request that was not. */
export interface RequestChange {
  readonly id: RequestId;
  readonly status?: RequestStatus;
  readonly promptTokens?: number;
  readonly tokens?: number;
  readonly computedTokens?: number;
  /** By group: the length of its page table, then position, page, position, page and so on where they differ. */
  readonly tables?: readonly (readonly number[])[];
}

export interface Delta {
  /** Steps that the engine had begun afterwards. */
  readonly steps: number;
  /** Page, references, page, references and so on. */
  readonly references?: readonly number[];
  /** Page, key, page, key: keys by their position in the log's list of keys; -1: none. */
  readonly keys?: readonly number[];
  /** Slot, key, readers: -1 readers while it is written; without a key it is free. */
  readonly slots?: readonly number[];
  /** Pages and slots that became suspect, or are no longer. */
  readonly suspectPages?: readonly number[];
  readonly suspectSlots?: readonly number[];
  /** Every request that is not finished, in the order of the queues. */
  readonly order?: readonly RequestId[];
  readonly requests?: readonly RequestChange[];
  /** Jobs that are gone, and those that are new. */
  readonly ended?: readonly JobId[];
  readonly begun?: readonly JobView[];
  /** Page, then the stores that still have to read it. */
  readonly unread?: readonly (readonly number[])[];
  readonly staging?: StagingView;
  /** Position in the log's list of counters, value, position, value. */
  readonly counters?: readonly number[];
  readonly step: RecordedStep;
}

/** Numbers in a delta, roughly: how much work it is to apply. */
export function weightOf(delta: Delta): number {
  const lists = [delta.references, delta.keys, delta.slots, delta.counters, delta.order, delta.unread];
  let weight = 8;
  for (const list of lists) weight += list?.length ?? 0;
  for (const { tables } of delta.requests ?? []) {
    weight += 4;
    for (const table of tables ?? []) weight += table.length;
  }
  for (const { pages } of delta.begun ?? []) weight += pages.length;
  return weight;
}
