@group(0) @binding(0) var<storage, read> queries: array<vec4f>;
@group(0) @binding(1) var<storage, read> segment: array<vec4f>;
@group(0) @binding(2) var<storage, read> rows: array<Row>;
@group(0) @binding(3) var<storage, read> tables: array<u32>;
@group(0) @binding(4) var<storage, read> reach: Reach;
@group(0) @binding(5) var<storage, read_write> carried: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> result: array<vec4f>;

// vec4s of the result that an invocation makes. The scores are computed once for each of them.
const COLUMNS = 4u;

override columns_across: u32 = (head_vec4s + COLUMNS - 1u) / COLUMNS;

// As paged_attention.wgsl, without barriers: on adapters that compute on the CPU, one costs more than all the rest.
//
// Dispatch: one invocation per COLUMNS vec4s of every query head of every row, over x and y.
@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let invocation = workgroup_number(group, groups) * LANES + lane;
  let number = invocation / columns_across;
  let row = number / heads;
  if (row >= reach.rows) {
    return;
  }
  // Columns beyond the last one are the last one again.
  let first_column = invocation % columns_across * COLUMNS;
  let last_column = head_vec4s - 1u;
  let column_1 = min(first_column + 1u, last_column);
  let column_2 = min(first_column + 2u, last_column);
  let column_3 = min(first_column + 3u, last_column);
  let kv_head = number % heads / (heads / kv_heads);
  let position = rows[row].position;
  let table = rows[row].table;
  let query = number * head_vec4s;
  // Each invocation has its own: what others of the same head write meanwhile is not to be read.
  let carry = invocation * (COLUMNS + 1u);
  let scale = 1.0 / sqrt(f32(head_dim));

  var highest = LOWEST;
  var weight_sum = 0.0;
  var values_0 = vec4f();
  var values_1 = vec4f();
  var values_2 = vec4f();
  var values_3 = vec4f();
  if (reach.is_first == 0u) {
    let head = carried[carry];
    highest = head.x;
    weight_sum = head.y;
    values_0 = carried[carry + 1u];
    values_1 = carried[carry + 2u];
    values_2 = carried[carry + 3u];
    values_3 = carried[carry + 4u];
  }

  let start = first_token(position);
  for (var token = start; token <= position; token += 1u) {
    let page = tables[table + token / page_tokens] - reach.first_page;
    if (page >= reach.pages) {
      continue;
    }
    let place = key_place(page, reach.layer, kv_head, token % page_tokens) / 4u;
    var score = 0.0;
    for (var i = 0u; i < head_vec4s; i += 1u) {
      score += dot(queries[query + i], segment[place + i]);
    }
    score *= scale;
    if (score > highest) {
      let shrink = exp(highest - score);
      highest = score;
      weight_sum *= shrink;
      values_0 *= shrink;
      values_1 *= shrink;
      values_2 *= shrink;
      values_3 *= shrink;
    }
    let weight = exp(score - highest);
    let value = place + plane_vec4s;
    weight_sum += weight;
    values_0 += weight * segment[value + first_column];
    values_1 += weight * segment[value + column_1];
    values_2 += weight * segment[value + column_2];
    values_3 += weight * segment[value + column_3];
  }

  if (reach.is_last == 0u) {
    carried[carry] = vec4f(highest, weight_sum, 0.0, 0.0);
    carried[carry + 1u] = values_0;
    carried[carry + 2u] = values_1;
    carried[carry + 3u] = values_2;
    carried[carry + 4u] = values_3;
    return;
  }
  let place = number * head_vec4s;
  result[place + column_3] = values_3 / weight_sum;
  result[place + column_2] = values_2 / weight_sum;
  result[place + column_1] = values_1 / weight_sum;
  result[place + first_column] = values_0 / weight_sum;
}
