@group(0) @binding(0) var<storage, read_write> segment: array<Unit>;
@group(0) @binding(1) var<storage, read> list: PageMoves;

// Copies pages onto other pages of the same segment.
//
// Dispatch: one invocation per units_per_invocation units of all listed pages, in workgroups over x and y.
// Invocations run in no order, so a page that is a source must not be a destination, and no destination may come
// twice; the host refuses such lists.
@compute @workgroup_size(workgroup_size)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  var at = first_unit(group, groups, lane);
  for (var i = 0u; i < units_per_invocation && at.entry < list.count; i += 1u) {
    let pair = list.moves[at.entry];
    segment[pair.destination * stride_units + at.unit] = segment[pair.source * stride_units + at.unit];
    at = next_unit(at);
  }
}
