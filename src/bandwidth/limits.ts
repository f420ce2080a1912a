/**
 * What the machine can do at best: whole buffers by single commands, and plain copies in host memory. Rates of pages are
 * told as shares of these.
 */
import { DeviceError } from '../errors.ts';
import { BufferUsage, MapMode } from '../gpu/constants.ts';
import { inErrorScopes } from '../gpu/device.ts';
import { interleave, type Contestant, type Measured, type Pace } from './interleave.ts';

export type LimitName =
  | 'memcpy'
  | 'clear'
  | 'copy'
  | 'copy to staging'
  | 'map, memcpy, unmap'
  | 'writeBuffer'
  | 'mapped at creation'
  | 'empty submit';

export interface MachineLimit extends Measured {
  readonly name: LimitName;
  /** Bytes of one run. 0 for what moves none. */
  readonly bytes: number;
}

/** Measures all limits with buffers of so many bytes. Throws `DeviceError` where the device refuses them. */
export async function measureLimits(device: GPUDevice, bytes: number, pace: Pace): Promise<MachineLimit[]> {
  const buffers: GPUBuffer[] = [];
  try {
    const ways = await waysOf(device, bytes, buffers);
    const measured = await interleave(ways, pace);
    return ways.map(({ name }, i) => ({ name, bytes: name === 'empty submit' ? 0 : bytes, ...measured[i] }));
  } finally {
    for (const buffer of buffers) buffer.destroy();
  }
}

async function waysOf(
  device: GPUDevice,
  bytes: number,
  buffers: GPUBuffer[],
): Promise<(Contestant & { readonly name: LimitName })[]> {
  const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = BufferUsage;
  const make = async (usage: number) => {
    const { value, result } = inErrorScopes(device, () => device.createBuffer({ size: bytes, usage }));
    buffers.push(value);
    const refusal = await result;
    if (refusal !== null)
      throw new DeviceError(`a buffer of ${bytes} bytes was refused: ${refusal}; move fewer bytes`);
    return value;
  };
  const [one, other] = [await make(STORAGE | COPY_SRC | COPY_DST), await make(STORAGE | COPY_SRC | COPY_DST)];
  const staging = await make(MAP_READ | COPY_DST);
  // Written once: memory that was never touched is handed out page by page while it is measured.
  const host = new Uint8Array(bytes).fill(1);
  const hostTarget = new Uint8Array(bytes).fill(2);

  const submit = async (record: (encoder: GPUCommandEncoder) => void) => {
    const encoder = device.createCommandEncoder();
    record(encoder);
    device.queue.submit([encoder.finish()]);
    await device.queue.onSubmittedWorkDone();
  };
  const copyOnto = (target: GPUBuffer) =>
    submit((encoder) => encoder.copyBufferToBuffer(one, 0, target, 0, bytes));
  return [
    {
      name: 'memcpy',
      run: timed(() => hostTarget.set(host)),
    },
    { name: 'clear', run: timed(() => submit((encoder) => encoder.clearBuffer(one))) },
    { name: 'copy', run: timed(() => copyOnto(other)) },
    { name: 'copy to staging', run: timed(() => copyOnto(staging)) },
    {
      name: 'map, memcpy, unmap',
      run: timed(async () => {
        await staging.mapAsync(MapMode.READ);
        hostTarget.set(new Uint8Array(staging.getMappedRange()));
        staging.unmap();
      }),
    },
    {
      name: 'writeBuffer',
      run: timed(async () => {
        device.queue.writeBuffer(one, 0, host);
        await submit(() => undefined);
      }),
    },
    {
      name: 'mapped at creation',
      run: timed(async () => {
        const fresh = device.createBuffer({ size: bytes, usage: COPY_SRC, mappedAtCreation: true });
        new Uint8Array(fresh.getMappedRange()).set(host);
        fresh.unmap();
        await submit((encoder) => encoder.copyBufferToBuffer(fresh, 0, one, 0, bytes));
        fresh.destroy();
      }),
    },
    { name: 'empty submit', run: timed(() => submit(() => undefined)) },
  ];
}

function timed(act: () => unknown): () => Promise<number> {
  return async () => {
    const begun = performance.now();
    await act();
    return performance.now() - begun;
  };
}
