@group(0) @binding(0) var<storage, read> projected: array<f32>;
@group(0) @binding(1) var<storage, read> turns: array<vec2f>;
@group(0) @binding(2) var<storage, read> rows: array<Row>;
@group(0) @binding(3) var<storage, read> tables: array<u32>;
@group(0) @binding(4) var<storage, read> reach: Reach;
@group(0) @binding(5) var<storage, read_write> segment: array<f32>;
@group(0) @binding(6) var<storage, read_write> queries: array<f32>;

override half_dim: u32 = head_dim / 2u;
// Queries, then keys, then values.
override heads_of_row: u32 = heads + 2u * kv_heads;

// Turns queries and keys by their positions, and writes keys and values into pages. `turns` holds cosine and sine.
//
// Dispatch: one invocation per pair of numbers of every head of every row, over x and y. Reaches one segment: rows whose
// page is in another one write no keys and values here. Queries come out the same each time.
@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = workgroup_number(group, groups) * LANES + lane;
  let pair = number % half_dim;
  let head = number / half_dim % heads_of_row;
  let row = number / half_dim / heads_of_row;
  if (row >= reach.rows) {
    return;
  }
  let source = (row * heads_of_row + head) * head_dim + pair;
  let low = projected[source];
  let high = projected[source + half_dim];
  let turn = turns[row * half_dim + pair];
  let turned = vec2f(low * turn.x - high * turn.y, high * turn.x + low * turn.y);
  if (head < heads) {
    let place = (row * heads + head) * head_dim + pair;
    queries[place] = turned.x;
    queries[place + half_dim] = turned.y;
    return;
  }
  let position = rows[row].position;
  // Below the first page the difference wraps round, and is not below the count either.
  let page = tables[rows[row].table + position / page_tokens] - reach.first_page;
  if (page >= reach.pages) {
    return;
  }
  let slot = position % page_tokens;
  if (head < heads + kv_heads) {
    let place = key_place(page, reach.layer, head - heads, slot) + pair;
    segment[place] = turned.x;
    segment[place + half_dim] = turned.y;
  } else {
    let place = key_place(page, reach.layer, head - heads - kv_heads, slot) + plane_numbers + pair;
    segment[place] = low;
    segment[place + half_dim] = high;
  }
}
