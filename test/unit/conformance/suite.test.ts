/** What the suite makes of cases, over a device that is only as much of one as it has to be. */
import { describe, expect, it } from 'vitest';
import {
  failed,
  passed,
  skipped,
  type ConformanceCase,
  type Outcome,
} from '../../../src/conformance/case.ts';
import type { Deviation } from '../../../src/conformance/deviations.ts';
import { runConformance, type ConformanceOptions } from '../../../src/conformance/suite.ts';
import type { AcquiredAdapter } from '../../../src/runtime/adapter.ts';

/** A device whose error scopes are empty, or hold what was put into `errors`. */
class FakeDevice {
  readonly errors: string[] = [];
  destroyed = 0;
  private lose!: (info: { reason: string; message: string }) => void;
  readonly lost = new Promise<{ reason: string; message: string }>((resolve) => (this.lose = resolve));

  pushErrorScope(): void {
    // The fake has one scope only.
  }

  popErrorScope(): Promise<{ message: string } | null> {
    const message = this.errors.shift();
    return Promise.resolve(message === undefined ? null : { message });
  }

  destroy(): void {
    this.destroyed += 1;
    this.lose({ reason: 'destroyed', message: '' });
  }

  fail(message: string): void {
    this.lose({ reason: 'unknown', message });
  }
}

function machine() {
  const devices: FakeDevice[] = [];
  const acquire = (): Promise<AcquiredAdapter> => {
    const adapter = {
      features: new Set(['timestamp-query', 'shader-f16']),
      limits: { maxBufferSize: 1024, label: 'no number' },
      requestDevice: () => {
        devices.push(new FakeDevice());
        return Promise.resolve(devices.at(-1));
      },
    };
    return Promise.resolve({
      adapter: adapter as unknown as GPUAdapter,
      runtime: 'node',
      description: 'a fake',
      software: true,
    });
  };
  return { devices, acquire };
}

function oneCase(run: ConformanceCase['run'], parts: Partial<ConformanceCase> = {}): ConformanceCase {
  return {
    id: 'subject/name',
    title: 'a title',
    spec: 'Section, https://www.w3.org/TR/webgpu/#section',
    promise: 'A promise.',
    run,
    ...parts,
  };
}

async function statusOf(
  run: ConformanceCase['run'],
  { parts, ...options }: Partial<ConformanceOptions> & { parts?: Partial<ConformanceCase> } = {},
) {
  const { acquire } = machine();
  const result = await runConformance({ acquire, cases: [oneCase(run, parts)], deviations: [], ...options });
  const [{ status, detail }] = result.cases;
  return { status, detail };
}

const returning = (outcome: Outcome) => () => Promise.resolve(outcome);
const never = () => new Promise<never>(() => undefined);

describe('the result', () => {
  it('has what a program needs, and counts', async () => {
    const { acquire } = machine();
    const outcomes = [passed(), passed('seen'), failed('why'), skipped('no need')];
    const cases = outcomes.map((outcome, i) => oneCase(returning(outcome), { id: `subject/${i}` }));
    const { seconds, agent, ...rest } = await runConformance({ acquire, cases, deviations: [] });
    expect(seconds).toBeGreaterThanOrEqual(0);
    expect(agent).toMatch(/^Node\.js\/\d+/);
    const { spec, promise, title } = cases[0];
    expect(rest).toEqual({
      runtime: 'node',
      adapter: 'a fake',
      features: ['shader-f16', 'timestamp-query'],
      limits: { maxBufferSize: 1024 },
      cases: outcomes.map((outcome, i) => ({ id: `subject/${i}`, ...outcome, spec, promise, title })),
      passed: 2,
      failed: 1,
      deviates: 0,
      skipped: 1,
    });
  });

  it('comes case by case', async () => {
    const { acquire } = machine();
    const cases = ['a/1', 'a/2'].map((id) => oneCase(returning(passed()), { id }));
    const seen: string[] = [];
    await runConformance({
      acquire,
      cases,
      onResult: ({ id }, { done, total }) => void seen.push(`${id} ${done}/${total}`),
    });
    expect(seen).toEqual(['a/1 1/2', 'a/2 2/2']);
  });

  it('covers what ran when it is stopped', async () => {
    const { acquire } = machine();
    const stop = new AbortController();
    const cases = ['a/1', 'a/2'].map((id) => oneCase(returning(passed()), { id }));
    const { passed: count } = await runConformance({
      acquire,
      cases,
      signal: stop.signal,
      onResult: () => stop.abort(),
    });
    expect(count).toBe(1);
  });
});

describe('a case', () => {
  it('fails when it throws, with the exception', async () => {
    const run = () => Promise.reject(new RangeError('too far'));
    expect(await statusOf(run)).toEqual({ status: 'failed', detail: 'RangeError: too far' });
  });

  it('fails when it waits for what never comes, and says for what', async () => {
    const run: ConformanceCase['run'] = async (context) => {
      await context.wait(never(), 'mapAsync');
      return passed();
    };
    expect(await statusOf(run, { waitMs: 20 })).toEqual({
      status: 'failed',
      detail: 'mapAsync did not settle within 0.02 s',
    });
  });

  it('fails when it hangs by itself', async () => {
    expect(await statusOf(never, { caseMs: 20 })).toEqual({
      status: 'failed',
      detail: 'the case did not settle within 0.02 s',
    });
  });

  it('fails on errors of the device that it did not ask for', async () => {
    const run: ConformanceCase['run'] = ({ device }) => {
      (device as unknown as FakeDevice).errors.push('stray');
      return Promise.resolve(passed());
    };
    expect(await statusOf(run)).toEqual({ status: 'failed', detail: 'stray' });
  });

  it('fails when its device is lost; the next one has a new device', async () => {
    const { acquire, devices } = machine();
    const harmful: ConformanceCase['run'] = async ({ device }) => {
      (device as unknown as FakeDevice).fail('gone');
      await device.lost;
      return passed();
    };
    const cases = [oneCase(harmful), oneCase(returning(passed()), { id: 'subject/next' })];
    const result = await runConformance({ acquire, cases, deviations: [] });
    expect(result.cases.map(({ status, detail }) => [status, detail])).toEqual([
      ['failed', 'the device was lost (unknown): gone'],
      ['passed', ''],
    ]);
    expect(devices).toHaveLength(2);
  });

  it('has its own devices destroyed after it, and the shared one at the end', async () => {
    const { acquire, devices } = machine();
    const run: ConformanceCase['run'] = async (context) => {
      await context.requestDevice();
      await context.requestDevice();
      return passed();
    };
    const after = ({ destroyed }: FakeDevice) => destroyed;
    const seen: number[][] = [];
    await runConformance({
      acquire,
      cases: [oneCase(run)],
      onResult: () => void seen.push(devices.map(after)),
    });
    expect(seen).toEqual([[0, 1, 1]]);
    expect(devices.map(after)).toEqual([1, 1, 1]);
  });

  it('that hangs makes the waits of later ones shorter', async () => {
    const { acquire } = machine();
    const run: ConformanceCase['run'] = async (context) => {
      await context.wait(never(), 'it');
      return passed();
    };
    const cases = Array.from({ length: 5 }, (_, i) => oneCase(run, { id: `a/${i}` }));
    const result = await runConformance({ acquire, cases, waitMs: 50 });
    expect(result.cases.map(({ detail }) => /[\d.]+ s$/.exec(detail)?.[0])).toEqual([
      ...Array.from({ length: 4 }, () => '0.05 s'),
      '0.005 s',
    ]);
  });

  it('shares a batch with others', async () => {
    const { acquire } = machine();
    let made = 0;
    const run: ConformanceCase['run'] = async (context) => {
      const batch = await context.once('batch', () => Promise.resolve((made += 1)));
      return batch === 1 ? passed() : failed(String(batch));
    };
    const cases = ['a/1', 'a/2', 'a/3'].map((id) => oneCase(run, { id }));
    expect((await runConformance({ acquire, cases })).passed).toBe(3);
  });
});

describe('a failure', () => {
  const deviation: Deviation = {
    cases: ['subject/name'],
    runtime: 'node',
    what: 'it does otherwise',
    reference: 'https://example.org/issue',
  };

  it('is a deviation where the specification allows either', async () => {
    const parts = { eitherAllowed: 'nothing is said' };
    expect(await statusOf(returning(failed('b before a')), { parts })).toEqual({
      status: 'deviates',
      detail: 'b before a\nThe specification allows either: nothing is said',
    });
  });

  it('is a deviation where it is known of the runtime, with the reference', async () => {
    expect(await statusOf(returning(failed('no')), { deviations: [deviation] })).toEqual({
      status: 'deviates',
      detail: 'no\nKnown: it does otherwise (https://example.org/issue)',
    });
  });

  it.each([
    ['another runtime', { ...deviation, runtime: 'deno' as const }],
    ['another adapter', { ...deviation, where: /llvmpipe/ }],
    ['another case', { ...deviation, cases: ['subject/other'] }],
  ])('stays one where %s is known for it', async (_, other) => {
    expect(await statusOf(returning(failed('no')), { deviations: [other] })).toMatchObject({
      status: 'failed',
    });
  });

  it('that ends the process is reported without being run, unless it is asked for', async () => {
    const deviations = [{ ...deviation, endsProcess: true }];
    let runs = 0;
    const run = () => {
      runs += 1;
      return Promise.resolve(passed());
    };
    expect(await statusOf(run, { deviations })).toEqual({
      status: 'deviates',
      detail: 'Not run. Known: it does otherwise (https://example.org/issue)',
    });
    expect(runs).toBe(0);
    expect(await statusOf(run, { deviations, evenFatal: true })).toMatchObject({ status: 'passed' });
  });

  it('does not hide that a deviation is gone', async () => {
    expect(await statusOf(returning(passed()), { deviations: [deviation] })).toMatchObject({
      status: 'passed',
    });
  });
});

it('says that there is no adapter by throwing', async () => {
  const acquire = () => Promise.reject(new Error('no adapter'));
  await expect(runConformance({ acquire, cases: [] })).rejects.toThrow('no adapter');
});
