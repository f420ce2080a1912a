struct Gates {
  rows: u32,
  width: u32,
  // Numbers from one row of the operand, and of the result, to the next.
  stride: u32,
  result_stride: u32,
}

@group(0) @binding(0) var<storage, read> operand: array<f32>;
@group(0) @binding(1) var<storage, read> gates: Gates;
@group(0) @binding(2) var<storage, read_write> result: array<f32>;

// Rows of gates, then values, to silu(gate) * value.
//
// Dispatch: one invocation per number of the result, over x and y.
@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = workgroup_number(group, groups) * LANES + lane;
  let row = number / gates.width;
  if (row >= gates.rows) {
    return;
  }
  let column = number % gates.width;
  let source = row * gates.stride + column;
  let gate = operand[source];
  result[row * gates.result_stride + column] = gate / (1.0 + exp(-gate)) * operand[source + gates.width];
}
