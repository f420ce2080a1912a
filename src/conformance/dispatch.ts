/** How many workgroups a dispatch takes, and whether each of them runs. */
import { WORD_BYTES } from '../units.ts';
import { failed, firstProblem, verdict, type ConformanceCase } from './case.ts';
import { webgpu } from './spec.ts';
import { difference, Workbench } from './workbench.ts';

const DISPATCH = webgpu(
  'GPUComputePassEncoder.dispatchWorkgroups',
  'dom-gpucomputepassencoder-dispatchworkgroups',
);
const LIMIT = 65_535;
const GRID = 'Long page lists are spread over rows of at most 65,535 workgroups.';

/** Counts each workgroup at its own place, so that one that is missing or runs twice shows. */
const COUNT = `
@group(0) @binding(0) var<storage, read_write> runs: array<atomic<u32>>;
@compute @workgroup_size(1) fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
) {
  let number = (group.z * groups.y + group.y) * groups.x + group.x;
  if (number < arrayLength(&runs)) { atomicAdd(&runs[number], 1u); }
}`;

const INVOCATIONS = `
override size: u32 = 1u;
@group(0) @binding(0) var<storage, read_write> ids: array<u32>;
@compute @workgroup_size(size) fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(local_invocation_index) lane: u32,
  @builtin(global_invocation_id) at: vec3u,
) {
  ids[at.x] = (group.x << 16u) | lane;
}`;

const DIMENSIONS = ['x', 'y', 'z'] as const;

function along(dimension: (typeof DIMENSIONS)[number], count: number): [number, number, number] {
  return DIMENSIONS.map((name) => (name === dimension ? count : 1)) as [number, number, number];
}

const BORDER: readonly ConformanceCase[] = DIMENSIONS.flatMap((dimension) =>
  [LIMIT, LIMIT + 1, LIMIT + 2].map((count): ConformanceCase => {
    const allowed = count <= LIMIT;
    return {
      id: `dispatch/${count}-along-${dimension}`,
      title: `${count.toLocaleString('en-US')} workgroups along ${dimension} ${allowed ? 'all run, once each' : 'are refused, and none runs'}`,
      spec: DISPATCH,
      promise: GRID,
      run: async (context) => {
        const bench = new Workbench(context);
        const { maxComputeWorkgroupsPerDimension: most } = bench.device.limits;
        if (most !== LIMIT) return failed(`the default limit is ${most}`);
        const runs = bench.storage(count * WORD_BYTES);
        const pipeline = await bench.pipeline(COUNT);
        const calls = () => {
          bench.submit((encoder) =>
            bench.dispatch(encoder, { pipeline, bindings: [runs], workgroups: along(dimension, count) }),
          );
        };
        const problem = await (allowed
          ? bench.accepted('the dispatch', calls)
          : bench.refused('the dispatch', calls));
        const expected = new Uint32Array(count).fill(allowed ? 1 : 0);
        const wrong = difference(await bench.read(runs), expected, 'runs of each workgroup');
        runs.destroy();
        return firstProblem(problem, wrong);
      },
    };
  }),
);

function grid(x: number, y: number, z: number): ConformanceCase {
  return {
    id: `dispatch/grid-${x}-${y}-${z}`,
    title: `a grid of ${x} x ${y} x ${z} workgroups, numbered along x first`,
    spec: DISPATCH,
    promise: GRID,
    run: async (context) => {
      const bench = new Workbench(context);
      const runs = bench.storage(x * y * z * WORD_BYTES);
      const pipeline = await bench.pipeline(COUNT);
      bench.submit((encoder) =>
        bench.dispatch(encoder, { pipeline, bindings: [runs], workgroups: [x, y, z] }),
      );
      const wrong = difference(await bench.read(runs), new Uint32Array(x * y * z).fill(1), 'runs');
      runs.destroy();
      return verdict(wrong);
    },
  };
}

export const DISPATCH_CASES: readonly ConformanceCase[] = [
  ...BORDER,
  grid(255, 257, 1),
  grid(3, 5, 7),
  {
    id: 'dispatch/many-in-one-pass',
    title: '1,000 dispatches in one pass each run once',
    spec: DISPATCH,
    promise: 'A step with many page lists is one pass.',
    run: async (context) => {
      const bench = new Workbench(context);
      const runs = bench.storage(64);
      const pipeline = await bench.pipeline(COUNT);
      bench.submit((encoder) => {
        const pass = encoder.beginComputePass();
        pass.setPipeline(pipeline);
        pass.setBindGroup(0, bench.bindGroup(pipeline, [runs]));
        for (let i = 0; i < 1000; i += 1) pass.dispatchWorkgroups(16);
        pass.end();
      });
      return verdict(difference(await bench.read(runs), new Uint32Array(16).fill(1000), 'runs'));
    },
  },
  ...[1, 64, 256].map((size): ConformanceCase => ({
    id: `dispatch/workgroup-of-${size}`,
    title: `a workgroup size given as a constant of the pipeline: ${size} invocations`,
    spec: webgpu('GPUProgrammableStage.constants', 'dom-gpuprogrammablestage-constants'),
    promise: 'One kernel text serves every page size.',
    run: async (context) => {
      const bench = new Workbench(context);
      const workgroups = 5;
      const ids = bench.storage(workgroups * size * WORD_BYTES);
      const pipeline = await bench.pipeline(INVOCATIONS, { constants: { size } });
      bench.submit((encoder) =>
        bench.dispatch(encoder, { pipeline, bindings: [ids], workgroups: [workgroups] }),
      );
      const expected = Uint32Array.from(
        { length: workgroups * size },
        (_, i) => (Math.floor(i / size) << 16) | (i % size),
      );
      return verdict(difference(await bench.read(ids), expected, 'group and lane'));
    },
  })),
];
