/** The bandwidth measurement on the runtime at hand. Speeds are not asserted, only that all were measured. */
import { describe, expect, it } from 'vitest';
import { measureBandwidth, type BandwidthOptions } from '../../src/bandwidth/bandwidth.ts';
import { OPERATIONS } from '../../src/bandwidth/result.ts';
import { ConfigError, DeviceError } from '../../src/errors.ts';
import { acquireAdapter } from '../../src/runtime/acquire.ts';
import { adapterWith } from './support/adapters.ts';
import { runtimeName } from './support/device.ts';

const SMALL: BandwidthOptions = {
  acquire: acquireAdapter,
  bytes: 2 ** 18,
  pageSizes: [4096, 2 ** 17],
  runs: 1,
  budgetMs: 1,
};

describe('a measurement', () => {
  it('has every way of every operation, for each size and list, one of them the default', async () => {
    let device: GPUDevice | null = null;
    const reports: number[] = [];
    const result = await measureBandwidth({
      ...SMALL,
      acquire: adapterWith((own) => (device = own)),
      onProgress: ({ done, total, result: soFar }) => {
        expect(total).toBe(5);
        expect(soFar.bothDirections).toHaveLength(done - 1);
        reports.push(done);
      },
    });
    expect(reports).toEqual([1, 2, 3, 4, 5]);
    expect(result).toMatchObject({ runtime: runtimeName });
    expect(result.limits).toHaveLength(8);
    for (const operation of OPERATIONS) {
      for (const pageBytes of SMALL.pageSizes!) {
        for (const list of ['neighbouring', 'scattered']) {
          const rows = result.rows.filter(
            (row) => row.operation === operation && row.pageBytes === pageBytes && row.list === list,
          );
          expect(rows).toHaveLength(operation === 'load' ? 4 : 2);
          expect(rows.filter(({ isDefault }) => isDefault)).toHaveLength(1);
          for (const { bytes, milliseconds, ofLimit } of rows) {
            expect(bytes).toBe(2 ** 18);
            expect(milliseconds).toBeGreaterThanOrEqual(0);
            // Null where the runtime's clock is too coarse for so little.
            expect(ofLimit ?? 1).toBeGreaterThan(0);
          }
        }
      }
    }
    expect(result.release.map(({ pages }) => pages)).toEqual([64, 64, 2, 2]);
    expect((await device!.lost).reason).toBe('destroyed');
  });

  it('ends with what is done when it is stopped, and gives the device back', async () => {
    let device: GPUDevice | null = null;
    const stop = new AbortController();
    const result = await measureBandwidth({
      ...SMALL,
      acquire: adapterWith((own) => (device = own)),
      signal: stop.signal,
      onProgress: ({ done }) => {
        if (done === 2) stop.abort();
      },
    });
    expect(result.bothDirections).toHaveLength(1);
    expect((await device!.lost).reason).toBe('destroyed');
  });

  it('ends with an error when the device is lost', async () => {
    let device: GPUDevice | null = null;
    const lost = measureBandwidth({
      ...SMALL,
      acquire: adapterWith((own) => (device = own)),
      onProgress: ({ done }) => {
        if (done === 2) device!.destroy();
      },
    });
    await expect(lost).rejects.toThrow(DeviceError);
  });

  it('is refused before a device is asked for where sizes cannot be', async () => {
    const acquire = () => Promise.reject(new Error('asked for'));
    for (const wrong of [{ pageSizes: [6] }, { pageSizes: [2 ** 19] }, { bytes: 0.5 }, { pageSizes: [0] }]) {
      await expect(measureBandwidth({ ...SMALL, ...wrong, acquire })).rejects.toThrow(ConfigError);
    }
  });
});
