@group(0) @binding(0) var<storage, read> operand: array<vec4f>;
@group(0) @binding(1) var<storage, read> matrix: array<Weights>;
@group(0) @binding(2) var<storage, read> product: Product;
@group(0) @binding(3) var<storage, read_write> result: array<f32>;

// Rows that an invocation takes: 1 or 4.
override rows_each: u32 = 1u;

// Multiplies rows by a matrix without barriers: on adapters that compute on the CPU, one costs more than the products
// between two of them.
//
// Dispatch: one invocation per output of every rows_each rows, over x and y.
@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = workgroup_number(group, groups) * LANES + lane;
  let output = number % product.outputs;
  let row = number / product.outputs * rows_each;
  if (row >= product.rows) {
    return;
  }
  let weights = output * product.width;
  let last = product.rows - 1u;
  // Rows beyond the last one are the last one again.
  let row_0 = row * product.width;
  let row_1 = min(row + 1u, last) * product.width;
  let row_2 = min(row + 2u, last) * product.width;
  let row_3 = min(row + 3u, last) * product.width;
  var sums = vec4f();
  if (rows_each == 1u) {
    for (var i = 0u; i < product.width; i += 1u) {
      sums.x += dot(operand[row_0 + i], numbers_of(matrix[weights + i]));
    }
  } else {
    for (var i = 0u; i < product.width; i += 1u) {
      let four = numbers_of(matrix[weights + i]);
      sums.x += dot(operand[row_0 + i], four);
      sums.y += dot(operand[row_1 + i], four);
      sums.z += dot(operand[row_2 + i], four);
      sums.w += dot(operand[row_3 + i], four);
    }
  }
  for (var i = 0u; i < rows_each && row + i < product.rows; i += 1u) {
    let place = place_of(product, row + i, output);
    result[place] = sums[i] + select(0.0, result[place], product.accumulate == 1u);
  }
}
