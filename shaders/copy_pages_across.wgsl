@group(0) @binding(0) var<storage, read> source_segment: array<Unit>;
@group(0) @binding(1) var<storage, read_write> destination_segment: array<Unit>;
@group(0) @binding(2) var<storage, read> list: PageMoves;

// Copies pages of one segment onto pages of another one. A buffer that is bound for writing may not be bound a second
// time, so this is not for copies within a segment.
//
// Dispatch: one invocation per units_per_invocation units of all listed pages, in workgroups over x and y.
// Reaches two segments: a pool of more is copied pair by pair.
@compute @workgroup_size(workgroup_size)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  var at = first_unit(group, groups, lane);
  for (var i = 0u; i < units_per_invocation && at.entry < list.count; i += 1u) {
    let pair = list.moves[at.entry];
    destination_segment[pair.destination * stride_units + at.unit] = source_segment[pair.source * stride_units + at.unit];
    at = next_unit(at);
  }
}
