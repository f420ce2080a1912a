@group(0) @binding(0) var<storage, read> staging: array<Unit>;
@group(0) @binding(1) var<storage, read_write> segment: array<Unit>;
@group(0) @binding(2) var<storage, read> list: PageMoves;

// Spreads a staging buffer over pages of one segment: a move's source is a place, its destination a page.
//
// Dispatch: one invocation per units_per_invocation units of all listed pages, in workgroups over x and y.
// Reaches one staging buffer and one segment. Pages of several segments take one dispatch a segment.
@compute @workgroup_size(workgroup_size)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  var at = first_unit(group, groups, lane);
  for (var i = 0u; i < units_per_invocation && at.entry < list.count; i += 1u) {
    let pair = list.moves[at.entry];
    segment[pair.destination * stride_units + at.unit] = staging[pair.source * stride_units + at.unit];
    at = next_unit(at);
  }
}
