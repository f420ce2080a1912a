/**
 * The raw ways to move bytes, written by hand against WebGPU and nothing else: what the project's own ways are
 * measured against. Imports nothing.
 */

/** One way to do one thing. `run` returns when the device is done. */
export interface Way {
  readonly name: string;
  readonly run: () => Promise<void>;
}

const WORKGROUP = 64;
const DIMENSION_MAX = 65_535;
const STORAGE = 0x80;
const COPY_SRC = 0x4;
const COPY_DST = 0x8;
const MAP_READ = 0x1;
const MAP_WRITE = 0x2;
const READ = 1;
const WRITE = 2;

const HEAD = `
@group(0) @binding(0) var<storage, read_write> pool: array<vec4u>;
@group(0) @binding(1) var<storage, read> list: array<u32>;
override units: u32;
override total: u32;
@compute @workgroup_size(${WORKGROUP}) fn main(
  @builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
  let i = id.y * groups.x * ${WORKGROUP}u + id.x;
  if (i >= total) { return; }
  let entry = i / units;
  let unit = i % units;`;
const ZERO = `${HEAD} pool[list[entry] * units + unit] = vec4u(0u); }`;
const COPY = `${HEAD} pool[list[2u * entry + 1u] * units + unit] = pool[list[2u * entry] * units + unit]; }`;

/** Memory for one way. */
export interface RawMemory {
  readonly device: GPUDevice;
  readonly pageBytes: number;
  /** A buffer of pages. */
  readonly makePool: () => GPUBuffer;
  /** Host memory for the pages that move. */
  readonly makeHost: () => Uint8Array<ArrayBuffer>;
}

/** Waits for the device. The empty submit makes writes without commands count on every implementation. */
export async function finished(device: GPUDevice): Promise<void> {
  device.queue.submit([device.createCommandEncoder().finish()]);
  await device.queue.onSubmittedWorkDone();
}

async function dispatchWay(
  memory: RawMemory,
  name: string,
  code: string,
  list: Uint32Array,
  entries: number,
): Promise<Way> {
  const { device, pageBytes } = memory;
  const buffer = memory.makePool();
  const units = pageBytes / 16;
  const total = units * entries;
  const pipeline = await device.createComputePipelineAsync({
    layout: 'auto',
    compute: { module: device.createShaderModule({ code }), constants: { units, total } },
  });
  const listBuffer = device.createBuffer({ size: list.byteLength, usage: STORAGE | COPY_DST });
  const group = device.createBindGroup({
    layout: pipeline.getBindGroupLayout(0),
    entries: [
      { binding: 0, resource: { buffer } },
      { binding: 1, resource: { buffer: listBuffer } },
    ],
  });
  const groups = Math.ceil(total / WORKGROUP);
  const x = Math.min(groups, DIMENSION_MAX);
  const run = () => {
    device.queue.writeBuffer(listBuffer, 0, list as Uint32Array<ArrayBuffer>);
    const encoder = device.createCommandEncoder();
    const pass = encoder.beginComputePass();
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group);
    pass.dispatchWorkgroups(x, Math.ceil(groups / x));
    pass.end();
    device.queue.submit([encoder.finish()]);
    return finished(device);
  };
  return { name, run };
}

/** Zeroing a list of pages: one dispatch, and one `clearBuffer` a page. */
export async function rawZero(memory: RawMemory, pages: readonly number[]): Promise<Way[]> {
  const { device, pageBytes } = memory;
  const buffer = memory.makePool();
  const clear = () => {
    const encoder = device.createCommandEncoder();
    for (const page of pages) encoder.clearBuffer(buffer, page * pageBytes, pageBytes);
    device.queue.submit([encoder.finish()]);
    return finished(device);
  };
  return [
    await dispatchWay(memory, 'one dispatch', ZERO, Uint32Array.from(pages), pages.length),
    { name: 'clearBuffer, one a page', run: clear },
  ];
}

/** Copying pages to pages: one dispatch, and one copy command a page through bounce buffers of two sizes. */
export async function rawCopy(
  memory: RawMemory,
  pairs: readonly (readonly [number, number])[],
): Promise<Way[]> {
  const { device, pageBytes } = memory;
  const bounceWay = (places: number): Way => {
    const buffer = memory.makePool();
    const most = Math.floor(device.limits.maxBufferSize / pageBytes);
    const inFlight = Math.min(places, pairs.length, most);
    const bounce = device.createBuffer({ size: inFlight * pageBytes, usage: COPY_SRC | COPY_DST });
    const run = () => {
      const encoder = device.createCommandEncoder();
      for (let start = 0; start < pairs.length; start += inFlight) {
        const batch = pairs.slice(start, start + inFlight);
        batch.forEach(([source], i) => {
          encoder.copyBufferToBuffer(buffer, source * pageBytes, bounce, i * pageBytes, pageBytes);
        });
        batch.forEach(([, destination], i) => {
          encoder.copyBufferToBuffer(bounce, i * pageBytes, buffer, destination * pageBytes, pageBytes);
        });
      }
      device.queue.submit([encoder.finish()]);
      return finished(device);
    };
    return { name: `bounce, one a page, ${places} pages`, run };
  };
  return [
    await dispatchWay(memory, 'one dispatch', COPY, Uint32Array.from(pairs.flat()), pairs.length),
    bounceWay(1),
    bounceWay(16),
    bounceWay(256),
  ];
}

/** Byte ranges of `bytes` each, from `offset` in the pool to `at` on the host. Neighbours form one range. */
interface Range {
  readonly offset: number;
  readonly at: number;
  readonly bytes: number;
}

function ranges(pages: readonly number[], pageBytes: number, bytesMax: number): Range[][] {
  const batches: Range[][] = [];
  const perBatch = Math.max(1, Math.floor(bytesMax / pageBytes));
  for (let start = 0; start < pages.length; start += perBatch) {
    const batch: Range[] = [];
    for (let i = start; i < Math.min(start + perBatch, pages.length); i += 1) {
      const last = batch.at(-1);
      const offset = pages[i] * pageBytes;
      if (last && last.offset + last.bytes === offset)
        batch[batch.length - 1] = { ...last, bytes: last.bytes + pageBytes };
      else batch.push({ offset, at: i * pageBytes, bytes: pageBytes });
    }
    batches.push(batch);
  }
  return batches;
}

/** Pages to host memory: rings of four mappable buffers of three sizes, and one buffer for all. */
export function rawStore(memory: RawMemory, pages: readonly number[]): Way[] {
  const { device, pageBytes } = memory;
  const ring = (megabytes: number, count: number, name: string): Way => {
    const size = megabytes * 2 ** 20;
    const [buffer, host] = [memory.makePool(), memory.makeHost()];
    const staging = Array.from({ length: count }, () =>
      device.createBuffer({ size, usage: MAP_READ | COPY_DST }),
    );
    const batches = ranges(pages, pageBytes, size);
    return { name, run: () => storeThroughRing(device, buffer, batches, staging, host) };
  };
  const all = Math.ceil((pages.length * pageBytes) / 2 ** 20);
  return [
    ring(1, 4, 'ring of 4 x 1 MiB'),
    ring(4, 4, 'ring of 4 x 4 MiB'),
    ring(16, 4, 'ring of 4 x 16 MiB'),
    ring(all, 1, 'one shot'),
  ];
}

async function storeThroughRing(
  device: GPUDevice,
  buffer: GPUBuffer,
  batches: readonly Range[][],
  ring: readonly GPUBuffer[],
  host: Uint8Array,
): Promise<void> {
  const flying: Promise<void>[] = [];
  for (const [index, batch] of batches.entries()) {
    const slot = index % ring.length;
    await flying[slot];
    const staging = ring[slot];
    const start = batch[0].at;
    const encoder = device.createCommandEncoder();
    for (const { offset, at, bytes } of batch) {
      encoder.copyBufferToBuffer(buffer, offset, staging, at - start, bytes);
    }
    device.queue.submit([encoder.finish()]);
    const bytes = bytesOf(batch);
    flying[slot] = staging.mapAsync(READ, 0, bytes).then(() => {
      host.set(new Uint8Array(staging.getMappedRange(0, bytes)), start);
      staging.unmap();
    });
  }
  await Promise.all(flying);
}

/** Host memory to pages: `writeBuffer` for neighbours and a page at a time, and a ring of mappable buffers. */
export function rawLoad(memory: RawMemory, pages: readonly number[]): Way[] {
  const { device, pageBytes } = memory;
  const [whole] = ranges(pages, pageBytes, Infinity);
  const single = pages.map((page, i): Range => ({
    offset: page * pageBytes,
    at: i * pageBytes,
    bytes: pageBytes,
  }));
  const write = (name: string, list: readonly Range[]): Way => {
    const [buffer, host] = [memory.makePool(), memory.makeHost()];
    const run = () => {
      for (const { offset, at, bytes } of list) device.queue.writeBuffer(buffer, offset, host, at, bytes);
      return finished(device);
    };
    return { name, run };
  };
  return [
    write('writeBuffer, one a run', whole),
    write('writeBuffer, one a page', single),
    loadThroughRing(memory, pages),
  ];
}

function loadThroughRing(memory: RawMemory, pages: readonly number[]): Way {
  const { device, pageBytes } = memory;
  const [buffer, host] = [memory.makePool(), memory.makeHost()];
  const size = 4 * 2 ** 20;
  const ring = Array.from({ length: 4 }, () =>
    device.createBuffer({ size, usage: MAP_WRITE | COPY_SRC, mappedAtCreation: true }),
  );
  const mapped: Promise<unknown>[] = ring.map(() => Promise.resolve());
  const batches = ranges(pages, pageBytes, size);
  const run = async () => {
    for (const [index, batch] of batches.entries()) {
      const slot = index % ring.length;
      await mapped[slot];
      const staging = ring[slot];
      const start = batch[0].at;
      const bytes = bytesOf(batch);
      new Uint8Array(staging.getMappedRange(0, bytes)).set(host.subarray(start, start + bytes));
      staging.unmap();
      const encoder = device.createCommandEncoder();
      for (const range of batch) {
        encoder.copyBufferToBuffer(staging, range.at - start, buffer, range.offset, range.bytes);
      }
      device.queue.submit([encoder.finish()]);
      mapped[slot] = staging.mapAsync(WRITE);
    }
    await finished(device);
  };
  return { name: 'MAP_WRITE ring of 4 x 4 MiB', run };
}

/** What the host's memory allows: one copy from memory to memory. */
export function rawMemcpy(memory: RawMemory, bytes: number): Way {
  const host = memory.makeHost();
  const source = new Uint8Array(bytes).fill(2);
  const run = () => {
    host.set(source);
    return Promise.resolve();
  };
  return { name: 'memcpy (the limit)', run };
}

function bytesOf(batch: readonly Range[]): number {
  return batch.reduce((sum, range) => sum + range.bytes, 0);
}
