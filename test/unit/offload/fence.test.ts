import { describe, expect, it } from 'vitest';
import { Fence } from '../../../src/offload/fence.ts';
import { jobId } from '../../../src/units.ts';
import { pages } from './support/requests.ts';

const [a, b] = [jobId(1), jobId(2)];

describe('Fence', () => {
  it('names each reader once, and only those of the pages asked for', () => {
    const fence = new Fence();
    fence.register(pages(3, 4, 3), a);
    fence.register(pages(4, 5), b);
    expect([...fence.jobsReading(pages(4, 4))]).toEqual([a, b]);
    expect([...fence.jobsReading(pages(5))]).toEqual([b]);
    expect([...fence.jobsReading(pages(6))]).toEqual([]);
    expect(fence.has(pages(3)[0], a)).toBe(true);
  });

  it('keeps no page without a reader', () => {
    const fence = new Fence();
    fence.register(pages(3, 4), a);
    fence.register(pages(4), b);
    fence.remove(pages(3, 4, 9), a);
    expect([...fence].map(([page, readers]) => [page, [...readers]])).toEqual([[4, [b]]]);
    fence.remove(pages(4), b);
    expect(fence.size).toBe(0);
  });

  it('finds a reader that is no pending store', () => {
    const fence = new Fence();
    fence.register(pages(3), a);
    expect(() => fence.checkIntegrity((job) => job === a)).not.toThrow();
    expect(() => fence.checkIntegrity(() => false)).toThrow(/page 3 names job 1/);
  });
});
