/** The suggested size of staging buffers stays unless another is clearly faster. */
import { expect, it } from 'vitest';
import { pickSize } from '../../../src/gpu/staging-tuning.ts';

const measured = (times: Record<number, number>) =>
  Object.entries(times).map(([size, milliseconds]) => ({ stagingBytes: Number(size), milliseconds }));

it.each([
  ['a clear gain', { 1: 5, 4: 10, 16: 12 }, 4, 1],
  ['a small gain', { 1: 9, 4: 10 }, 4, 4],
  ['the best of several gains', { 1: 20, 4: 8, 16: 6 }, 1, 16],
  ['the suggested one is best', { 1: 20, 4: 8, 16: 6 }, 16, 16],
  ['the suggested one was not measured', { 1: 1 }, 4, 4],
  ['nothing was measured', {}, 4, 4],
])('%s', (_, times, suggested, picked) => {
  expect(pickSize(measured(times), suggested)).toBe(picked);
});
