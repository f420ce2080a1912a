/** Keys of a request's full pages. The connector moves one group, whose page is the unit that is hashed. */
import type { TokenSequence } from '../cache/token-sequence.ts';
import { groupId, type PrefixKey } from '../units.ts';

const GROUP = groupId(0);

/** Key of full page `page`: it stands for all tokens up to the end of that page. */
export function pageKey(sequence: TokenSequence, page: number): PrefixKey {
  return sequence.prefixKey((page + 1) * sequence.unitTokens, GROUP);
}
