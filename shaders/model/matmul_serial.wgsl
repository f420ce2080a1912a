@group(0) @binding(0) var<storage, read> operand: array<vec4f>;
@group(0) @binding(1) var<storage, read> matrix: array<Weights>;
@group(0) @binding(2) var<storage, read> product: Product;
@group(0) @binding(3) var<storage, read_write> result: array<f32>;

// An invocation makes OUTPUTS_EACH numbers of each of rows_each rows, which is 1 or 4: what it reads serves several sums.
const OUTPUTS_EACH = 4u;
override rows_each: u32 = 1u;

// Multiplies rows by a matrix without barriers: on adapters that compute on the CPU, one costs more than the products
// between two of them.
//
// Dispatch: one invocation per OUTPUTS_EACH outputs of every rows_each rows, over x and y. Outputs and rows beyond the
// last one are the last one again.
@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let across = (product.outputs + OUTPUTS_EACH - 1u) / OUTPUTS_EACH;
  let number = workgroup_number(group, groups) * LANES + lane;
  let output = number % across * OUTPUTS_EACH;
  let row = number / across * rows_each;
  if (row >= product.rows) {
    return;
  }
  let weights = min(vec4u(output) + vec4u(0u, 1u, 2u, 3u), vec4u(product.outputs - 1u)) * product.width;
  let operands = min(vec4u(row) + vec4u(0u, 1u, 2u, 3u), vec4u(product.rows - 1u)) * product.width;
  // By row: four outputs.
  var sums_0 = vec4f();
  var sums_1 = vec4f();
  var sums_2 = vec4f();
  var sums_3 = vec4f();
  for (var i = 0u; i < product.width; i += 1u) {
    let weights_0 = numbers_of(matrix[weights.x + i]);
    let weights_1 = numbers_of(matrix[weights.y + i]);
    let weights_2 = numbers_of(matrix[weights.z + i]);
    let weights_3 = numbers_of(matrix[weights.w + i]);
    let row_0 = operand[operands.x + i];
    sums_0 += vec4f(dot(row_0, weights_0), dot(row_0, weights_1), dot(row_0, weights_2), dot(row_0, weights_3));
    if (rows_each > 1u) {
      let row_1 = operand[operands.y + i];
      let row_2 = operand[operands.z + i];
      let row_3 = operand[operands.w + i];
      sums_1 += vec4f(dot(row_1, weights_0), dot(row_1, weights_1), dot(row_1, weights_2), dot(row_1, weights_3));
      sums_2 += vec4f(dot(row_2, weights_0), dot(row_2, weights_1), dot(row_2, weights_2), dot(row_2, weights_3));
      sums_3 += vec4f(dot(row_3, weights_0), dot(row_3, weights_1), dot(row_3, weights_2), dot(row_3, weights_3));
    }
  }
  write_outputs(row, output, sums_0);
  if (rows_each > 1u) {
    write_outputs(row + 1u, output, sums_1);
    write_outputs(row + 2u, output, sums_2);
    write_outputs(row + 3u, output, sums_3);
  }
}

fn write_outputs(row: u32, output: u32, sums: vec4f) {
  if (row >= product.rows) {
    return;
  }
  for (var i = 0u; i < OUTPUTS_EACH && output + i < product.outputs; i += 1u) {
    let place = place_of(product, row, output + i);
    result[place] = sums[i] + select(0.0, result[place], product.accumulate == 1u);
  }
}
