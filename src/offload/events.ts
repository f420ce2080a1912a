/** What happens in the host tier, as plain data: for logs, counters and drawings. */
import type { ChunkEvent } from './chunk-events.ts';
import type { JobId, PageId, PrefixKey, RequestId, SlotId } from '../units.ts';

/** From the host tier's bookkeeping. A `removed` event precedes the `stored` event that reuses its slot. */
export type TierEvent =
  | { readonly type: 'tier-stored'; readonly keys: readonly PrefixKey[] }
  | { readonly type: 'tier-removed'; readonly keys: readonly PrefixKey[] }
  /** Every key is gone, whatever its state. No removals are listed. */
  | { readonly type: 'tier-reset' };

/** From the connector. Page `pages[i]` and slot `slots[i]` belong together. */
export type OffloadEvent =
  | TierEvent
  /** What the tier events before them say, in terms of tokens. */
  | ChunkEvent
  | {
      readonly type: 'store-prepared' | 'load-prepared';
      readonly job: JobId;
      readonly requestId: RequestId;
      readonly pages: readonly PageId[];
      readonly slots: readonly SlotId[];
    }
  | {
      readonly type: 'store-ended' | 'load-ended';
      readonly job: JobId;
      readonly requestId: RequestId;
      readonly ok: boolean;
    }
  | { readonly type: 'flushed'; readonly step: number; readonly jobs: readonly JobId[] };
