@group(0) @binding(0) var<storage, read_write> segment: array<u32>;
@group(0) @binding(1) var<storage, read> list: PageOps;
@group(0) @binding(2) var<storage, read> tokens: array<u32>;

// Writes the witness pattern into the words that each operation names.
//
// Dispatch: one workgroup per tile of words_per_tile words of every operation, in workgroups over x and y.
// Reaches one segment. Operations must not overlap.
@compute @workgroup_size(workgroup_size)
fn main(
  @builtin(workgroup_id) group: vec3u,
  @builtin(num_workgroups) groups: vec3u,
  @builtin(local_invocation_index) lane: u32,
) {
  let number = group.y * groups.x + group.x;
  let index = number / tiles_per_page;
  if (index >= list.count) {
    return;
  }
  let op = list.ops[index];
  let tile = number % tiles_per_page;
  let base = (op.page - list.first_page) * stride_words;
  let end = tile_end(op, tile);
  for (var at = first_word(op, tile, lane); at.word < end; at = next_word(at)) {
    segment[base + at.word] = witness_word(op.seed, tokens[token_of_row(op, at.row)], at.word);
  }
}
