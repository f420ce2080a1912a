/** How workers end: by close, by loss of the device, and for lack of memory. */
import { describe, expect, it } from 'vitest';
import { cacheConfigSchema, transferConfigSchema } from '../../src/config.ts';
import { DeviceError } from '../../src/errors.ts';
import { PageBuffers } from '../../src/gpu/page-buffers.ts';
import { WebGpuWorker } from '../../src/gpu/worker.ts';
import { HostMemory } from '../../src/host-memory.ts';
import { jobId, pageId, slotId } from '../../src/units.ts';
import { acquireAdapter } from '../../src/runtime/acquire.ts';
import { expectBytes, withDevice } from './support/device.ts';
import { plan } from './support/pool.ts';
import { zeroed } from '../support/one-group.ts';

const cache = cacheConfigSchema.parse({ pages: 16, pageBytes: 64, tokensPerPage: 4 });

function createWorker(device: GPUDevice, host: HostMemory | null, lag: number | 'as-they-come' = 1) {
  const transfer = transferConfigSchema.parse({
    stagingBuffers: 3,
    stagingBytes: 64,
    storeBytesPerStep: 1024,
    acknowledgementLag: lag,
  });
  return WebGpuWorker.create({ device, cache, transfer, host, witness: true });
}

const store = (id: number, page: number) => ({ id: jobId(id), pages: [pageId(page)], slots: [slotId(id)] });

/** A device of its own that the test loses. Nothing may be reported outside of what the worker returns. */
async function withDoomedDevice(body: (device: GPUDevice) => Promise<void>): Promise<void> {
  const { adapter } = await acquireAdapter();
  const device = await adapter.requestDevice();
  try {
    await body(device);
  } finally {
    device.destroy();
  }
}

describe('a device that is lost', () => {
  for (const lag of [1, 2, 'as-they-come'] as const) {
    it(`ends three stores in flight and one load as failed, and nothing hangs (lag ${lag})`, async () => {
      await withDoomedDevice(async (device) => {
        const host = new HostMemory({ slots: 8, slotBytes: 64 });
        const worker = await createWorker(device, host, lag);
        await worker.execute(plan(1, { stores: [store(1, 1), store(2, 2), store(3, 3)] }));
        const load = { id: jobId(5), pages: [pageId(4)], slots: [slotId(6)] };
        // Submitted, and not yet arrived when the device goes.
        const under = worker.execute(plan(2, { loads: [load] }));
        device.destroy();
        const acknowledgements = [...(await under).acknowledgements];
        // How soon the loss is known differs; until it is, steps go on.
        for (let step = 3; worker.busy && step < 1000; step += 1) {
          acknowledgements.push(...(await worker.execute(plan(step))).acknowledgements);
        }
        await device.lost;
        expect(worker.busy).toBe(false);
        expect(acknowledgements.map(({ job }) => job).sort()).toEqual([1, 2, 3, 5]);
        for (const { job, ok, error } of acknowledgements) {
          // What had arrived before the loss may be right; whatever failed says why.
          if (ok) expectBytes(host.view(slotId(job === jobId(5) ? 6 : job)), new Uint8Array(64));
          else expect(error).toMatch(/lost|destroy|abort|unmap/i);
        }
        await expect(worker.execute(plan(1000, { stores: [store(4, 4)] }))).rejects.toThrow(
          /device lost \(destroyed\)/,
        );
        await expect(worker.readPage(pageId(1))).rejects.toThrow(DeviceError);
        await expect(worker.readWitness()).rejects.toThrow(DeviceError);
        await worker.close();
        await worker.close();
        expect(worker.liveBytes).toBe(0);
      });
    });
  }

  it('lost between steps: the next one reports every transfer as failed, its own too; then steps are refused', async () => {
    await withDoomedDevice(async (device) => {
      const worker = await createWorker(device, new HostMemory({ slots: 8, slotBytes: 64 }), 2);
      await worker.execute(plan(1, { stores: [store(1, 1)] }));
      device.destroy();
      await device.lost;
      const { acknowledgements } = await worker.execute(plan(2, { stores: [store(2, 2)] }));
      expect(acknowledgements).toMatchObject([
        { job: 1, ok: false },
        { job: 2, ok: false },
      ]);
      expect(acknowledgements[0].error).toMatch(/device lost/);
      await expect(worker.execute(plan(3))).rejects.toThrow(/device lost/);
      await worker.close();
    });
  });

  it('a worker cannot be made on it', async () => {
    await withDoomedDevice(async (device) => {
      device.destroy();
      await device.lost;
      await expect(createWorker(device, null)).rejects.toThrow(DeviceError);
    });
  });

  it('close while a page is being read: the read ends one way or the other', async () => {
    await withDoomedDevice(async (device) => {
      const worker = await createWorker(device, null);
      const read = worker.readPage(pageId(1)).then(
        () => 'read',
        (error: unknown) => (error instanceof Error ? 'refused' : 'odd'),
      );
      device.destroy();
      expect(['read', 'refused']).toContain(await read);
      await worker.close();
    });
  });
});

describe('closing', () => {
  it('20 workers one after the other leave no buffer behind', async () => {
    await withDevice(async (device) => {
      const host = new HostMemory({ slots: 8, slotBytes: 64 });
      for (let round = 0; round < 20; round += 1) {
        const worker = await createWorker(device, host, 2);
        expect(worker.liveBytes).toBeGreaterThan(16 * 64);
        await worker.execute(plan(1, { newPageIdsToZero: zeroed([pageId(1)]), stores: [store(1, 1)] }));
        // Every second one is closed with a store on its way.
        await worker.execute(plan(2, { newPageIdsToZero: zeroed([pageId(2), pageId(9)]) }));
        if (round % 2 === 0) for (let step = 3; worker.busy; step += 1) await worker.execute(plan(step));
        await worker.close();
        expect(worker.liveBytes).toBe(0);
        expect(worker.liveBytesByLabel).toEqual({});
      }
    });
  });

  it('waits for the step under way, whose commands take effect', async () => {
    await withDevice(async (device) => {
      const host = new HostMemory({ slots: 8, slotBytes: 64 });
      const worker = await createWorker(device, host);
      worker.damagePage(pageId(1), 0, new Uint8Array(64).fill(7));
      await worker.execute(plan(1, { stores: [store(1, 1)] }));
      const under = worker.execute(plan(2));
      const last = worker.execute(plan(3));
      await worker.close();
      expect((await under).released).toEqual([1]);
      expect((await last).acknowledgements).toEqual([{ job: 1, ok: true }]);
      expectBytes(host.view(slotId(1)), new Uint8Array(64).fill(7));
    });
  });
});

describe('memory that the device refuses', () => {
  /** Lets the n-th buffer fail as the standard has it: an invalid object now, the error through the scope. */
  function refuseBuffer(
    device: GPUDevice,
    refused: number,
  ): { created: GPUBuffer[]; destroyed: Set<GPUBuffer> } {
    const created: GPUBuffer[] = [];
    const destroyed = new Set<GPUBuffer>();
    const createBuffer = device.createBuffer.bind(device);
    const popErrorScope = device.popErrorScope.bind(device);
    let failing = false;
    device.createBuffer = (descriptor) => {
      const buffer = createBuffer(descriptor);
      created.push(buffer);
      failing = created.length === refused;
      const destroy = buffer.destroy.bind(buffer);
      buffer.destroy = () => {
        destroyed.add(buffer);
        destroy();
        return undefined;
      };
      return buffer;
    };
    device.popErrorScope = () => {
      const scope = popErrorScope();
      if (!failing) return scope;
      failing = false;
      return scope.then(() => ({ message: 'out of memory, made up' }));
    };
    return { created, destroyed };
  }

  it('names segment, bytes and reason, and gives the first segments back', async () => {
    await withDevice(async (device) => {
      const { created, destroyed } = refuseBuffer(device, 2);
      const pool = { device, pages: 10, pageBytes: 64, segmentBytesMax: 4 * 64 };
      await expect(PageBuffers.create(pool)).rejects.toThrow(
        /pages 4 to 7 \(segment 1 of 3\): 256 bytes refused: out of memory/,
      );
      expect(created).toHaveLength(2);
      expect(destroyed).toEqual(new Set(created));
      // A smaller pool works on the same device.
      const smaller = await PageBuffers.create({ ...pool, pages: 4 });
      smaller.destroy();
    }, {});
  });

  it('a worker gives everything back, whichever buffer was refused', async () => {
    await withDevice(async (device) => {
      const host = new HostMemory({ slots: 8, slotBytes: 64 });
      const probe = refuseBuffer(device, Infinity);
      const worker = await createWorker(device, host);
      await worker.close();
      const count = probe.created.length;
      expect(count).toBeGreaterThan(4);
      for (let refused = 1; refused <= count; refused += 1) {
        const { created, destroyed } = refuseBuffer(device, refused);
        await expect(createWorker(device, host), `buffer ${refused}`).rejects.toThrow(
          /refused: out of memory/,
        );
        expect(destroyed.size).toBe(created.length);
      }
    }, {});
  });
});

describe('sizes above the limits of the device', () => {
  it('are named: a page, and a buffer', async () => {
    await withDevice(async (device) => {
      const limit = device.limits.maxStorageBufferBindingSize;
      const create = (pageBytes: number, stagingBytes: number) =>
        WebGpuWorker.create({
          device,
          cache: cacheConfigSchema.parse({ pages: 2, pageBytes, tokensPerPage: 4 }),
          transfer: transferConfigSchema.parse({ stagingBytes }),
          host: new HostMemory({ slots: 1, slotBytes: 8, segmentBytesMax: 8 }),
          witness: false,
        });
      await expect(PageBuffers.create({ device, pages: 2, pageBytes: limit + 4 })).rejects.toThrow(
        new RegExp(`a page of ${limit + 4} bytes exceeds .*maxStorageBufferBindingSize of ${limit}`),
      );
      const bytes = device.limits.maxBufferSize + 8;
      await expect(create(8, bytes)).rejects.toThrow(
        new RegExp(`staging buffer 0: ${bytes} .*maxBufferSize`),
      );
    });
  });
});

describe('what the device refuses in a step', () => {
  it('is told with the step at fault, by the next reading or a later step', async () => {
    const { adapter } = await acquireAdapter();
    const device = await adapter.requestDevice();
    const worker = await createWorker(device, null);
    // Somebody else gives the pool back under the worker's hands.
    worker.locate(pageId(1)).buffer.destroy();
    await worker.execute(plan(1, { newPageIdsToZero: zeroed([pageId(1)]) }));
    await expect(worker.readWitness()).rejects.toThrow(/the device refused step 1: /);
    await expect(worker.execute(plan(2))).rejects.toThrow(/the device refused step 1: /);
    await worker.close();
    device.destroy();
  });
});
