@group(0) @binding(0) var<storage, read> queries: array<vec4f>;
@group(0) @binding(1) var<storage, read> segment: array<vec4f>;
@group(0) @binding(2) var<storage, read> rows: array<Row>;
@group(0) @binding(3) var<storage, read> tables: array<u32>;
@group(0) @binding(4) var<storage, read> reach: Reach;
@group(0) @binding(5) var<storage, read_write> carried: array<vec4f>;
@group(0) @binding(6) var<storage, read_write> result: array<vec4f>;

// A head has at most 256 numbers: as many vec4s as there are lanes.
// While values are added up, lanes share out the numbers of the head, and the tokens of the tile in as many parts as
// there is room for.
override parts: u32 = LANES / head_vec4s;

// No place in a segment.
const NOWHERE = 0xffffffffu;

var<workgroup> query: array<vec4f, LANES>;
// A tile of tokens, one a lane: score, then weight; and where the key is.
var<workgroup> scores: array<f32, LANES>;
var<workgroup> weights: array<f32, LANES>;
var<workgroup> places: array<u32, LANES>;
var<workgroup> partial: array<vec4f, LANES>;

// Attention of every row over the keys and values that its page table leads to, up to its own position, with online
// softmax: the highest score so far, the sum of the weights and the weighted sum of the values go from tile to tile.
//
// Dispatch: one workgroup per query head of every row, over x and y; prefill and decode differ in how many rows there
// are. Reaches one segment. A pool of more takes one dispatch each: tokens elsewhere are passed over, and the three sums
// go from dispatch to dispatch in `carried`, head_vec4s + 1 vec4s a head.
@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = workgroup_number(group, groups);
  let row = number / heads;
  if (row >= reach.rows) {
    return;
  }
  let kv_head = number % heads / (heads / kv_heads);
  let position = rows[row].position;
  let table = rows[row].table;
  let part = lane / head_vec4s;
  let column = lane % head_vec4s;
  let carry = number * (head_vec4s + 1u);
  let scale = 1.0 / sqrt(f32(head_dim));

  if (lane < head_vec4s) {
    query[lane] = queries[number * head_vec4s + lane] * scale;
  }
  var highest = LOWEST;
  var weight_sum = 0.0;
  var values = vec4f();
  if (reach.is_first == 0u) {
    let head = carried[carry];
    highest = head.x;
    weight_sum = head.y;
    if (part == 0u) {
      values = carried[carry + 1u + column];
    }
  }

  for (var start = first_token(position); start <= position; start += LANES) {
    let count = min(LANES, position + 1u - start);
    var score = LOWEST;
    var place = NOWHERE;
    if (lane < count) {
      let token = start + lane;
      let page = tables[table + token / page_tokens] - reach.first_page;
      if (page < reach.pages) {
        place = key_place(page, reach.layer, kv_head, token % page_tokens) / 4u;
      }
    }
    // The query is there, and nobody reads the tile before any more.
    workgroupBarrier();
    if (place != NOWHERE) {
      score = 0.0;
      for (var i = 0u; i < head_vec4s; i += 1u) {
        score += dot(query[i], segment[place + i]);
      }
    }
    scores[lane] = score;
    places[lane] = place;
    workgroupBarrier();
    var next = highest;
    for (var i = 0u; i < count; i += 1u) {
      next = max(next, scores[i]);
    }
    weights[lane] = select(0.0, exp(score - next), place != NOWHERE);
    let shrink = exp(highest - next);
    highest = next;
    weight_sum *= shrink;
    values *= shrink;
    workgroupBarrier();
    for (var i = 0u; i < count; i += 1u) {
      weight_sum += weights[i];
    }
    if (part < parts) {
      for (var i = part; i < count; i += parts) {
        if (places[i] != NOWHERE) {
          values += weights[i] * segment[places[i] + plane_vec4s + column];
        }
      }
    }
  }

  partial[lane] = values;
  workgroupBarrier();
  if (lane >= head_vec4s) {
    return;
  }
  for (var i = 1u; i < parts; i += 1u) {
    values += partial[lane + i * head_vec4s];
  }
  if (reach.is_last == 1u) {
    result[number * head_vec4s + lane] = values / weight_sum;
    return;
  }
  carried[carry + 1u + lane] = values;
  if (lane == 0u) {
    carried[carry] = vec4f(highest, weight_sum, 0.0, 0.0);
  }
}
