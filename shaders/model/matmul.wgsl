@group(0) @binding(0) var<storage, read> operand: array<vec4f>;
@group(0) @binding(1) var<storage, read> matrix: array<Weights>;
@group(0) @binding(2) var<storage, read> product: Product;
@group(0) @binding(3) var<storage, read_write> result: array<f32>;

// A workgroup makes a tile of TILE_ROWS by TILE_OUTPUTS numbers; a lane makes 4 rows of 4 outputs of it. What they read
// passes through workgroup memory, TILE_DEPTH vec4s at a time.
const TILE_ROWS = 16u;
const TILE_OUTPUTS = 64u;
const TILE_DEPTH = 8u;
// One vec4 more than is used, so that lanes side by side read different banks.
const MATRIX_PITCH = TILE_DEPTH + 1u;
const LANES_ACROSS = TILE_OUTPUTS / 4u;

var<workgroup> row_tile: array<vec4f, TILE_ROWS * TILE_DEPTH>;
var<workgroup> matrix_tile: array<vec4f, TILE_OUTPUTS * MATRIX_PITCH>;

// Multiplies many rows by a matrix.
//
// Dispatch: one workgroup a tile, all tiles of TILE_ROWS rows before those of the next, over x and y. Lanes whose rows
// are beyond the last one sum nothing: sixteen neighbours have the same rows, so they are idle together.
@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let tiles_across = (product.outputs + TILE_OUTPUTS - 1u) / TILE_OUTPUTS;
  let number = workgroup_number(group, groups);
  let first_row = number / tiles_across * TILE_ROWS;
  if (first_row >= product.rows) {
    return;
  }
  let first_output = number % tiles_across * TILE_OUTPUTS;
  let row = first_row + lane / LANES_ACROSS * 4u;
  let row_place = lane / LANES_ACROSS * 4u * TILE_DEPTH;
  // A lane's outputs are LANES_ACROSS apart, so that neighbours write side by side.
  let across = lane % LANES_ACROSS;
  // By output: four rows.
  var sums_0 = vec4f();
  var sums_1 = vec4f();
  var sums_2 = vec4f();
  var sums_3 = vec4f();
  for (var depth = 0u; depth < product.width; depth += TILE_DEPTH) {
    for (var i = lane; i < TILE_ROWS * TILE_DEPTH; i += LANES) {
      let from_row = first_row + i / TILE_DEPTH;
      let at = depth + i % TILE_DEPTH;
      var value = vec4f();
      if (from_row < product.rows && at < product.width) {
        value = operand[from_row * product.width + at];
      }
      row_tile[i] = value;
    }
    for (var i = lane; i < TILE_OUTPUTS * TILE_DEPTH; i += LANES) {
      let from_output = first_output + i / TILE_DEPTH;
      let at = depth + i % TILE_DEPTH;
      var value = vec4f();
      if (from_output < product.outputs && at < product.width) {
        value = numbers_of(matrix[from_output * product.width + at]);
      }
      matrix_tile[i / TILE_DEPTH * MATRIX_PITCH + i % TILE_DEPTH] = value;
    }
    workgroupBarrier();
    if (row < product.rows) {
      for (var i = 0u; i < TILE_DEPTH; i += 1u) {
        let rows = mat4x4f(
          row_tile[row_place + i],
          row_tile[row_place + TILE_DEPTH + i],
          row_tile[row_place + 2u * TILE_DEPTH + i],
          row_tile[row_place + 3u * TILE_DEPTH + i],
        );
        sums_0 += matrix_tile[across * MATRIX_PITCH + i] * rows;
        sums_1 += matrix_tile[(across + LANES_ACROSS) * MATRIX_PITCH + i] * rows;
        sums_2 += matrix_tile[(across + 2u * LANES_ACROSS) * MATRIX_PITCH + i] * rows;
        sums_3 += matrix_tile[(across + 3u * LANES_ACROSS) * MATRIX_PITCH + i] * rows;
      }
    }
    workgroupBarrier();
  }
  for (var i = 0u; i < 4u; i += 1u) {
    var sums = sums_0;
    switch (i) {
      case 1u: { sums = sums_1; }
      case 2u: { sums = sums_2; }
      case 3u: { sums = sums_3; }
      default: {}
    }
    let output = first_output + across + i * LANES_ACROSS;
    for (var j = 0u; j < 4u && row + j < product.rows && output < product.outputs; j += 1u) {
      let place = place_of(product, row + j, output);
      result[place] = sums[j] + select(0.0, result[place], product.accumulate == 1u);
    }
  }
}
