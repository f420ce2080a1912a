/** All cases, in the order in which they run. */
import { ALIASING_CASES } from './aliasing.ts';
import { CLEAR_CASES } from './clears.ts';
import { COPY_CASES } from './copies.ts';
import { DISPATCH_CASES } from './dispatch.ts';
import { ERROR_CASES } from './errors.ts';
import { FRESH_BUFFER_CASES } from './fresh-buffers.ts';
import { KERNEL_CASES } from './kernels.ts';
import { LIMIT_CASES } from './limits.ts';
import { LOSS_CASES } from './loss.ts';
import { MAPPING_CASES } from './mapping.ts';
import { ORDERING_CASES } from './ordering.ts';
import { OUT_OF_RANGE_CASES } from './out-of-range.ts';
import { WITNESS_CASES } from './witness-kernels.ts';
import type { ConformanceCase } from './case.ts';

export const CASES: readonly ConformanceCase[] = [
  ...COPY_CASES,
  ...CLEAR_CASES,
  ...ORDERING_CASES,
  ...MAPPING_CASES,
  ...ALIASING_CASES,
  ...ERROR_CASES,
  ...LIMIT_CASES,
  ...OUT_OF_RANGE_CASES,
  ...DISPATCH_CASES,
  ...FRESH_BUFFER_CASES,
  ...KERNEL_CASES,
  ...WITNESS_CASES,
  ...LOSS_CASES,
];
