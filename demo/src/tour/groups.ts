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

const SHORT_NAMES: Readonly<Record<GroupKind, string>> = {
  ...KIND_NAMES,
  'sliding-window': 'window',
  'chunked-local': 'chunk',
  compressed: 'compressed',
};

/** What stands in a page, short enough for its card. */
export function contentText({ kind, words, from }: Content): string {
  switch (kind) {
    case 'recurrent':
      return `state after ${words.length} tokens`;
    case 'ring':
      return `ring: ${words.join(' ')}`;
    case 'full-attention':
      return from === 0 ? words.join(' ') : `… ${words.join(' ')}`;
    default:
      return `${SHORT_NAMES[kind]}: ${from === 0 ? '' : '… '}${words.join(' ')}`;
  }
}
