/** The conformance suite on the runtime at hand, and that its cases notice what they are for. */
import { describe, expect, it } from 'vitest';
import { CASES } from '../../src/conformance/cases.ts';
import { subjectOf } from '../../src/conformance/case.ts';
import { runConformance, type ConformanceResult } from '../../src/conformance/suite.ts';
import { acquireAdapter } from '../../src/runtime/acquire.ts';
import { adapterWith, override } from './support/adapters.ts';
import { runtimeName } from './support/device.ts';

const SUITE_MS = 180_000;

/** What did not pass, as lines for a failure message. */
const told = ({ cases }: ConformanceResult, status: 'failed' | 'deviates') =>
  cases.filter((one) => one.status === status).map(({ id, detail }) => `${id}: ${detail}`);

describe('the conformance suite', () => {
  it('finds nothing failed that is not known of this runtime', { timeout: SUITE_MS }, async () => {
    const result = await runConformance({ acquire: acquireAdapter });
    expect(told(result, 'failed')).toEqual([]);
    expect(result.runtime).toBe(runtimeName);
    expect(result.cases.map(({ id }) => id)).toEqual(CASES.map(({ id }) => id));
    expect(result.passed + result.deviates + result.skipped).toBe(CASES.length);
    expect(result.limits.maxBufferSize).toBeGreaterThanOrEqual(2 ** 28);
    expect(result.adapter).not.toBe('');
  });
});

/** What is wrong with a device, as changes to it before any case sees it. */
type Fault = (device: GPUDevice) => void;

/** Replaces a method of every encoder of the device. */
function encoders(
  device: GPUDevice,
  name: 'clearBuffer' | 'copyBufferToBuffer',
  replace: (real: (...values: never[]) => void) => unknown,
): void {
  const create = device.createCommandEncoder.bind(device);
  override(device, 'createCommandEncoder', (descriptor?: GPUCommandEncoderDescriptor) => {
    const encoder = create(descriptor);
    override(encoder, name, replace(encoder[name].bind(encoder)));
    return encoder;
  });
}

type Clear = (buffer: GPUBuffer, offset?: number, bytes?: number) => void;
type Copy = (from: GPUBuffer, fromOffset: number, to: GPUBuffer, toOffset: number, bytes: number) => void;

const FAULTS: readonly { name: string; fault: Fault; subject: string; failures: RegExp }[] = [
  {
    name: 'a clear that leaves the last 4 bytes',
    subject: 'clears',
    failures: /^clears\/of-32-offset-0-bytes-8$/m,
    fault: (device) => {
      encoders(device, 'clearBuffer', (real) => {
        const clear = real as unknown as Clear;
        return ((buffer, offset = 0, bytes = buffer.size - offset) => {
          clear(buffer, offset, bytes > 0 ? bytes - 4 : bytes);
        }) satisfies Clear;
      });
    },
  },
  {
    name: 'a copy that drops its last 4 bytes',
    subject: 'copies',
    failures: /^copies\/from-4-to-8-bytes-16-source-larger-destination-exact$/m,
    fault: (device) => {
      encoders(device, 'copyBufferToBuffer', (real) => {
        const copy = real as unknown as Copy;
        return ((from, fromOffset, to, toOffset, bytes) => {
          copy(from, fromOffset, to, toOffset, bytes > 4 ? bytes - 4 : bytes);
        }) satisfies Copy;
      });
    },
  },
  {
    name: 'a queue that writes only after the next submit',
    subject: 'ordering',
    failures: /^ordering\/write-before-recorded-copy$/m,
    fault: ({ queue }) => {
      const write = queue.writeBuffer.bind(queue);
      const submit = queue.submit.bind(queue);
      const late: Parameters<GPUQueue['writeBuffer']>[] = [];
      override(queue, 'writeBuffer', (...values: Parameters<GPUQueue['writeBuffer']>) => late.push(values));
      override(queue, 'submit', (commands: GPUCommandBuffer[]) => {
        submit(commands);
        for (const values of late.splice(0)) write(...values);
      });
    },
  },
  {
    name: 'maps that never settle',
    subject: 'clears',
    failures: /^clears\/of-20-offset-0-bytes-4$/m,
    fault: (device) => {
      const create = device.createBuffer.bind(device);
      override(device, 'createBuffer', (descriptor: GPUBufferDescriptor) => {
        const buffer = create(descriptor);
        override(buffer, 'mapAsync', () => new Promise(() => undefined));
        return buffer;
      });
    },
  },
];

describe('a device with a fault', () => {
  it.each(FAULTS)(
    '$name is noticed',
    async ({ fault, subject, failures }) => {
      const cases = CASES.filter(({ id }) => subjectOf(id) === subject);
      const result = await runConformance({
        acquire: adapterWith(fault),
        cases,
        waitMs: 300,
        deviations: [],
      });
      expect(
        result.cases
          .filter(({ status }) => status === 'failed')
          .map(({ id }) => id)
          .join('\n'),
      ).toMatch(failures);
    },
    60_000,
  );
});
