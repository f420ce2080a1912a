// How invocations share out the units of a list of pages.
//
// The units of all listed pages form one row: unit u of entry e is number e * page_units + u. A workgroup takes
// workgroup_size * units_per_invocation of them, its lanes side by side, so that neighbours in a workgroup touch
// neighbouring memory. Small pages leave no lane idle. The host keeps the row of one dispatch below 2^31 units.
override workgroup_size: u32 = 64u;
override units_per_invocation: u32 = 8u;
// Units of a page that are moved, and units from one page to the next.
override page_units: u32 = 1u;
override stride_units: u32 = 1u;

// A step of workgroup_size units, as whole pages and the rest: one division an invocation instead of one a unit.
override entries_per_step: u32 = workgroup_size / page_units;
override units_per_step: u32 = workgroup_size % page_units;

struct UnitCursor {
  entry: u32,
  unit: u32,
}

// Workgroups run over two dimensions because one of them ends at 65,535.
fn first_unit(group: vec3u, groups: vec3u, lane: u32) -> UnitCursor {
  let number = (group.y * groups.x + group.x) * workgroup_size * units_per_invocation + lane;
  return UnitCursor(number / page_units, number % page_units);
}

fn next_unit(at: UnitCursor) -> UnitCursor {
  let unit = at.unit + units_per_step;
  if (unit < page_units) {
    return UnitCursor(at.entry + entries_per_step, unit);
  }
  return UnitCursor(at.entry + entries_per_step + 1u, unit - page_units);
}
