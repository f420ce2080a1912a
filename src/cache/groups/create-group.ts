/** The group that a layout asks for. */
import { ChunkedLocalGroup } from './chunked-local.ts';
import { CompressedGroup } from './compressed.ts';
import { CrossAttentionGroup } from './cross-attention.ts';
import { FullAttentionGroup } from './full-attention.ts';
import type { PagedGroup, GroupOptions } from './paged-group.ts';
import { AlignedRecurrentGroup, RecurrentGroup, type Announcing } from './recurrent.ts';
import { RingGroup } from './ring.ts';
import { SlidingWindowGroup } from './sliding-window.ts';

export function createGroup(options: GroupOptions, announcing: Announcing): PagedGroup {
  const { config } = options.layout;
  switch (config.kind) {
    case 'full-attention':
      return new FullAttentionGroup(options);
    case 'compressed':
      return new CompressedGroup(options);
    case 'sliding-window':
      return new SlidingWindowGroup({ ...options, windowTokens: config.windowTokens });
    case 'chunked-local':
      return new ChunkedLocalGroup({ ...options, chunkTokens: config.chunkTokens });
    case 'recurrent':
      return config.states === 'all'
        ? new RecurrentGroup(options)
        : new AlignedRecurrentGroup({ ...options, config, ...announcing });
    case 'cross-attention':
      return new CrossAttentionGroup(options);
    case 'ring':
      return new RingGroup(options);
  }
}
