@group(0) @binding(0) var<storage, read> operand: array<vec4f>;
@group(0) @binding(1) var<storage, read> matrix: array<Weights>;
@group(0) @binding(2) var<storage, read> product: Product;
@group(0) @binding(3) var<storage, read_write> result: array<f32>;

// Lanes that share out one output: a power of two. The others of the workgroup take the outputs that follow.
override lanes_per_output: u32 = 16u;

var<workgroup> sums: array<f32, LANES>;

// Multiplies a few rows by a matrix. Each row reads the whole matrix, so this is for as many rows as a decode has;
// matmul.wgsl is for more.
//
// Dispatch: one workgroup per LANES / lanes_per_output outputs of every row, over x and y.
@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let outputs_each = LANES / lanes_per_output;
  let groups_per_row = (product.outputs + outputs_each - 1u) / outputs_each;
  let number = workgroup_number(group, groups);
  let row = number / groups_per_row;
  if (row >= product.rows) {
    return;
  }
  let output = (number % groups_per_row) * outputs_each + lane / lanes_per_output;
  let part = lane % lanes_per_output;
  var sum = 0.0;
  if (output < product.outputs) {
    for (var i = part; i < product.width; i += lanes_per_output) {
      sum += dot(operand[row * product.width + i], numbers_of(matrix[output * product.width + i]));
    }
  }
  sums[lane] = sum;
  workgroupBarrier();
  if (part != 0u || output >= product.outputs) {
    return;
  }
  for (var i = 1u; i < lanes_per_output; i += 1u) {
    sum += sums[lane + i];
  }
  let place = place_of(product, row, output);
  if (product.accumulate == 1u) {
    sum += result[place];
  }
  result[place] = sum;
}
