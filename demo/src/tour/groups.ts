/** The kinds of layers in plain words. */
import type { GroupKind } from '../../../src/index.ts';
import type { Content } from './moment.ts';

export const KIND_NAMES: Readonly<Record<GroupKind, string>> = {
  'full-attention': 'full attention',
  compressed: 'compressed keys',
  'sliding-window': 'sliding window',
  'chunked-local': 'local chunks',
  recurrent: 'state',
  'cross-attention': 'cross attention',
  ring: 'ring',
};

/** What stands in a page, short enough for its card. */
export function contentText({ kind, words, from }: Content): string {
  switch (kind) {
    case 'recurrent':
      return `state after ${words.length} tokens`;
    case 'ring':
      return `ring: ${words.join(' ')}`;
    default:
      return from === 0 ? words.join(' ') : `… ${words.join(' ')}`;
  }
}
