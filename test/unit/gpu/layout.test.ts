/** Arithmetic of segments, grids, runs and strategies. No device. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConfigError, DeviceError } from '../../../src/errors.ts';
import { workgroupGrid } from '../../../src/gpu/commands.ts';
import { locatePage, planSegments } from '../../../src/gpu/page-buffers.ts';
import { forEachRun } from '../../../src/gpu/runs.ts';
import { defaultStrategies } from '../../../src/gpu/strategies.ts';

const limits = { maxBufferSize: 4096, maxStorageBufferBindingSize: 1000 };

describe('segments', () => {
  it.each([
    { bytes: 1000, pagesPerSegment: 50, segmentCount: 1 },
    { bytes: 1020, pagesPerSegment: 50, segmentCount: 2 },
    { bytes: 3000, pagesPerSegment: 50, segmentCount: 3 },
    { bytes: 5000, pagesPerSegment: 50, segmentCount: 5 },
  ])('a pool of $bytes bytes in pages of 20, bindings of 1000', ({ bytes, ...expected }) => {
    expect(planSegments({ pages: bytes / 20, pageBytes: 20 }, limits)).toEqual(expected);
  });

  it('the smaller of buffer and binding limit counts', () => {
    const pool = { pages: 100, pageBytes: 8 };
    expect(planSegments(pool, { maxBufferSize: 80, maxStorageBufferBindingSize: 800 }).pagesPerSegment).toBe(
      10,
    );
    expect(planSegments(pool, { maxBufferSize: 800, maxStorageBufferBindingSize: 80 }).pagesPerSegment).toBe(
      10,
    );
    expect(planSegments({ ...pool, segmentBytesMax: 17 }, limits).pagesPerSegment).toBe(2);
  });

  it('refuses pages of 6 bytes, and pages above a limit, by name', () => {
    expect(() => planSegments({ pages: 10, pageBytes: 6 }, limits)).toThrow(ConfigError);
    expect(() => planSegments({ pages: 10, pageBytes: 6 }, limits)).toThrow(
      /pageBytes 6 .*multiple of 4.*pad/,
    );
    expect(() => planSegments({ pages: 10, pageBytes: 1000 }, limits)).not.toThrow();
    const above = () => planSegments({ pages: 10, pageBytes: 1004 }, limits);
    expect(above).toThrow(DeviceError);
    expect(above).toThrow(/a page of 1004 bytes exceeds the device's maxStorageBufferBindingSize of 1000/);
    expect(() => planSegments({ pages: 10, pageBytes: 8, segmentBytesMax: 4 }, limits)).toThrow(
      /segmentBytesMax of 4/,
    );
    for (const pages of [0, -1, 1.5, NaN]) {
      expect(() => planSegments({ pages, pageBytes: 4 }, limits)).toThrow(ConfigError);
    }
  });

  it('keep word offsets below 32 bits, whatever the device offers', () => {
    const huge = { maxBufferSize: 2 ** 40, maxStorageBufferBindingSize: 2 ** 40 };
    const { pagesPerSegment } = planSegments({ pages: 2 ** 31, pageBytes: 4096 }, huge);
    expect((pagesPerSegment * 4096) / 4).toBeLessThanOrEqual(2 ** 32);
  });

  it('offsets are exact past 31 and 32 bits', () => {
    const pageBytes = 149_760;
    for (const [page, offset] of [
      [14_339, 2_147_408_640],
      [14_340, 2_147_558_400],
      [28_680, 4_295_116_800],
    ]) {
      expect(locatePage(page, pageBytes, 2 ** 31)).toEqual({ segment: 0, offset });
    }
    expect(locatePage(2 ** 31 - 1, 2 ** 20, 2 ** 31)).toEqual({
      segment: 0,
      offset: (2 ** 31 - 1) * 2 ** 20,
    });
  });

  it('no page crosses a border, and no two pages share a byte', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: 60 }),
        fc.integer({ min: 240, max: 2000 }),
        fc.integer({ min: 240, max: 2000 }),
        (pages, pageWords, maxBufferSize, maxStorageBufferBindingSize) => {
          const pageBytes = pageWords * 4;
          const bounds = { maxBufferSize, maxStorageBufferBindingSize };
          const { pagesPerSegment, segmentCount } = planSegments({ pages, pageBytes }, bounds);
          const bytes = Math.min(maxBufferSize, maxStorageBufferBindingSize);
          const seen = new Set<string>();
          for (let page = 0; page < pages; page += 1) {
            const { segment, offset } = locatePage(page, pageBytes, pagesPerSegment);
            expect(segment).toBeLessThan(segmentCount);
            expect(offset + pageBytes).toBeLessThanOrEqual(bytes);
            expect(offset % pageBytes).toBe(0);
            seen.add(`${segment} ${offset}`);
          }
          expect(seen.size).toBe(pages);
        },
      ),
    );
  });
});

describe('the grid of a dispatch', () => {
  it.each([
    [1, 65_535, 1, 1],
    [65_535, 65_535, 65_535, 1],
    [65_536, 65_535, 32_768, 2],
    [131_071, 65_535, 43_691, 3],
    [7, 3, 3, 3],
  ])('%i workgroups, at most %i a dimension: %i by %i', (workgroups, most, x, y) => {
    expect(workgroupGrid(workgroups, most)).toEqual({ x, y });
  });

  it('covers all workgroups, wastes less than a row, and stays within 32 bits', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 2 ** 31 }), (workgroups) => {
        const { x, y } = workgroupGrid(workgroups, 65_535);
        expect(x).toBeLessThanOrEqual(65_535);
        expect(y).toBeLessThanOrEqual(65_535);
        expect(x * y).toBeGreaterThanOrEqual(workgroups);
        expect(x * y - workgroups).toBeLessThan(y);
        expect(x * y).toBeLessThan(2 ** 32);
      }),
    );
  });
});

describe('runs of neighbours', () => {
  const runs = (list: number[]) => {
    const found: [number, number][] = [];
    forEachRun(
      list.length,
      (i) => list[i] === list[i - 1] + 1,
      (first, length) => found.push([list[first], length]),
    );
    return found;
  };

  it('are as long as they can be', () => {
    expect(runs([])).toEqual([]);
    expect(runs([4])).toEqual([[4, 1]]);
    expect(runs([1, 2, 3, 7, 8, 1])).toEqual([
      [1, 3],
      [7, 2],
      [1, 1],
    ]);
  });
});

describe('default strategies', () => {
  it('kernels on a GPU, commands on a software adapter', () => {
    expect(defaultStrategies({ software: false, runtime: 'browser' })).toMatchObject({
      zero: 'kernel',
      copy: 'kernel',
    });
    expect(defaultStrategies({ software: true, runtime: 'node' })).toMatchObject({
      zero: 'clear',
      copy: 'bounce',
      store: 'copy',
      load: 'write',
    });
  });
});
