/** Answers of the host tier by letter, as the cases write them. */
import type { LookupResult } from '../../../../src/offload/lookup.ts';

const answers = { H: 'HIT', P: 'HIT_PENDING', R: 'RETRY', M: 'MISS' } as const satisfies Record<
  string,
  LookupResult
>;

export const answerOf = (letter: string): LookupResult => answers[letter as keyof typeof answers];
