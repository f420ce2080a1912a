// Lanes of a workgroup. Arrays of workgroup memory need it as a constant: not every implementation sizes them by an
// override.
const LANES = 64u;

// Workgroups run over two dimensions because one of them ends at 65,535. Some at the end may be surplus.
fn workgroup_number(group: vec3u, groups: vec3u) -> u32 {
  return group.y * groups.x + group.x;
}
