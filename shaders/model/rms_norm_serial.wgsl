@group(0) @binding(0) var<storage, read> operand: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read> chosen: array<u32>;
@group(0) @binding(3) var<storage, read> norm: Norm;
@group(0) @binding(4) var<storage, read_write> result: array<f32>;

// As rms_norm.wgsl, without barriers: on adapters that compute on the CPU, one costs more than all the rest.
//
// Dispatch: one invocation a row, over x and y.
@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let row = workgroup_number(group, groups) * LANES + lane;
  if (row >= norm.rows) {
    return;
  }
  let source = select(row, chosen[row], norm.choose == 1u) * norm.stride;
  var sum = 0.0;
  for (var i = 0u; i < norm.width; i += 1u) {
    let value = operand[source + i];
    sum += value * value;
  }
  let scale = 1.0 / sqrt(sum / f32(norm.width) + norm.epsilon);
  for (var i = 0u; i < norm.width; i += 1u) {
    result[row * norm.stride + i] = operand[source + i] * scale * weight[i];
  }
}
