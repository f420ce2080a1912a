/** Plans and keys of a pool with one group, as most tests have it. */
import type { TokenSequence } from '../../src/cache/token-sequence.ts';
import type { GroupPages, PageCopy } from '../../src/schedule/step-plan.ts';
import { groupId, type PageId, type PrefixKey } from '../../src/units.ts';

export const GROUP = groupId(0);

/** A zero list. */
export function zeroed(pages: readonly PageId[], group = GROUP): GroupPages[] {
  return pages.length === 0 ? [] : [{ group, pages }];
}

/** Copies from and to. */
export function copied(pairs: readonly { source: PageId; destination: PageId }[], group = GROUP): PageCopy[] {
  return pairs.map((pair) => ({ group, ...pair }));
}

/** Key of a full page whose tokens are one hash unit. */
export function pageKey(sequence: TokenSequence, page: number): PrefixKey {
  return sequence.prefixKey((page + 1) * sequence.unitTokens, GROUP);
}
