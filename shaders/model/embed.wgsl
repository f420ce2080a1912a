struct Lookup {
  rows: u32,
  // vec4s of a row.
  width: u32,
  // Entries of the table that are bound: tokens outside are another dispatch's.
  first_token: u32,
  tokens: u32,
}

@group(0) @binding(0) var<storage, read> table: array<Weights>;
@group(0) @binding(1) var<storage, read> tokens: array<u32>;
@group(0) @binding(2) var<storage, read> lookup: Lookup;
@group(0) @binding(3) var<storage, read_write> result: array<vec4f>;

// Takes the embedding's row of each token.
//
// Dispatch: one invocation per vec4 of every row, in workgroups over x and y.
@compute @workgroup_size(LANES)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let at = workgroup_number(group, groups) * LANES + lane;
  if (at >= lookup.rows * lookup.width) {
    return;
  }
  // Below the first one the difference wraps round, and is not below the count either.
  let entry = tokens[at / lookup.width] - lookup.first_token;
  if (entry < lookup.tokens) {
    result[at] = numbers_of(table[entry * lookup.width + at % lookup.width]);
  }
}
