@group(0) @binding(0) var<storage, read_write> segment: array<Unit>;
@group(0) @binding(1) var<storage, read> list: PageList;

// Overwrites every listed page with the fill word.
//
// Dispatch: one invocation per units_per_invocation units of all listed pages, in workgroups over x and y.
// Reaches one segment. A page listed twice is written twice with the same value.
@compute @workgroup_size(workgroup_size)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let value = Unit(list.fill);
  var at = first_unit(group, groups, lane);
  for (var i = 0u; i < units_per_invocation && at.entry < list.count; i += 1u) {
    segment[list.pages[at.entry] * stride_units + at.unit] = value;
    at = next_unit(at);
  }
}
