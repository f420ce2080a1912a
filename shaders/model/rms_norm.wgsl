@group(0) @binding(0) var<storage, read> operand: array<f32>;
@group(0) @binding(1) var<storage, read> weight: array<f32>;
@group(0) @binding(2) var<storage, read> chosen: array<u32>;
@group(0) @binding(3) var<storage, read> norm: Norm;
@group(0) @binding(4) var<storage, read_write> result: array<f32>;

var<workgroup> squares: array<f32, LANES>;

// Divides each row by the root of its mean square and multiplies it by the weights.
//
// Dispatch: one workgroup a row, over x and y. Its lanes share out the row; each adds all their sums up for itself.
@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let row = workgroup_number(group, groups);
  if (row >= norm.rows) {
    return;
  }
  let source = select(row, chosen[row], norm.choose == 1u) * norm.stride;
  var sum = 0.0;
  for (var i = lane; i < norm.width; i += LANES) {
    let value = operand[source + i];
    sum += value * value;
  }
  squares[lane] = sum;
  workgroupBarrier();
  var total = 0.0;
  for (var i = 0u; i < LANES; i += 1u) {
    total += squares[i];
  }
  let scale = 1.0 / sqrt(total / f32(norm.width) + norm.epsilon);
  for (var i = lane; i < norm.width; i += LANES) {
    result[row * norm.stride + i] = operand[source + i] * scale * weight[i];
  }
}
