import { describe, expect, it } from 'vitest';
import {
  adapterName,
  expectBytes,
  readBytes,
  runtimeName,
  testDevice,
  withDevice,
} from './support/device.ts';

const DOUBLE = /* wgsl */ `
  @group(0) @binding(0) var<storage, read_write> words: array<u32>;
  @compute @workgroup_size(64)
  fn main(@builtin(global_invocation_id) id: vec3u) {
    if (id.x < arrayLength(&words)) { words[id.x] *= 2u; }
  }`;

describe(`a device in ${runtimeName}`, () => {
  it('has an adapter with a name', async () => {
    expect(await adapterName()).not.toBe('');
  });

  it('runs a compute shader, and reads back what it wrote', () =>
    withDevice(async (device) => {
      const count = 1000;
      const words = Uint32Array.from({ length: count }, (_, index) => index + 7);
      const buffer = device.createBuffer({
        size: words.byteLength,
        usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC,
      });
      device.queue.writeBuffer(buffer, 0, words);
      const pipeline = await device.createComputePipelineAsync({
        layout: 'auto',
        compute: { module: device.createShaderModule({ code: DOUBLE }), entryPoint: 'main' },
      });
      const group = device.createBindGroup({
        layout: pipeline.getBindGroupLayout(0),
        entries: [{ binding: 0, resource: { buffer } }],
      });
      const encoder = device.createCommandEncoder();
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(0, group);
      pass.dispatchWorkgroups(Math.ceil(count / 64));
      pass.end();
      device.queue.submit([encoder.finish()]);
      const bytes = await readBytes(device, buffer);
      expectBytes(
        new Uint32Array(bytes.buffer),
        words.map((word) => word * 2),
      );
      buffer.destroy();
    }));

  it('reads back part of a buffer', () =>
    withDevice(async (device) => {
      const buffer = device.createBuffer({
        size: 16,
        usage: GPUBufferUsage.COPY_DST | GPUBufferUsage.COPY_SRC,
      });
      device.queue.writeBuffer(buffer, 4, Uint8Array.of(1, 2, 3, 4));
      expectBytes(await readBytes(device, buffer, 4, 8), Uint8Array.of(1, 2, 3, 4, 0, 0, 0, 0));
      buffer.destroy();
    }));

  it('is shared by the tests of a file, unless one asks for a device of its own', async () => {
    const first = await testDevice();
    await withDevice((device) => expect(device).toBe(first));
    await withDevice((device) => expect(device).not.toBe(first), { label: 'own' });
    await withDevice(async (device) => {
      await device.queue.onSubmittedWorkDone();
    });
  });
});

describe('withDevice fails a test', () => {
  it('on a validation error, which throws nothing by itself', async () => {
    const run = withDevice((device) => {
      device.createBuffer({ size: 4, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.STORAGE });
    });
    await expect(run).rejects.toThrow(/validation: ./);
  });

  it('on an error outside any scope', async () => {
    const run = withDevice(async (device) => {
      for (let scope = 0; scope < 3; scope++) await device.popErrorScope();
      device.createBuffer({ size: 4, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.STORAGE });
      for (let scope = 0; scope < 3; scope++) device.pushErrorScope('internal');
    });
    await expect(run).rejects.toThrow(/uncaptured error: ./);
  });

  it('and not the test after it', () =>
    withDevice((device) => expect(device.limits.maxBufferSize).toBeGreaterThan(0)));

  it('with the WebGPU error first and the failed expectation as its cause', async () => {
    const run = withDevice((device) => {
      device.createBuffer({ size: 4, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.STORAGE });
      throw new Error('a consequence');
    });
    await expect(run).rejects.toMatchObject({ cause: { message: 'a consequence' } });
  });

  it('when its body does', async () => {
    const run = withDevice(() => {
      throw new Error('by the body');
    });
    await expect(run).rejects.toThrow('by the body');
  });
});
