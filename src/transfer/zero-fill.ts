/**
 * What "zeroing" writes. Both workers share it, so that a poisoned pool is the same on either.
 */
import type { CacheConfig } from '../config.ts';

/**
 * A quiet NaN as one 32-bit float, as two 16-bit floats and as two bfloat16s alike (both halves have every exponent
 * bit of either half-width format set), so that an unwritten row shows in whichever type a kernel reads it.
 */
export const POISON_WORD = 0x7fedffed;

/** The word that newly allocated pages are overwritten with. */
export function fillWord(zeroing: CacheConfig['zeroing']): number {
  return zeroing === 'poison' ? POISON_WORD : 0;
}
