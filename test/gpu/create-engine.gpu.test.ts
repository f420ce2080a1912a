/** What a caller with a device and kernels of its own gets. */
import { describe, expect, it } from 'vitest';
import {
  adapterFacts,
  ConfigError,
  DeviceMemoryError,
  createEngine,
  slotId,
  suggestedTransfer,
  type PageId,
  type PoolOptions,
  type StepPlan,
  type TransferConfig,
} from '../../src/index.ts';
import { prompt } from '../support/worlds.ts';
import { expectBytes, readBytes, withDevice } from './support/device.ts';

const cache = { pages: 5, pageBytes: 32, tokensPerPage: 4 };

/** Has a device refuse pools once it holds so many bytes of them. `live`: its buffers from here on. */
async function granting(
  poolBytesMax: number,
  device: GPUDevice,
  body: (live: Set<GPUBuffer>) => Promise<void>,
): Promise<void> {
  const live = new Set<GPUBuffer>();
  const create = device.createBuffer.bind(device);
  let held = 0;
  device.createBuffer = (descriptor) => {
    const isPool = descriptor.label?.startsWith('pages ') === true;
    // What cannot be: an error in the scope around it, as for memory that is not there.
    const isRefused = isPool && held + descriptor.size > poolBytesMax;
    const buffer = create(isRefused ? { ...descriptor, usage: 0 } : descriptor);
    live.add(buffer);
    if (isPool) held += descriptor.size;
    const destroy = buffer.destroy.bind(buffer);
    buffer.destroy = () => {
      if (live.delete(buffer) && isPool) held -= descriptor.size;
      destroy();
    };
    return buffer;
  };
  try {
    await body(live);
  } finally {
    device.createBuffer = create;
  }
}

describe('createEngine with a device', () => {
  it('runs the caller’s forward pass on the pages: what it writes is stored, loaded and found again', async () => {
    await withDevice(async (device) => {
      const seen: number[] = [];
      const pattern = (token: number) => new Uint32Array(2).fill(token * 1000 + 7);
      const forward = (plan: StepPlan): void => {
        for (const { start, end, tables, tokens } of plan.forward) {
          for (let token = start; token < end; token += 1) {
            seen.push(tokens[token]);
            const { buffer, offset } = engine.worker.locate(tables[0][Math.floor(token / 4)]);
            device.queue.writeBuffer(buffer, offset + (token % 4) * 8, pattern(tokens[token]));
          }
        }
      };
      const engine = await createEngine(
        { cache, offload: { slots: 8 }, witness: false },
        { device, forward },
      );
      engine.add({ id: 'first', tokens: prompt(1, 8) });
      await engine.drain();
      const expected = Uint32Array.from({ length: 16 }, (_, i) => pattern(1 + Math.floor(i / 2))[0]);
      expectBytes(engine.host!.view(slotId(0), 2), new Uint8Array(expected.buffer), 'both slots');

      engine.add({ id: 'pushes it out', tokens: prompt(100, 16) });
      await engine.drain();
      seen.length = 0;
      let pages: readonly PageId[] = [];
      engine.add({ id: 'again', tokens: [...prompt(1, 8), 9] });
      while (engine.hasWork) {
        const { plan } = await engine.step();
        for (const request of plan.forward) pages = [...request.tables[0]];
      }
      expect(seen, 'tokens computed again').toEqual([9]);
      const { buffer, offset } = engine.worker.locate(pages[1]);
      expectBytes(await readBytes(device, buffer, offset, 32), new Uint8Array(expected.buffer, 32), 'page 1');
      await engine.close();
    });
  });

  it('leaves nothing on the device that it was lent', async () => {
    await withDevice(async (device) => {
      for (let round = 0; round < 5; round += 1) {
        const engine = await createEngine({ cache, offload: { slots: 4 } }, { device });
        engine.add({ id: 'only', tokens: prompt(0, 9) });
        await engine.drain();
        expect(engine.worker.liveBytes).toBeGreaterThan(0);
        await engine.close();
        await engine.close();
        expect(engine.worker.liveBytes).toBe(0);
      }
    });
  });

  it('names what is wrong with a pool', async () => {
    await withDevice(async (device) => {
      const open = { pageBytes: 32, tokensPerPage: 4 };
      for (const [input, pool, message] of [
        [cache, { fraction: 0.5 }, /pool\.fraction is 0\.5, and cache\.pages is 5; leave one of them out/],
        [{ ...open, poolBytes: 64 }, { fraction: 0.5 }, /and cache\.poolBytes is 64; leave one/],
        [open, { fraction: 0 }, /pool\.fraction is 0; use a number above 0/],
        [open, { fraction: '1' }, /pool\.fraction is 1; use a number above 0/],
        [open, { fraction: 1e-12 }, /cache\.poolBytes: .*>=1/],
        [open, { ifRefused: 'shrink' }, /cache\.pages: neither is given/],
        [cache, { ifRefused: 'wait' }, /pool\.ifRefused is wait; use 'fail' or 'shrink'/],
      ] as const) {
        const made = createEngine({ cache: input }, { device, pool: pool as PoolOptions });
        await expect(made, JSON.stringify(pool)).rejects.toThrow(message);
        await expect(made).rejects.toThrow(ConfigError);
      }
    });
  });

  it('takes a fraction of the largest buffer, for all ranks together', async () => {
    await withDevice(async (device) => {
      const { maxBufferSize } = device.limits;
      const pool = { fraction: 2 ** 20 / maxBufferSize };
      const pagesFor = async (contextParallel: number) => {
        const input = { pageBytes: 4096, tokensPerPage: 4, contextParallel };
        const engine = await createEngine({ cache: input }, { device, pool, tuning: 'off' });
        await engine.close();
        return engine.config.cache.pages;
      };
      expect(await pagesFor(1)).toBe(256);
      expect(await pagesFor(2)).toBe(128);
    });
  });

  it('fails or takes a smaller pool where memory is refused, and leaves nothing behind', async () => {
    await withDevice((device) =>
      granting(1000 * 32, device, async (live) => {
        const input = { cache: { ...cache, pages: 2000, contextParallel: 2 }, offload: { slots: 4 } };
        const options = { device, tuning: 'off' } as const;
        await expect(createEngine(input, options)).rejects.toThrow(DeviceMemoryError);
        await expect(createEngine(input, options)).rejects.toThrow(
          /pages 0 to 1999 \(segment 0 of 1\): 64000 bytes refused: .*configure a smaller size/s,
        );
        expect(live.size).toBe(0);

        const engine = await createEngine(input, { ...options, pool: { ifRefused: 'shrink' } });
        // 2000 pages, 1500, 1125, 843, 632 and 474 on each of the two ranks.
        expect(engine.config.cache.pages).toBe(474);
        engine.add({ id: 'only', tokens: prompt(0, 9) });
        expect(await engine.drain()).toMatchObject([{ id: 'only', reason: 'length' }]);
        engine.checkIntegrity();
        await engine.close();
        expect(live.size).toBe(0);

        const long = { ...input, cache: { ...input.cache, tokensMax: 8000 } };
        await expect(createEngine(long, { ...options, pool: { ifRefused: 'shrink' } })).rejects.toThrow(
          DeviceMemoryError,
        );
        expect(live.size).toBe(0);
      }),
    );
  });

  it('reads the configuration once', async () => {
    await withDevice(async (device) => {
      let reads = 0;
      const input = {
        get cache() {
          reads += 1;
          return cache;
        },
      };
      const engine = await createEngine(input, { device });
      expect(reads).toBe(1);
      await engine.close();
    });
  });

  it('names what is wrong with a configuration', async () => {
    await withDevice(async (device) => {
      await expect(createEngine({ cache: { ...cache, pageBytes: 10 } }, { device })).rejects.toThrow(
        /cache\.pageBytes/,
      );
      await expect(createEngine(undefined as never, { device })).rejects.toThrow(ConfigError);
      await expect(createEngine({ cache, transfer: { stagingBytes: 16 } }, { device })).rejects.toThrow(
        /transfer\.stagingBytes: 16 cannot hold one page of 32 bytes/,
      );
    });
  });

  it('stages no more than the pool holds, unless it is told to', async () => {
    await withDevice(async (device) => {
      const stagingOf = async (pages: number, transfer: Partial<TransferConfig> = {}) => {
        const engine = await createEngine(
          { cache: { ...cache, pages }, offload: { slots: 4 }, transfer },
          { device },
        );
        await engine.close();
        const { stagingBuffers, stagingBytes } = engine.config.transfer;
        return [stagingBuffers, stagingBytes];
      };
      expect(await stagingOf(2)).toEqual([2, 32]);
      expect(await stagingOf(5)).toEqual([4, 32]);
      expect(await stagingOf(15)).toEqual([4, 3 * 32]);
      expect(await stagingOf(15, { stagingBuffers: 2 })).toEqual([2, 7 * 32]);
      expect(await stagingOf(2, { stagingBuffers: 3 })).toEqual([3, 32]);
      expect(await stagingOf(15, { stagingBytes: 4096 })).toEqual([4, 4096]);
      // A pool of many MiB gets what suits the device.
      const { stagingBytes } = suggestedTransfer(adapterFacts(device));
      expect(await stagingOf(stagingBytes / 8)).toEqual([4, stagingBytes]);
    });
  });
});
